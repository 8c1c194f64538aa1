/**
 * Detects dead connections: when the oldest unanswered command is overdue and no byte was received or sent, it
 * asks the server over a second connection. It closes the connection only if the server itself reports that it
 * does not work for it, or if the server accepts no connections any more. In all other cases it waits, reports
 * that once, and leaves the rest to TCP. A command that the server holds on purpose (blocking ones, WAIT,
 * CLIENT PAUSE, a slow script) is not taken for a dead connection before its own timeout has passed. If no
 * reply is due, silence proves nothing and no checks run, unless the owner listens: it may send a request that
 * becomes overdue.
 */

import { blockingTimeMs } from "../command/blocking";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Connection } from "../connection/connection";
import { clockMs, startTimer, stopTimer } from "../util/scheduling";
import { type Looker, sharedIntervals } from "../util/shared-interval";

/** The verdict of a probe, as it is reported to the channel of connections. */
export const Verdict = {
  /** The server knows this connection, or knows that it is gone, and does not work for it. */
  ConnectionIsDead: "dead",
  /** No answer, or the server itself reports that it is busy. */
  ServerIsBusy: "busy",
  /** No connection could be made: the network or the host is gone. */
  Unreachable: "unreachable",
  /** The peer answers, but the server's view of this connection is unavailable. */
  Unknown: "unknown",
  /** The server has read from this connection or written to it since it fell silent here. */
  Served: "served",
} as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

export interface WatchdogOwner {
  /** Asks the server for its state on a second connection. Never rejects. */
  probe(connection: Connection, silentMs: number): Promise<Verdict>;
  onDeadConnection(silentMs: number, isReachable: boolean): void;
  /** The connection stays open; `isKnown` tells whether the server is known to be busy. */
  onBusyServer(silentMs: number, isKnown: boolean): void;
  /** Unrequested messages may arrive. Otherwise no checks run while no reply is due. */
  isListening(connection: Connection): boolean;
  /** The owner listens, no byte has arrived for half the time, and no reply is due. */
  onQuiet(connection: Connection): void;
}

/**
 * A server that is overloaded, at its connection limit or about to leave a load balancer refuses new
 * connections for a moment and still serves existing ones.
 */
const REFUSALS_IN_A_ROW = 3;

export class Watchdog implements Looker {
  /** A little less than half the time, so that a request sent at one check is overdue three checks later. */
  private readonly periodMs: number;
  private arrival: NodeJS.Timeout | undefined;
  private connection: Connection | null = null;
  private isProbing = false;
  private hasTold = false;
  private refusals = 0;
  private wasServed = false;
  /** The bytes that the system had not sent at the last check, and when that number last changed. */
  private queuedBytes = 0;
  private drainedAtMs = 0;

  constructor(
    /** The silence after which the server is asked. */
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

  wake(): void {
    if (this.connection !== null) sharedIntervals.join(this, this.periodMs);
  }

  stop(): void {
    sharedIntervals.leave(this, this.periodMs);
    stopTimer(this.arrival);
    this.connection = null;
  }

  /** One check. Idle connections are checked once together, and do not wake the process after that. */
  look(): boolean {
    const { connection } = this;
    if (connection === null) return false;
    if (this.isProbing) return true;
    if (isWaiting(connection)) this.check(connection);
    else if (this.owner.isListening(connection)) {
      if (this.silenceOf(connection) >= this.idleMs / 2) this.owner.onQuiet(connection);
    } else if (connection.queue.inFlight === 0) {
      connection.sleepingWatchdog = this;
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
    // Bytes that the server has written must arrive soon. Messages to a subscriber with a dead connection never
    // do.
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

  /** How long no byte has been received or sent. */
  private silenceOf({ lastActivityMs }: Connection): number {
    return clockMs() - Math.max(lastActivityMs, this.drainedAtMs);
  }

  /** Bytes of a large value that the system accepts are a sign of life, as for the timeouts of sockets. */
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

/** How long the server may hold the command on purpose. */
function heldMsOf(command: Command | undefined): number {
  if (command === undefined) return 0;
  const flags = flagsFor(command.spec, command.args);
  if ((flags & CommandFlag.Waits) !== 0) return Number.POSITIVE_INFINITY;
  if ((flags & CommandFlag.Blocking) === 0) return 0;
  return blockingTimeMs(command.spec, command.args) || Number.POSITIVE_INFINITY;
}
