/**
 * One connection on which the server tells what has changed. An answer that came over it may be given
 * again only while it is known to be alive: the server has answered something on it that was written
 * less than `maxStaleMs` ago. When answers are wanted and nothing else is under way, it asks: with PING,
 * on a cluster with EXISTS of the key that is wanted. A master that was cut off from its cluster goes on
 * answering PING while another one has taken over; what has keys it refuses after its `cluster-node-timeout`.
 *
 * The clock is read seldom: `nowMs` runs ahead of it by one tick, and is infinite whenever it has to
 * be read again, or while no answers may be given. One comparison tells all of that.
 */

import type { Completion } from "../command/command";
import { Command, issuedBy, Origin } from "../command/command";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { clockMs, startTimer } from "../util/scheduling";

const LONGEST_TICK_MS = 50;
const TICKS = 20;

/** Where commands go straight to a connection. */
export interface Gate {
  /** The connection; null while commands are looked at one by one, wait, or are refused. */
  readonly direct: Dispatcher | null;
}

export class TrackedConnection {
  /** A time that has not passed yet; infinite: ask `renew`. */
  nowMs = Number.POSITIVE_INFINITY;
  /** The server has agreed to tell what changes. */
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

  /** Nothing has to be looked at before the next command is sent over it. */
  get isDirect(): boolean {
    return this.gate.direct === this.dispatcher;
  }

  /** Answers that come now may be kept. */
  get isLive(): boolean {
    return this.isTracking && !this.isOver;
  }

  /** The server has answered a command that was issued then. */
  prove(issuedMs: number): void {
    if (issuedMs > this.provenMs) this.provenMs = issuedMs;
  }

  /** Reads the clock again, if answers may be given at all. The key is one of an answer that is wanted. */
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
    const completion: Completion = {
      promise: null,
      fulfil: () => {
        this.isProbing = false;
        this.prove(presentMs);
      },
      reject: () => {
        this.isProbing = false;
      },
    };
    const [name, args] = this.isOfCluster ? ["exists", [key]] : ["ping", []];
    const question = new Command(specOf(name), args, false, completion);
    this.dispatcher.dispatch(issuedBy(Origin.Connection, question));
  }
}
