/**
 * The commands of one connection in the order in which they are written and answered, in one list:
 *
 *   | sent | sent | dropped | sent | unsent | unsent | <-- push
 *     '-- shift, by each reply       '-- takeUnsent makes it a sent one, drop a dropped one
 *
 * The oldest sent command is the head; a reply always belongs to it. A command that was given up before it was
 * written is dropped: it keeps its place until the commands before it are answered. A lost connection hands
 * back all other commands.
 */

import Denque from "denque";
import { type Command, CommandState } from "../command/command";
import { isForgettable } from "../command/fate";
import { estimateSum, sizeOf } from "../command/size";
import { FIRST_SWEEP, nextSweep } from "../command/sweep";

/** In answered commands: an empty list is then replaced, because it keeps the memory of its peak length. */
const RENEWED_AFTER = 65_536;

/** The unanswered commands, each list in order: those that were written, and those that were not. */
export interface Left {
  readonly sent: readonly Command[];
  readonly unsent: readonly Command[];
}

export class CommandQueue {
  private list = new Denque<Command>();
  /** The commands before the first unsent one. */
  private taken = 0;
  inFlight = 0;
  answered = 0;
  private renewAt = RENEWED_AFTER;
  /** The number of commands at which settled ones are removed. */
  private sweepAt = FIRST_SWEEP;

  get unsent(): number {
    return this.list.length - this.taken;
  }

  /** Commands that are unsent or unanswered. */
  get length(): number {
    return this.inFlight + this.unsent;
  }

  push(command: Command): void {
    if (command.state < CommandState.Settled) command.state = CommandState.Queued;
    if (this.list.push(command) >= this.sweepAt) this.sweep();
  }

  /** Sweeps before it adds the commands, so that a very large batch in an empty queue causes no sweep. */
  pushBatch(commands: readonly Command[]): void {
    if (this.list.length >= this.sweepAt) this.sweep();
    for (const command of commands) {
      if (command.state < CommandState.Settled) command.state = CommandState.Queued;
      this.list.push(command);
    }
  }

  /**
   * The next command to be written. Undefined at the end, which may be reached early, because commands queued
   * meanwhile may trigger a sweep.
   */
  takeUnsent(): Command | undefined {
    const command = this.list.peekAt(this.taken);
    if (command === undefined) return undefined;
    this.taken++;
    this.inFlight++;
    return command;
  }

  /** The command that `takeUnsent` has returned is settled, and is not written after all. */
  drop(command: Command): void {
    command.state = CommandState.Dropped;
    this.inFlight--;
    this.passDropped();
  }

  /** The command to which the next reply belongs. */
  head(): Command | undefined {
    return this.inFlight === 0 ? undefined : this.list.peekFront();
  }

  shift(): Command | undefined {
    if (this.inFlight === 0) return undefined;
    const command = this.list.shift();
    this.inFlight--;
    this.taken--;
    if (this.taken > this.inFlight) this.passDropped();
    if (++this.answered >= this.renewAt && this.list.length === 0) this.renew();
    return command;
  }

  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    return this.pending().findLast(isWanted);
  }

  pending(): readonly Command[] {
    return this.list.toArray().filter(isKept);
  }

  /** The bytes in flight, estimated from a sample. */
  get bytesInFlight(): number {
    return this.bytesOf(0, this.taken, CommandState.Dropped);
  }

  /** The unsent bytes, estimated from a sample. */
  get unsentBytes(): number {
    return this.bytesOf(this.taken, this.unsent, CommandState.Settled);
  }

  /** Puts other commands, or the same ones, in the places of all unsent and unanswered commands. */
  replaceAll(replace: (command: Command) => Command): void {
    this.list = new Denque(this.list.toArray().map(replace));
  }

  takeAll(): Left {
    const all = this.list.toArray();
    const left = { sent: all.slice(0, this.taken).filter(isKept), unsent: all.slice(this.taken) };
    this.renew();
    return left;
  }

  /** Commands in the state `over` or a later one count as 0 bytes. */
  private bytesOf(from: number, count: number, over: CommandState): number {
    return estimateSum(count, (index) => {
      const command = this.list.peekAt(from + index) as Command;
      return command.state >= over ? 0 : sizeOf(command);
    });
  }

  private passDropped(): void {
    while (this.taken > this.inFlight && this.list.peekFront()?.state === CommandState.Dropped) {
      this.list.shift();
      this.taken--;
    }
  }

  private renew(): void {
    this.list = new Denque();
    this.taken = this.inFlight = 0;
    this.renewAt = this.answered + RENEWED_AFTER;
  }

  /** Commands whose callers have given up must not accumulate while the peer accepts no bytes. */
  private sweep(): void {
    const all = this.list.toArray();
    this.list = new Denque(all.filter((command, index) => index < this.taken || !isOver(command)));
    this.sweepAt = nextSweep(this.list.length);
  }
}

function isKept({ state }: Command): boolean {
  return state !== CommandState.Dropped;
}

/** It would not be written, and no other command depends on it. */
function isOver(command: Command): boolean {
  return command.isSettled && isForgettable(command);
}
