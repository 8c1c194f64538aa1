/**
 * The messages that a subscriber has heard, against those that servers have published: no message for another listener,
 * none twice, none out of order, and none lost without a `gap` that names its channel afterwards.
 */

import type { EventEmitter } from "node:events";
import type { VirtualTime } from "./virtual-time";
import type { Published } from "./world";

interface Subscriber extends EventEmitter {
  subscribe(...channels: string[]): Promise<unknown>;
  ssubscribe(...channels: string[]): Promise<unknown>;
  disconnect(): void;
}

interface Gap {
  readonly channels: readonly string[];
  readonly shardChannels: readonly string[];
}

export class SubscriptionBooks {
  private readonly heard: { readonly channel: string; readonly message: string }[] = [];
  private readonly gaps: { readonly names: readonly string[]; readonly atMs: number }[] = [];
  /** When the subscription was confirmed. */
  private readonly since = new Map<string, number>();

  constructor(
    private readonly subscriber: Subscriber,
    private readonly time: VirtualTime,
    channels: readonly string[],
    shardChannels: readonly string[],
  ) {
    for (const event of ["message", "smessage"]) {
      subscriber.on(event, (channel: string, message: string) => this.heard.push({ channel, message }));
    }
    subscriber.on("gap", (gap: Gap) =>
      this.gaps.push({ names: [...gap.channels, ...gap.shardChannels], atMs: time.nowMs }),
    );
    // A single client tells of a lost connection by `close`, a cluster client of what it subscribed again by `gap`.
    const all = [...channels, ...shardChannels];
    if (shardChannels.length === 0)
      subscriber.on("close", () => this.gaps.push({ names: all, atMs: time.nowMs }));
    for (const channel of channels) this.follow(channel, subscriber.subscribe(channel));
    for (const channel of shardChannels) this.follow(channel, subscriber.ssubscribe(channel));
  }

  close(): void {
    this.subscriber.disconnect();
  }

  check(published: readonly Published[]): string[] {
    const problems: string[] = [];
    const channels = new Set([...this.since.keys(), ...this.heard.map(({ channel }) => channel)]);
    for (const channel of channels) {
      const there = published.filter((one) => one.channel === channel);
      const here = this.heard.filter((one) => one.channel === channel);
      let at = 0;
      for (const { message } of here) {
        const found = there.findIndex((one, index) => index >= at && one.message === message);
        if (found < 0)
          problems.push(`heard on ${channel} what was not published there, or twice: ${message}`);
        else {
          problems.push(...this.lost(channel, there.slice(at, found)));
          at = found + 1;
        }
      }
      problems.push(...this.lost(channel, there.slice(at)));
    }
    return problems;
  }

  /** Messages that were not heard and should have been. */
  private lost(channel: string, missing: readonly Published[]): string[] {
    const sinceMs = this.since.get(channel) ?? Number.POSITIVE_INFINITY;
    const isTold = (atMs: number): boolean =>
      this.gaps.some((gap) => gap.atMs >= atMs && gap.names.includes(channel));
    // A PUBLISH that ran twice may have been heard once.
    const isHeard = (message: string): boolean => this.heard.some((one) => one.message === message);
    return missing
      .filter(({ atMs, message }) => atMs > sinceMs && !isTold(atMs) && !isHeard(message))
      .map(({ message, atMs }) => `${message} on ${channel} was lost without a gap, at ${Math.round(atMs)}`);
  }

  private follow(channel: string, confirmed: Promise<unknown>): void {
    confirmed.then(
      () => this.since.set(channel, this.time.nowMs),
      () => {},
    );
  }
}
