/**
 * The known Sentinels and their order. Part of the public interface: connectors of users may subclass it. A
 * Sentinel is never in the list twice, and the list is bounded even if Sentinels report many others.
 */

import { MOST_SERVERS } from "../util/bounds";

/** The address of a Sentinel. */
export interface SentinelAddress {
  host: string;
  port: number;
  family?: number | undefined;
}

export class SentinelIterator implements Iterator<Partial<SentinelAddress>, undefined> {
  private readonly sentinels: Partial<SentinelAddress>[];
  private cursor = 0;

  constructor(sentinels: readonly Partial<SentinelAddress>[]) {
    this.sentinels = [...sentinels];
  }

  /** The number of known Sentinels. */
  get size(): number {
    return this.sentinels.length;
  }

  /** The next Sentinel; done after the last one, until `reset`. */
  next(): IteratorResult<Partial<SentinelAddress>, undefined> {
    const value = this.sentinels[this.cursor];
    if (value === undefined) return { done: true, value: undefined };
    this.cursor++;
    return { done: false, value };
  }

  /** Starts over; with `true` the last returned Sentinel becomes the first. */
  reset(moveCurrentFirst: boolean): void {
    if (moveCurrentFirst && this.cursor > 1) {
      this.sentinels.unshift(...this.sentinels.splice(this.cursor - 1));
    }
    this.cursor = 0;
  }

  /** Moves a Sentinel of the list to the front. */
  beginWith(sentinel: Partial<SentinelAddress>): void {
    const index = this.sentinels.indexOf(sentinel);
    if (index > 0) this.sentinels.unshift(...this.sentinels.splice(index, 1));
    this.cursor = 0;
  }

  /** Appends a Sentinel; returns false if it is known already. */
  add(sentinel: SentinelAddress): boolean {
    const isKnown = this.sentinels.some((one) => one.host === sentinel.host && one.port === sentinel.port);
    if (isKnown || this.sentinels.length >= MOST_SERVERS) return false;
    this.sentinels.push(sentinel);
    return true;
  }

  /** The list as text, for messages. */
  toString(): string {
    return `${JSON.stringify(this.sentinels)} @${this.cursor}`;
  }
}
