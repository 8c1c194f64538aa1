/**
 * Notices dead connections: when the oldest unanswered command has grown old and no byte came or
 * went, it asks the server on a second connection. The connection is closed only on the server's
 * own word that it is not at work for it, or when nothing accepts connections there any more. In
 * all other cases it waits, says so once, and leaves the rest to TCP. A command that the server
 * holds on purpose (blocking ones, WAIT, CLIENT PAUSE, a slow script) is not taken for a dead
 * connection, nor before its own timeout is over. Where nothing is due, silence says nothing and
 * nobody looks, unless the owner listens: it may ask something that grows old.
 */

import { blockingTimeMs } from "../command/blocking";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Connection } from "../connection/connection";
import { clockMs, startTimer, stopTimer } from "../util/scheduling";
import { type Looker, sharedIntervals } from "../util/shared-interval";

export const Verdict = {
  /** The server knows this connection, or that it is gone, and is not at work for it. */
  ConnectionIsDead: 0,
  /** No answer, or the server itself says that it is at work. */
  ServerIsBusy: 1,
  /** No connection could be made: the network or the host is gone. */
  Unreachable: 2,
  /** Something answers, but no word of the server about this connection is to be had. */
  Unknown: 3,
  /** The server has read from this connection or written to it since it fell silent here. */
  Served: 4,
} as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

export interface WatchdogOwner {
  /** Asks the server on a second connection how it is. Never rejects. */
  probe(connection: Connection, silentMs: number): Promise<Verdict>;
  onDeadConnection(silentMs: number, isReachable: boolean): void;
  /** It is waited for; `isKnown` tells whether the server is known to be at work. */
  onBusyServer(silentMs: number, isKnown: boolean): void;
  /** Something may come that nothing was sent for. Otherwise nobody looks while nothing is due. */
  isListening(connection: Connection): boolean;
  /** It listens, nothing has come for half the time, and nothing is due. */
  onQuiet(connection: Connection): void;
}

/**
 * A server that is overloaded, at its limit of connections or about to leave a load balancer
 * refuses new ones for a moment and still serves those it has.
 */
const REFUSALS_IN_A_ROW = 3;

export class Watchdog implements Looker {
  /** A little less than half the time, so that what is asked at one check has grown old three later. */
  private readonly periodMs: number;
  private arrival: NodeJS.Timeout | undefined;
  private connection: Connection | null = null;
  private isProbing = false;
  private hasTold = false;
  private refusals = 0;
  private wasServed = false;
  /** Bytes that the system still had to take when it was last looked, and when that last changed. */
  private queuedBytes = 0;
  private drainedAtMs = 0;

  constructor(
    /** Silence after which the server is asked. */
    private readonly idleMs: number,
    private readonly owner: WatchdogOwner,
  ) {
    this.periodMs = Math.max(10, idleMs / 2.5);
  }

  attach(connection: Connection): void {
    this.connection = connection;
    this.hasTold = false;
    this.refusals = 0;
    this.wasServed = false;
    this.queuedBytes = 0;
    this.drainedAtMs = 0;
    this.wake();
  }

  /** Begins the checks, or goes on with them. */
  wake(): void {
    if (this.connection !== null) sharedIntervals.join(this, this.periodMs);
  }

  stop(): void {
    sharedIntervals.leave(this, this.periodMs);
    stopTimer(this.arrival);
    this.connection = null;
  }

  /** A check. A thousand idle connections are looked at once, and wake the process not once after that. */
  look(): boolean {
    const { connection } = this;
    if (connection === null) return false;
    if (this.isProbing) return true;
    if (isWaiting(connection)) this.check(connection);
    else if (this.owner.isListening(connection)) {
      if (this.silenceOf(connection) >= this.idleMs / 2) this.owner.onQuiet(connection);
    } else if (connection.queue.inFlight === 0) {
      connection.isUnwatched = true;
      return false;
    }
    return true;
  }

  private check(connection: Connection): void {
    this.noteDraining(connection);
    const silentMs = this.silenceOf(connection);
    if (silentMs < this.idleMs + heldMsOf(connection.queue.head())) {
      this.hasTold = false;
      this.refusals = 0;
      this.wasServed = false;
      return;
    }
    void this.ask(connection, silentMs);
  }

  private async ask(connection: Connection, silentMs: number): Promise<void> {
    this.isProbing = true;
    const seenBytes = connection.bytesRead;
    const verdict = await this.owner.probe(connection, silentMs);
    this.isProbing = false;
    this.noteDraining(connection);
    const isStale = this.connection !== connection || connection.bytesRead !== seenBytes;
    if (!isStale && isWaiting(connection) && this.silenceOf(connection) >= silentMs) this.judge(verdict);
  }

  private judge(verdict: Verdict): void {
    const silentMs = this.silenceOf(this.connection as Connection);
    this.refusals = verdict === Verdict.Unreachable ? this.refusals + 1 : 0;
    const isLost = verdict === Verdict.Served && this.wasServed;
    this.wasServed = verdict === Verdict.Served;
    // Bytes that the server has written must come soon. Messages to a subscriber whose connection is dead never do.
    if (this.wasServed && !isLost) {
      this.arrival = startTimer(() => this.look(), this.idleMs / 5);
      this.arrival.unref();
    }
    if (verdict === Verdict.ConnectionIsDead || isLost) this.owner.onDeadConnection(silentMs, true);
    else if (this.refusals >= REFUSALS_IN_A_ROW) this.owner.onDeadConnection(silentMs, false);
    else if (!this.hasTold && (verdict === Verdict.ServerIsBusy || verdict === Verdict.Unknown)) {
      this.hasTold = true;
      this.owner.onBusyServer(silentMs, verdict === Verdict.ServerIsBusy);
    }
  }

  /** How long nothing has come or gone. */
  private silenceOf({ lastActivityMs }: Connection): number {
    return clockMs() - Math.max(lastActivityMs, this.drainedAtMs);
  }

  /** A large value on a slow network: what the system takes is a sign of life, as for the sockets' own timeouts. */
  private noteDraining({ socket }: Connection): void {
    const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize?: number } | null };
    const queuedBytes = handle?.writeQueueSize ?? 0;
    if (queuedBytes !== this.queuedBytes) this.drainedAtMs = clockMs();
    this.queuedBytes = queuedBytes;
  }
}

/** Whether a reply is due. */
function isWaiting({ queue }: Connection): boolean {
  return queue.inFlight > 0 && queue.head() !== undefined;
}

/** For how long the server may hold the command back on purpose. */
function heldMsOf(command: Command | undefined): number {
  if (command === undefined) return 0;
  const flags = flagsFor(command.spec, command.args);
  if ((flags & CommandFlag.Waits) !== 0) return Number.POSITIVE_INFINITY;
  if ((flags & CommandFlag.Blocking) === 0) return 0;
  return blockingTimeMs(command.spec, command.args) || Number.POSITIVE_INFINITY;
}
