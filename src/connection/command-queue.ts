/**
 * The commands of one connection in the order in which they go out and are answered.
 *
 *   queue:  | answered |   in flight   |  unsent  |  backlog: large batches, not moved in yet
 *                      ^ head          ^ sentMark ^ tail
 *
 * A reply always belongs to head. A lost connection hands back [head, end of backlog). Commands
 * that settled before they were written keep their place as `Dropped` and are stepped over.
 * A large batch is a cursor in the backlog, so that handing over a million commands is one step.
 */

import Denque from "denque";
import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { STAYING } from "./wire-gate";

/** Unsent commands at which those that settled meanwhile (time limits) are swept out. */
const FIRST_SWEEP = 8192;
/** From this size on a batch waits in the backlog and is moved in as it is written. */
const LARGE_BATCH = 1024;

interface Cursor {
  readonly commands: readonly Command[];
  next: number;
}

export class CommandQueue {
  private items = new Denque<Command>();
  private readonly backlog = new Denque<Cursor>();
  private backlogCount = 0;
  /** Distance of the first unsent command from head. */
  private sentMark = 0;
  /** Written commands whose reply has not come. */
  inFlight = 0;
  /** Replies taken so far. */
  answered = 0;
  private sweepAt = FIRST_SWEEP;

  /** Commands that are unsent or unanswered. */
  get length(): number {
    return this.items.length + this.backlogCount;
  }

  get unsent(): number {
    return this.items.length - this.sentMark + this.backlogCount;
  }

  push(command: Command): void {
    if (this.backlogCount > 0) this.defer([command]);
    else this.append(command);
  }

  /** The array is kept until all of it is written; it must not change. */
  pushBatch(commands: readonly Command[]): void {
    if (this.backlogCount > 0 || commands.length >= LARGE_BATCH) this.defer(commands);
    else for (const command of commands) this.append(command);
  }

  /** Steps over the next unsent command and returns it. */
  advance(): Command {
    if (this.sentMark === this.items.length) this.refill();
    return this.items.peekAt(this.sentMark++) as Command;
  }

  /** The command that the next reply belongs to. */
  head(): Command | undefined {
    let command = this.items.peekFront();
    while (command !== undefined && command.state === CommandState.Dropped) {
      this.items.shift();
      this.sentMark--;
      command = this.items.peekFront();
    }
    return this.sentMark > 0 ? command : undefined;
  }

  /** The command that was handed over last. */
  last(): Command | undefined {
    const commands = this.backlog.peekBack()?.commands;
    return commands === undefined ? this.items.peekBack() : commands[commands.length - 1];
  }

  /** Takes the command that a reply has just arrived for. */
  shift(): Command | undefined {
    const command = this.head();
    if (command === undefined) return undefined;
    this.items.shift();
    this.sentMark--;
    this.inFlight--;
    this.answered++;
    return command;
  }

  /** Empties the queue: what was written and what was not, both in order. */
  takeAll(): { sent: Command[]; unsent: Command[] } {
    const all = this.items.toArray();
    const sent = all.slice(0, this.sentMark);
    let unsent = all.slice(this.sentMark);
    for (const { commands, next } of this.backlog.toArray()) unsent = unsent.concat(commands.slice(next));
    this.items.clear();
    this.backlog.clear();
    this.backlogCount = 0;
    this.sentMark = 0;
    this.inFlight = 0;
    return { sent, unsent };
  }

  private append(command: Command): void {
    if (!command.isSettled) command.state = CommandState.Queued;
    this.items.push(command);
    if (this.items.length >= this.sweepAt) this.sweep();
  }

  /** A peer that takes nothing must not make the commands pile up whose callers have given up. */
  private sweep(): void {
    const all = this.items.toArray();
    const kept = all.filter((command, index) => index < this.sentMark || !isForgettable(command));
    if (kept.length < all.length) this.items = new Denque(kept);
    this.sweepAt = Math.max(FIRST_SWEEP, kept.length * 2);
  }

  private defer(commands: readonly Command[]): void {
    this.backlog.push({ commands, next: 0 });
    this.backlogCount += commands.length;
  }

  /** Moves the next part of the backlog in. */
  private refill(): void {
    const cursor = this.backlog.peekFront();
    if (cursor === undefined) return;
    const { commands } = cursor;
    const end = Math.min(cursor.next + LARGE_BATCH, commands.length);
    for (let i = cursor.next; i < end; i++) this.append(commands[i] as Command);
    this.backlogCount -= end - cursor.next;
    cursor.next = end;
    if (end === commands.length) this.backlog.shift();
  }
}

/** Nothing would be written for it, and no other command depends on it. */
function isForgettable({ isSettled, group, spec }: Command): boolean {
  return isSettled && group?.kind !== BatchKind.Transaction && (spec.flags & STAYING) === 0;
}
