/**
 * One connection on which the server reports changed keys. Replies that arrived over it may be used only while
 * the connection is known to be alive: within `maxStaleMs` after the issue of a command that the server has
 * answered. When replies are wanted and no other command is in flight, the client sends a probe: PING, or on a
 * cluster EXISTS of the wanted key. A master that is cut off from its cluster still answers PING after another
 * node took over, but refuses commands with keys after `cluster-node-timeout`.
 *
 * The clock is read seldom: `nowMs` runs ahead of it by one tick. It is infinite when the clock has to be read
 * again and while no replies may be used, so one comparison covers all cases.
 */

import { Origin } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import { completionOf, ownCommand } from "../command/own-command";
import { clockMs, startTimer } from "../util/scheduling";

const LONGEST_TICK_MS = 50;
const TICKS = 20;

/** Tells whether commands are passed directly to a connection. */
export interface Gate {
  /** The connection; null while commands need inspection, wait, or are refused. */
  readonly direct: Dispatcher | null;
}

export class TrackedConnection {
  /** An upper bound of the present time; infinite: call `renew`. */
  nowMs = Number.POSITIVE_INFINITY;
  /** The server has agreed to report changes. */
  isTracking = false;
  isOver = false;
  private provenMs = Number.NEGATIVE_INFINITY;
  private isProbing = false;
  private readonly tickMs: number;
  private isTicking = false;
  private readonly onTick = (): void => {
    this.isTicking = false;
    this.nowMs = Number.POSITIVE_INFINITY;
  };

  constructor(
    readonly dispatcher: Dispatcher,
    private readonly gate: Gate,
    private readonly maxStaleMs: number,
    private readonly isOfCluster: boolean,
  ) {
    this.tickMs = Math.min(LONGEST_TICK_MS, maxStaleMs / TICKS);
  }

  get isDirect(): boolean {
    return this.gate.direct === this.dispatcher;
  }

  /** Replies that arrive now may be stored. */
  get isLive(): boolean {
    return this.isTracking && !this.isOver;
  }

  /** The server has answered a command that was issued at that time. */
  prove(issuedMs: number): void {
    if (issuedMs > this.provenMs) this.provenMs = issuedMs;
  }

  /** Reads the clock again, if replies may be used at all. `key` is the key of a wanted reply. */
  renew(key: string): void {
    if (!this.isLive) return;
    const presentMs = clockMs();
    const age = presentMs + this.tickMs - this.provenMs;
    if (age > this.maxStaleMs / 2) this.probe(presentMs, key);
    if (age > this.maxStaleMs) return;
    this.nowMs = presentMs + this.tickMs;
    if (this.isTicking) return;
    this.isTicking = true;
    startTimer(this.onTick, this.tickMs).unref();
  }

  end(): void {
    this.isOver = true;
    this.nowMs = Number.POSITIVE_INFINITY;
  }

  private probe(presentMs: number, key: string): void {
    if (this.isProbing || !this.isDirect) return;
    this.isProbing = true;
    const completion = completionOf((error) => {
      this.isProbing = false;
      if (error === null) this.prove(presentMs);
    });
    const [name, args] = this.isOfCluster ? ["exists", [key]] : ["ping", []];
    this.dispatcher.dispatch(ownCommand(Origin.Connection, name, args, completion));
  }
}
