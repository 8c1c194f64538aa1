/**
 * The commands of one connection in the order in which they go out and are answered.
 *
 *   queue:  | answered |   in flight   |  unsent  |  backlog: large batches, not moved in yet
 *                      ^ head          ^ sentMark ^ tail
 *
 * A reply always belongs to head. A lost connection hands back [head, end of backlog). Commands
 * that settled before they were written keep their place as `Dropped` and are stepped over.
 * A large batch is a cursor in the backlog, so that handing over a million commands is one step.
 *
 * An entry is a command, or the calls of a pipeline that are no commands (`CallsInFlight`). Such
 * calls count as a sent entry while they are being written, and are unsent until the last of them
 * is written.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { STAYING } from "../command/fate";
import { mergedIn } from "../command/merged-commands";
import type { PlainCalls } from "../command/plain-calls";
import { estimateSum, sizeOf } from "../command/size";
import { Deque } from "../util/deque";
import { CallsInFlight } from "./calls-in-flight";

/** Unsent commands at which those that settled meanwhile (time limits) are swept out. */
const FIRST_SWEEP = 8192;
/** From this size on a batch waits in the backlog and is moved in as it is written. */
const LARGE_BATCH = 1024;

/** Batches of the backlog, and entries of each, that are looked at when their bytes are asked for. */
const BATCH_LOOKED_AT = 16;

export type QueueEntry = Command | CallsInFlight;

/** The unanswered entries, both lists in order: those that were written, and those that were not. */
export interface Left<Entry> {
  readonly sent: readonly Entry[];
  readonly unsent: readonly Entry[];
}

interface Cursor {
  readonly entries: readonly QueueEntry[];
  next: number;
}

export class CommandQueue {
  private items = new Deque<QueueEntry>();
  /** Made when the first large batch comes. */
  private backlog: Deque<Cursor> | null = null;
  /** The last sent entry if only a part of its calls is written. */
  private writing: CallsInFlight | null = null;

  // The counters. They follow from the entries (`contradiction` compares them) and are kept
  // because the data path reads them; nothing outside of this class changes them.

  private backlogCount = 0;
  /** Distance of the first unsent entry from head. */
  private sentMark = 0;
  /** Unwritten calls, less one for each entry that has some. */
  private furtherCalls = 0;
  /** Written commands whose reply has not come, each plain call counted. */
  inFlight = 0;
  /** Replies taken so far. */
  answered = 0;

  /** Commands that stand for others may be among the entries. */
  mayBeMerged = false;

  private sweepAt = FIRST_SWEEP;
  private sweepBacklogAt = FIRST_SWEEP;

  /** Commands that are unsent or unanswered, each plain call counted. */
  get length(): number {
    return this.inFlight + this.unsentCommands;
  }

  /** Commands that are unsent, each plain call counted. */
  get unsentCommands(): number {
    return this.unsent + this.furtherCalls;
  }

  /** Entries that are not written to the end. */
  get unsent(): number {
    const begun = this.writing === null ? 0 : 1;
    return this.items.length - this.sentMark + this.backlogCount + begun;
  }

  push(entry: QueueEntry): void {
    if (this.backlogCount > 0) this.defer([entry]);
    else {
      this.append(entry);
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

  /** Calls `from` to `to - 1`. */
  pushCalls(calls: PlainCalls, from = 0, to: number = calls.length): void {
    if (to <= from) return;
    this.furtherCalls += to - from - 1;
    this.push(new CallsInFlight(calls, from, to));
  }

  /**
   * Steps over the next unsent entry and returns it; calls come until all of them are written.
   * Undefined at the end, which may come early: what is handed over meanwhile may sweep.
   */
  advance(): QueueEntry | undefined {
    if (this.writing !== null) return this.writing;
    if (this.sentMark === this.items.length) this.refill();
    const entry = this.items.peekAt(this.sentMark);
    if (entry !== undefined) this.sentMark++;
    return entry;
  }

  /** The command that `advance` has returned is being written. */
  wroteCommand(): void {
    this.inFlight++;
  }

  /** So many of the calls that `advance` has returned were written. */
  wroteCalls(entry: CallsInFlight, count: number): void {
    const before = entry.unwritten;
    entry.written += count;
    this.inFlight += count;
    if (entry.calls.isAbandoned) entry.end = entry.written;
    const after = entry.unwritten;
    this.furtherCalls += after - before;
    this.writing = after > 0 ? entry : null;
    if (after === 0) this.furtherCalls++;
    if (entry.isOver) this.leaveBehind(entry);
  }

  /** The entry that the next reply belongs to. */
  head(): QueueEntry | undefined {
    let entry = this.items.peekFront();
    while (entry !== undefined && entry.state === CommandState.Dropped) {
      this.items.shift();
      this.sentMark--;
      entry = this.items.peekFront();
    }
    return this.sentMark > 0 ? entry : undefined;
  }

  /** The oldest unanswered command; a call as something to look at. */
  oldest(): Command | undefined {
    const head = this.head();
    return head instanceof CallsInFlight ? head.oldest() : head;
  }

  /** The command that was handed over last of those that the test is true for; for calls, one that settles when they are over. */
  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    const wanted = (entry: QueueEntry): boolean => {
      if (entry instanceof CallsInFlight) return !entry.isSettled && isWanted(entry.last());
      const merged = mergedIn(entry);
      return merged === null ? isWanted(entry) : merged.lastOf(isWanted) !== undefined;
    };
    let last: QueueEntry | undefined;
    for (let i = (this.backlog?.length ?? 0) - 1; i >= 0 && last === undefined; i--) {
      last = this.backlog?.peekAt(i)?.entries.findLast(wanted);
    }
    for (let i = this.items.length - 1; i >= 0 && last === undefined; i--) {
      const entry = this.items.peekAt(i);
      if (entry !== undefined && wanted(entry)) last = entry;
    }
    if (last === undefined || last instanceof CallsInFlight) return last?.last();
    return mergedIn(last)?.lastOf(isWanted) ?? last;
  }

  /** All that is unsent or unanswered, in order; plain calls as one. */
  pending(): (Command | PlainCalls)[] {
    return this.entries().flatMap<Command | PlainCalls>((entry) =>
      entry instanceof CallsInFlight ? entry.calls : (mergedIn(entry)?.shown ?? entry),
    );
  }

  /** All entries, in order. */
  entries(): QueueEntry[] {
    const items = this.items.toArray();
    return this.backlogCount === 0 ? items : items.concat(this.waiting());
  }

  /** Bytes of what is in flight, estimated from a few. */
  get bytesInFlight(): number {
    return estimateSum(this.sentMark, (index) => {
      const entry = this.items.peekAt(index) as QueueEntry;
      if (entry instanceof CallsInFlight) return entry.bytesInFlight;
      return entry.state === CommandState.Dropped ? 0 : sizeOf(entry);
    });
  }

  /** Bytes of what is unsent, estimated from a few. */
  get unsentBytes(): number {
    const { items, sentMark, backlog } = this;
    const begun = this.writing?.unwrittenBytes ?? 0;
    const moved = estimateSum(items.length - sentMark, (index) =>
      unwrittenBytesOf(items.peekAt(sentMark + index) as QueueEntry),
    );
    return begun + moved + (backlog === null ? 0 : bytesOf(backlog));
  }

  /** Takes the command that a reply has just arrived for; a call becomes one. */
  shift(): Command | undefined {
    const head = this.head();
    if (head instanceof CallsInFlight) return this.shiftCall(head);
    if (head !== undefined) this.takeHead();
    return head;
  }

  /** As `shift`, for a command that `head` has just returned. */
  takeHead(): void {
    this.items.shift();
    this.sentMark--;
    this.inFlight--;
    this.answered++;
  }

  /** Counts a reply to the next call of the entry at the head. */
  answeredCall(entry: CallsInFlight): void {
    this.inFlight--;
    this.answered++;
    if (entry.isOver) this.leaveBehind(entry);
  }

  /**
   * Empties the queue: what was written and what was not, both in order; calls stay calls. An entry that is written in
   * part stands among the sent ones, as the last.
   */
  takeAll(): Left<QueueEntry> {
    const sent = this.entries();
    const unsent = sent.splice(this.sentMark);
    const taken = this.mayBeMerged
      ? { sent: withMembers(sent), unsent: withMembers(unsent) }
      : { sent, unsent };
    this.items.clear();
    this.backlog = null;
    this.writing = null;
    this.backlogCount = 0;
    this.sentMark = 0;
    this.furtherCalls = 0;
    this.inFlight = 0;
    return taken;
  }

  /** For tests: the counter that does not follow from the entries, or null. */
  contradiction(): string | null {
    const all = this.items.toArray();
    const waiting = this.waiting();
    const calls = [...all, ...waiting].filter((entry) => entry instanceof CallsInFlight);
    const isBegun = this.writing === null || this.writing === all[this.sentMark - 1];
    const sent = all.slice(0, this.sentMark).filter(({ state }) => state !== CommandState.Dropped);
    const unanswered = sent.map((one) => (one instanceof CallsInFlight ? one.written - one.next : 1));
    const further = calls.map(({ unwritten }) => Math.max(0, unwritten - 1));
    if (this.backlogCount !== waiting.length) return `backlog ${this.backlogCount}, not ${waiting.length}`;
    if (this.sentMark < 0 || this.sentMark > all.length) return `sent mark ${this.sentMark} of ${all.length}`;
    if (!isBegun) return "the entry that is being written is not the last sent one";
    if (this.furtherCalls !== sum(further)) return `further calls ${this.furtherCalls}, not ${sum(further)}`;
    if (this.inFlight !== sum(unanswered)) return `in flight ${this.inFlight}, not ${sum(unanswered)}`;
    return null;
  }

  /** Entries of the backlog. */
  private waiting(): QueueEntry[] {
    return (this.backlog?.toArray() ?? []).flatMap(({ entries, next }) => entries.slice(next));
  }

  private shiftCall(entry: CallsInFlight): Command | undefined {
    if (!entry.isAwaited) return undefined;
    const command = entry.takeNext();
    this.answeredCall(entry);
    return command;
  }

  private leaveBehind(entry: CallsInFlight): void {
    entry.finish();
    // Steps over it, if it is the first one.
    this.head();
  }

  private append(entry: QueueEntry): void {
    if (entry.state < CommandState.Settled) entry.state = CommandState.Queued;
    this.items.push(entry);
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

  private defer(entries: readonly QueueEntry[]): void {
    this.backlog ??= new Deque();
    this.backlog.push({ entries, next: 0 });
    this.backlogCount += entries.length;
    if (this.backlogCount >= this.sweepBacklogAt) this.sweepBacklog();
  }

  /** As `sweep`, for whole batches of which nothing has been moved in. */
  private sweepBacklog(): void {
    const all = this.backlog?.toArray() ?? [];
    const kept = all.filter(({ entries, next }) => next > 0 || !entries.every(isForgettable));
    this.backlog = new Deque(kept);
    this.backlogCount = kept.reduce((total, { entries, next }) => total + entries.length - next, 0);
    this.sweepBacklogAt = Math.max(FIRST_SWEEP, this.backlogCount * 2);
  }

  /** Moves the next part of the backlog in. It is about to be written, so nothing of it is swept. */
  private refill(): void {
    const cursor = this.backlog?.peekFront();
    if (cursor === undefined) return;
    const { entries } = cursor;
    const end = Math.min(cursor.next + LARGE_BATCH, entries.length);
    for (let i = cursor.next; i < end; i++) this.append(entries[i] as QueueEntry);
    this.backlogCount -= end - cursor.next;
    cursor.next = end;
    if (end === entries.length) this.backlog?.shift();
  }
}

function unwrittenBytesOf(entry: QueueEntry): number {
  if (entry instanceof CallsInFlight) return entry.unwrittenBytes;
  return entry.isSettled ? 0 : sizeOf(entry);
}

/** Bytes of the batches that wait, estimated from a few entries of a few. */
function bytesOf(backlog: Deque<Cursor>): number {
  const bytesAt = (place: number): number => {
    const { entries, next } = backlog.peekAt(place) as Cursor;
    const sizeAt = (index: number): number => unwrittenBytesOf(entries[next + index] as QueueEntry);
    return estimateSum(entries.length - next, sizeAt, BATCH_LOOKED_AT);
  };
  return estimateSum(backlog.length, bytesAt, BATCH_LOOKED_AT);
}

/** The entries with what the merged ones among them stand for. */
function withMembers(entries: readonly QueueEntry[]): QueueEntry[] {
  return entries.flatMap((entry) =>
    entry instanceof CallsInFlight ? entry : (mergedIn(entry)?.members() ?? entry),
  );
}

/** The entries as commands, those that calls become among them. */
export function commandsOf(left: Left<QueueEntry>): Left<Command> {
  const { sent, unsent } = left;
  if (areCommands(sent) && areCommands(unsent)) return { sent, unsent };
  const commands: { sent: Command[]; unsent: Command[] } = { sent: [], unsent: [] };
  for (const entry of sent) unroll(entry, commands.sent, commands.unsent);
  for (const entry of unsent) unroll(entry, commands.unsent, commands.unsent);
  return commands;
}

function areCommands(entries: readonly QueueEntry[]): entries is readonly Command[] {
  return entries.every((entry) => !(entry instanceof CallsInFlight));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** A command as it is; every call that is not answered becomes one. */
function unroll(entry: QueueEntry, sent: Command[], unsent: Command[]): void {
  if (!(entry instanceof CallsInFlight)) {
    sent.push(entry);
    return;
  }
  while (!entry.calls.isAbandoned && !entry.isOver) {
    (entry.isAwaited ? sent : unsent).push(entry.takeNext());
  }
  entry.finish();
}

/** Nothing would be written for it, and no other command depends on it. */
function isForgettable(entry: QueueEntry): boolean {
  if (entry instanceof CallsInFlight) return entry.isSettled;
  if (!entry.isSettled) return mergedIn(entry)?.waiting === 0;
  return entry.group?.kind !== BatchKind.Transaction && (entry.spec.flags & STAYING) === 0;
}
