/**
 * Gathers the commands of one event-loop turn and hands them on as a batch, so that they share
 * one write. While `maxInFlight` batches are unanswered it goes on gathering; when the last
 * reply of one arrives, the gathered batch leaves at once. A command that may not wait, and
 * every explicit batch, first flushes what is pending: order of issue is order of sending.
 *
 * It knows neither slots nor sockets. Each command settles on its own reply.
 */

import { Batch, BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";

export interface AutoPipelinerOptions {
  /** Unanswered batches at which it goes on gathering. Default 1. */
  readonly maxInFlight: number;
  /** Most commands of one batch. Default unlimited. */
  readonly maxCommands: number;
  /** Lower-case command names that are never gathered. */
  readonly ignored: ReadonlySet<string>;
}

export class AutoPipeliner implements Dispatcher {
  private pending: Command[] = [];
  private inFlight = 0;
  private isBooked = false;
  private isHolding = false;
  private readonly onTurnEnd = (): void => {
    this.isBooked = false;
    if (!this.isHolding || this.inFlight < this.options.maxInFlight) this.flush();
  };
  private readonly onBatchDone = (): void => {
    this.inFlight--;
    if (this.pending.length > 0 && this.inFlight < this.options.maxInFlight) this.flush();
  };

  constructor(
    private readonly next: Dispatcher,
    private readonly options: AutoPipelinerOptions,
  ) {}

  /** Commands gathered and not handed on. */
  get size(): number {
    return this.pending.length;
  }

  /**
   * Whether commands may be held back behind unanswered batches: only while the connection is
   * ready. Otherwise they go on at the end of the turn, to wait or fail under the link's rules.
   */
  hold(isHolding: boolean): void {
    this.isHolding = isHolding;
    if (!isHolding) this.flush();
  }

  dispatch(command: Command): void {
    if (
      (flagsFor(command.spec, command.args) & CommandFlag.NeverAutoPipelined) !== 0 ||
      this.options.ignored.has(command.spec.lowerName)
    ) {
      this.flush();
      this.next.dispatch(command);
      return;
    }
    this.pending.push(command);
    if (this.pending.length >= this.options.maxCommands) this.flush();
    else if (!this.isBooked) {
      this.isBooked = true;
      setImmediate(this.onTurnEnd);
    }
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.flush();
    this.next.dispatchBatch(commands);
  }

  /** Hands on what is pending, whatever is in flight. */
  flush(): void {
    if (this.pending.length === 0) return;
    const commands = this.pending.filter((command) => !command.isSettled);
    this.pending = [];
    if (commands.length === 0) return;
    this.inFlight++;
    const batch = new Batch(BatchKind.Automatic, commands.length, this.onBatchDone);
    for (const command of commands) command.batch = batch;
    this.next.dispatchBatch(commands);
  }
}
