/**
 * The commands of one connection in the order in which they go out and are answered.
 *
 *   queue:  | answered |   in flight   |  unsent  |  backlog: large batches, not moved in yet
 *                      ^ head          ^ sentMark ^ tail
 *
 * A reply always belongs to head. A lost connection hands back [head, end of backlog). Commands
 * that settled before they were written keep their place as `Dropped` and are stepped over.
 * A large batch is a cursor in the backlog, so that handing over a million commands is one step.
 * Plain calls are one entry, a stand-in with a stretch; while it is being written it counts as
 * sent, and as unsent until its last call is written.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import type { PlainCalls } from "../command/plain-calls";
import { IGNORED } from "../command/promise-completion";
import { Deque } from "../util/deque";
import { Stretch, stretchOf } from "./stretch";
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
  private items = new Deque<Command>();
  private backlog = new Deque<Cursor>();
  private backlogCount = 0;
  /** Distance of the first unsent command from head. */
  private sentMark = 0;
  /** The last sent entry if only a part of its calls is written. */
  private writing: Command | null = null;
  /** Written commands whose reply has not come. */
  inFlight = 0;
  /** Replies taken so far. */
  answered = 0;
  private sweepAt = FIRST_SWEEP;
  private sweepBacklogAt = FIRST_SWEEP;
  /** Plain calls that are not written, and the stand-ins that have any. */
  private unwritten = 0;
  private unwrittenStandIns = 0;

  /** Commands that are unsent or unanswered, each plain call counted. */
  get length(): number {
    return this.inFlight + this.unsentCommands;
  }

  /** Commands that are unsent, each plain call counted. */
  get unsentCommands(): number {
    return this.unsent - this.unwrittenStandIns + this.unwritten;
  }

  /** Entries that `advance` has not stepped over, stand-ins that are being written included. */
  get unsent(): number {
    const begun = this.writing === null ? 0 : 1;
    return this.items.length - this.sentMark + this.backlogCount + begun;
  }

  push(command: Command): void {
    if (this.backlogCount > 0) this.defer([command]);
    else {
      this.append(command);
      if (this.items.length >= this.sweepAt) this.sweep();
    }
  }

  /** The array is kept until all of it is written; it must not change. */
  pushBatch(commands: readonly Command[]): void {
    if (this.backlogCount > 0 || commands.length >= LARGE_BATCH) this.defer(commands);
    else {
      for (const command of commands) this.append(command);
      if (this.items.length >= this.sweepAt) this.sweep();
    }
  }

  pushCalls(calls: PlainCalls): void {
    this.unwritten += calls.length;
    this.unwrittenStandIns++;
    this.push(new Stretch(calls).standIn);
  }

  /**
   * Steps over the next unsent command and returns it; a stand-in comes until all of its calls are
   * written. Undefined at the end, which may come early: what is handed over meanwhile may sweep.
   */
  advance(): Command | undefined {
    if (this.writing !== null) return this.writing;
    if (this.sentMark === this.items.length) this.refill();
    const command = this.items.peekAt(this.sentMark);
    if (command !== undefined) this.sentMark++;
    return command;
  }

  /** So many calls of the stand-in that `advance` has returned were written. */
  wroteCalls(stretch: Stretch, count: number): void {
    const before = stretch.unwritten;
    stretch.written += count;
    this.inFlight += count;
    if (stretch.calls.isAbandoned) stretch.end = stretch.written;
    this.unwritten += stretch.unwritten - before;
    this.writing = stretch.unwritten > 0 ? stretch.standIn : null;
    if (this.writing === null) this.unwrittenStandIns--;
    if (stretch.isOver) this.leaveBehind(stretch);
  }

  /** The command that the next reply belongs to, or the stand-in of the call. */
  head(): Command | undefined {
    let command = this.items.peekFront();
    while (command !== undefined && command.state === CommandState.Dropped) {
      this.items.shift();
      this.sentMark--;
      command = this.items.peekFront();
    }
    return this.sentMark > 0 ? command : undefined;
  }

  /** The oldest unanswered command; a call as something to look at. */
  oldest(): Command | undefined {
    const head = this.head();
    const stretch = head === undefined ? null : stretchOf(head);
    if (stretch === null) return head;
    return stretch.isAwaited ? stretch.calls.view(stretch.next, IGNORED) : undefined;
  }

  /** The command that was handed over last and has not settled. */
  lastAwaited(): Command | undefined {
    return this.lastOf(isAwaited);
  }

  /** The command that was handed over last of those that the test is true for. */
  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    for (let i = this.backlog.length - 1; i >= 0; i--) {
      const last = (this.backlog.peekAt(i) as Cursor).commands.findLast(isWanted);
      if (last) return last;
    }
    for (let i = this.items.length - 1; i >= 0; i--) {
      const command = this.items.peekAt(i) as Command;
      if (isWanted(command)) return command;
    }
    return undefined;
  }

  /** All that is unsent or unanswered, in order; plain calls as one. */
  pending(): (Command | PlainCalls)[] {
    const whole = (command: Command): Command | PlainCalls => stretchOf(command)?.calls ?? command;
    const rest = this.backlog.toArray().flatMap(({ commands, next }) => commands.slice(next));
    return [...this.items.toArray(), ...rest].map(whole);
  }

  /** Takes the command that a reply has just arrived for; a call becomes one. */
  shift(): Command | undefined {
    const head = this.head();
    if (head === undefined) return undefined;
    const stretch = stretchOf(head);
    if (stretch !== null) return this.shiftCall(stretch);
    this.items.shift();
    this.sentMark--;
    this.inFlight--;
    this.answered++;
    return head;
  }

  /** Counts a reply to the next call of the stand-in at the head. */
  answeredCall(stretch: Stretch): void {
    this.inFlight--;
    this.answered++;
    if (stretch.isOver) this.leaveBehind(stretch);
  }

  /** Empties the queue: what was written and what was not, both in order. */
  takeAll(): { sent: Command[]; unsent: Command[] } {
    const sent: Command[] = [];
    const unsent: Command[] = [];
    this.items.toArray().forEach((command, index) => {
      if (stretchOf(command) === null) (index < this.sentMark ? sent : unsent).push(command);
      else unroll(command.completion as Stretch, sent, unsent);
    });
    for (const { commands, next } of this.backlog.toArray()) {
      for (let index = next; index < commands.length; index++) {
        const command = commands[index] as Command;
        if (stretchOf(command) === null) unsent.push(command);
        else unroll(command.completion as Stretch, sent, unsent);
      }
    }
    this.items.clear();
    this.backlog.clear();
    this.backlogCount = 0;
    this.sentMark = 0;
    this.writing = null;
    this.inFlight = 0;
    this.unwritten = 0;
    this.unwrittenStandIns = 0;
    return { sent, unsent };
  }

  private shiftCall(stretch: Stretch): Command | undefined {
    if (!stretch.isAwaited) return undefined;
    const command = stretch.takeNext();
    this.answeredCall(stretch);
    return command;
  }

  private leaveBehind(stretch: Stretch): void {
    stretch.finish();
    // Steps over its entry, if that is the first one.
    this.head();
  }

  private append(command: Command): void {
    if (!command.isSettled) command.state = CommandState.Queued;
    this.items.push(command);
  }

  /** A peer that takes nothing must not make the commands pile up whose callers have given up. */
  private sweep(): void {
    const all = this.items.toArray();
    const sent = all
      .slice(0, this.sentMark)
      .filter((one) => one.state !== CommandState.Dropped || !isForgettable(one));
    const kept = sent.concat(all.slice(this.sentMark).filter((one) => !isForgettable(one)));
    if (kept.length < all.length) this.items = new Deque(kept);
    this.sentMark = sent.length;
    this.sweepAt = Math.max(FIRST_SWEEP, kept.length * 2);
  }

  private defer(commands: readonly Command[]): void {
    this.backlog.push({ commands, next: 0 });
    this.backlogCount += commands.length;
    if (this.backlogCount >= this.sweepBacklogAt) this.sweepBacklog();
  }

  /** As `sweep`, for whole batches of which nothing has been moved in. */
  private sweepBacklog(): void {
    const all = this.backlog.toArray();
    const kept = all.filter(({ commands, next }) => next > 0 || !commands.every(isForgettable));
    this.backlog = new Deque(kept);
    this.backlogCount = kept.reduce((sum, { commands, next }) => sum + commands.length - next, 0);
    this.sweepBacklogAt = Math.max(FIRST_SWEEP, this.backlogCount * 2);
  }

  /** Moves the next part of the backlog in. It is about to be written, so nothing of it is swept. */
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

function isAwaited(command: Command): boolean {
  return !command.isSettled;
}

/** Every call that is not answered becomes a command. */
function unroll(stretch: Stretch, sent: Command[], unsent: Command[]): void {
  const { calls } = stretch;
  while (!calls.isAbandoned && !stretch.isOver) {
    (stretch.isAwaited ? sent : unsent).push(stretch.takeNext());
  }
  stretch.finish();
}

/** Nothing would be written for it, and no other command depends on it. */
function isForgettable({ isSettled, group, spec }: Command): boolean {
  return isSettled && group?.kind !== BatchKind.Transaction && (spec.flags & STAYING) === 0;
}
