/**
 * Notices dead connections: when the oldest unanswered command has grown old and no byte came,
 * it asks the server on a second connection. An answer there means that this line is dead: it is
 * closed, and the rules of a loss apply. No answer means that the server is busy or paused: it
 * waits and says so once. A command that the server holds on purpose (blocking ones, WAIT,
 * CLIENT PAUSE, a slow script) is not taken for a dead line, nor before its own timeout is over.
 * Where nothing is due, silence says nothing: the owner may ask something that grows old.
 */

import { blockingTimeMs } from "../command/blocking";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Connection } from "../connection/connection";

export const Verdict = {
  /** The server answers on a fresh connection and does not hold a command of ours. */
  LineIsDead: 0,
  /** No answer, or the server itself says that it is at work for us. */
  ServerIsBusy: 1,
  /** No connection could be made: the network or the host is gone. */
  Unreachable: 2,
} as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

export interface WatchdogOwner {
  /** Asks the server on a second connection how it is. Never rejects. */
  probe(connection: Connection): Promise<Verdict>;
  onDeadLine(silentMs: number, isReachable: boolean): void;
  onBusyServer(silentMs: number): void;
  /** Nothing has come for half the time, and nothing is due. */
  onQuiet(connection: Connection): void;
}

export class Watchdog {
  private timer: NodeJS.Timeout | undefined;
  private connection: Connection | null = null;
  private isProbing = false;
  private hasToldBusy = false;

  constructor(
    /** Silence after which the server is asked. */
    private readonly idleMs: number,
    private readonly owner: WatchdogOwner,
  ) {}

  watch(connection: Connection): void {
    this.connection = connection;
    this.hasToldBusy = false;
    // A little less than half the time, so that what is asked at one check has grown old three later.
    this.timer = setInterval(() => void this.check(), Math.max(10, this.idleMs / 2.5));
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
    this.connection = null;
  }

  private async check(): Promise<void> {
    const { connection } = this;
    if (connection === null || this.isProbing) return;
    const silentMs = performance.now() - connection.lastActivityMs;
    if (!isWaiting(connection)) {
      if (silentMs >= this.idleMs / 2) this.owner.onQuiet(connection);
      return;
    }
    if (silentMs < this.idleMs + heldMsOf(connection.queue.oldest())) {
      this.hasToldBusy = false;
      return;
    }
    this.isProbing = true;
    const seenBytes = connection.bytesRead;
    const verdict = await this.owner.probe(connection);
    this.isProbing = false;
    if (this.connection !== connection || connection.bytesRead !== seenBytes || !isWaiting(connection))
      return;
    if (verdict !== Verdict.ServerIsBusy) {
      this.owner.onDeadLine(performance.now() - connection.lastActivityMs, verdict === Verdict.LineIsDead);
    } else if (!this.hasToldBusy) {
      this.hasToldBusy = true;
      this.owner.onBusyServer(performance.now() - connection.lastActivityMs);
    }
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
