/**
 * The commands of one connection in the order in which they are written and answered.
 *
 *   push --> | unsent | -- takeUnsent -- still wanted? -- addSent --> | sent | -- shift, by each reply -->
 *                                             '-> given up: not written, and in neither list
 *
 * The oldest sent command is the head; a reply always belongs to it. A lost connection hands back all commands.
 */

import Denque from "denque";
import { type Command, CommandState } from "../command/command";
import { isForgettable } from "../command/fate";
import { estimateSum, sizeOf } from "../command/size";
import { FIRST_SWEEP, nextSweep } from "../command/sweep";

/** In commands: a list keeps the memory of its greatest length, so an empty one is replaced after so many. */
const RENEWED_AFTER = 65_536;

/** In commands: copying them one by one takes longer from here on. */
const WHOLE_FROM = 1024;

/** The unanswered commands, each list in order: those that were written, and those that were not. */
export interface Left {
  readonly sent: readonly Command[];
  readonly unsent: readonly Command[];
}

export class CommandQueue {
  private waiting = new Denque<Command>();
  private sent = new Denque<Command>();
  /** Replies taken so far. */
  answered = 0;
  private renewAt = RENEWED_AFTER;
  /** The number of unsent commands at which settled ones are removed. */
  private sweepAt = FIRST_SWEEP;

  /** Commands that are not written. */
  get unsent(): number {
    return this.waiting.length;
  }

  /** Written commands without a reply. */
  get inFlight(): number {
    return this.sent.length;
  }

  /** Commands that are unsent or unanswered. */
  get length(): number {
    return this.inFlight + this.unsent;
  }

  push(command: Command): void {
    markQueued(command);
    if (this.waiting.push(command) >= this.sweepAt) this.sweep();
  }

  /** An empty list takes a batch as a whole, so that `exec()` of very many commands blocks for one copy only. */
  pushBatch(commands: readonly Command[]): void {
    if (commands.length < WHOLE_FROM || this.unsent > 0) for (const command of commands) this.push(command);
    else {
      for (const command of commands) markQueued(command);
      this.waiting = new Denque(commands as Command[]);
    }
  }

  /**
   * Removes the next command to be written. Undefined at the end, which may be reached early, because commands
   * queued meanwhile may trigger a sweep.
   */
  takeUnsent(): Command | undefined {
    return this.waiting.shift();
  }

  /** The command that `takeUnsent` has returned is being written. */
  addSent(command: Command): void {
    this.sent.push(command);
  }

  /** The command to which the next reply belongs. */
  head(): Command | undefined {
    return this.sent.peekFront();
  }

  /** Removes the command that has just been answered. */
  shift(): Command | undefined {
    const command = this.sent.shift();
    if (command !== undefined && ++this.answered >= this.renewAt && this.length === 0) this.renew();
    return command;
  }

  /** The youngest command that matches the test. */
  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    return this.pending().findLast(isWanted);
  }

  /** All unsent and unanswered commands, in order. */
  pending(): readonly Command[] {
    return [...this.sent.toArray(), ...this.waiting.toArray()];
  }

  /** The bytes in flight, estimated from a sample. */
  get bytesInFlight(): number {
    return estimateSum(this.inFlight, (index) => sizeOf(this.sent.peekAt(index) as Command));
  }

  /** The unsent bytes, estimated from a sample. */
  get unsentBytes(): number {
    return estimateSum(this.unsent, (index) => {
      const command = this.waiting.peekAt(index) as Command;
      return command.isSettled ? 0 : sizeOf(command);
    });
  }

  /** Puts other commands, or the same ones, in the places of all unsent and unanswered commands. */
  replaceAll(replace: (command: Command) => Command): void {
    this.sent = new Denque(this.sent.toArray().map(replace));
    this.waiting = new Denque(this.waiting.toArray().map(replace));
  }

  /** Empties the queue and returns the written and the unwritten commands, both in order. */
  takeAll(): Left {
    const left = { sent: this.sent.toArray(), unsent: this.waiting.toArray() };
    this.renew();
    return left;
  }

  private renew(): void {
    this.sent = new Denque();
    this.waiting = new Denque();
    this.renewAt = this.answered + RENEWED_AFTER;
  }

  /** Commands whose callers have given up must not accumulate behind a peer that accepts no bytes. */
  private sweep(): void {
    this.waiting = new Denque(this.waiting.toArray().filter((command) => !isOver(command)));
    this.sweepAt = nextSweep(this.unsent);
  }
}

function markQueued(command: Command): void {
  if (command.state < CommandState.Settled) command.state = CommandState.Queued;
}

/** It would not be written, and no other command depends on it. */
function isOver(command: Command): boolean {
  return command.isSettled && isForgettable(command);
}
