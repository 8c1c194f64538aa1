/**
 * The commands of one connection in the order in which they are written and answered.
 *
 *   stretches:  | a b c d e | f g h ... | i j
 *                   ^ next: unanswered  ^ next to be written
 *
 * The oldest unanswered command is the head; a reply always belongs to it. A lost connection hands back all
 * commands from the head on. Commands that settled before they were written keep their place as `Dropped` and
 * are skipped.
 *
 * Commands are stored in stretches. A large batch has its own stretch, so that queueing a million commands is
 * one copy; all others share stretches of 256. A place is cleared when its command is answered.
 */

import Denque from "denque";
import { type Command, CommandState } from "../command/command";
import { isForgettable } from "../command/fate";
import { estimateSum, sizeOf } from "../command/size";
import { FIRST_SWEEP, nextSweep } from "../command/sweep";

/** Commands of a shared stretch: 2 KiB of places. */
const STRETCH_LENGTH = 256;
/** The most stretches, and commands of each, that are sampled to estimate bytes. */
const STRETCH_LOOKED_AT = 16;

/** The unanswered commands, each list in order: those that were written, and those that were not. */
export interface Left {
  readonly sent: readonly Command[];
  readonly unsent: readonly Command[];
}

/** Adjacent commands: `next <= written <= end`. */
class Stretch {
  /** The first command that is neither answered nor skipped. */
  next = 0;
  /** The first command that is not written. */
  written = 0;

  constructor(
    readonly places: (Command | undefined)[],
    public end: number,
  ) {}

  commandAt(place: number): Command {
    return this.places[place] as Command;
  }

  pending(): Command[] {
    return this.places.slice(this.next, this.end) as Command[];
  }
}

export class CommandQueue {
  private readonly stretches = new Denque<Stretch>();
  /** The first stretch, the one that is written next, and the last one; they may be the same. */
  private first: Stretch;
  private writing: Stretch;
  private last: Stretch;
  /** The index of `writing` among the stretches. */
  private writingAt = 0;

  // Counters. They follow from the commands, as a test checks, and exist because the data path reads them; only
  // this class changes them.

  /** Commands that are not written. */
  unsent = 0;
  /** Written commands without a reply. */
  inFlight = 0;
  /** Replies taken so far. */
  answered = 0;

  /** The number of occupied places. */
  private held = 0;
  /** The number of occupied places at which settled commands are removed. */
  private sweepAt = FIRST_SWEEP;

  constructor() {
    this.first = new Stretch([], 0);
    this.stretches.push(this.first);
    this.writing = this.first;
    this.last = this.first;
  }

  /** Commands that are unsent or unanswered. */
  get length(): number {
    return this.inFlight + this.unsent;
  }

  push(command: Command): void {
    if (this.held >= this.sweepAt) this.sweep();
    this.append(command);
  }

  pushBatch(commands: readonly Command[]): void {
    if (this.held >= this.sweepAt) this.sweep();
    if (commands.length < STRETCH_LENGTH) for (const command of commands) this.append(command);
    else {
      for (const command of commands) markQueued(command);
      this.add(new Stretch(commands.slice(), commands.length));
      this.unsent += commands.length;
      this.held += commands.length;
    }
  }

  /**
   * Moves to the next unsent command and returns it. Undefined at the end, which may be reached early, because
   * commands queued meanwhile may trigger a sweep.
   */
  advance(): Command | undefined {
    let { writing } = this;
    while (writing.written === writing.end) {
      if (writing === this.last) return undefined;
      writing = this.stretches.peekAt(++this.writingAt) as Stretch;
      this.writing = writing;
    }
    this.unsent--;
    return writing.places[writing.written++];
  }

  /** The command that `advance` has returned is being written. */
  wroteCommand(): void {
    this.inFlight++;
  }

  /** The command to which the next reply belongs. */
  head(): Command | undefined {
    const { first } = this;
    if (first.next < first.written) {
      const command = first.places[first.next] as Command;
      if (command.state !== CommandState.Dropped) return command;
    }
    return this.stepToHead();
  }

  /** The youngest command that matches the test. */
  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    for (let at = this.stretches.length - 1; at >= 0; at--) {
      const stretch = this.stretches.peekAt(at) as Stretch;
      for (let place = stretch.end - 1; place >= stretch.next; place--) {
        const command = stretch.commandAt(place);
        if (isWanted(command)) return command;
      }
    }
    return undefined;
  }

  /** All unsent and unanswered commands, in order. */
  pending(): readonly Command[] {
    return this.stretches.toArray().flatMap((stretch) => stretch.pending());
  }

  /** The bytes in flight, estimated from a sample. */
  get bytesInFlight(): number {
    return this.bytesOf(
      ({ next, written }) => [next, written],
      (command) => (command.state === CommandState.Dropped ? 0 : sizeOf(command)),
    );
  }

  /** The unsent bytes, estimated from a sample. */
  get unsentBytes(): number {
    return this.bytesOf(
      ({ written, end }) => [written, end],
      (command) => (command.isSettled ? 0 : sizeOf(command)),
    );
  }

  /** Puts other commands, or the same ones, in the places of all unsent and unanswered commands. */
  replaceAll(replace: (command: Command) => Command): void {
    for (const { places, next, end } of this.stretches.toArray()) {
      for (let place = next; place < end; place++) places[place] = replace(places[place] as Command);
    }
  }

  /** Removes the command that has just been answered. */
  shift(): Command | undefined {
    return this.head() === undefined ? undefined : this.takeHead();
  }

  /** Like `shift`, for the command that `head` has found. */
  takeHead(): Command {
    const { first } = this;
    const command = first.places[first.next] as Command;
    first.places[first.next++] = undefined;
    this.held--;
    this.inFlight--;
    this.answered++;
    if (first.next === first.end) this.leave(first);
    return command;
  }

  /** Empties the queue and returns the written and the unwritten commands, both in order. */
  takeAll(): Left {
    const all = this.stretches.toArray();
    const sent = all.flatMap(({ places, next, written }) => places.slice(next, written) as Command[]);
    const unsent = all.flatMap(({ places, written, end }) => places.slice(written, end) as Command[]);
    this.restart([]);
    this.inFlight = 0;
    return { sent, unsent };
  }

  private count(each: (stretch: Stretch) => number): number {
    return this.stretches.toArray().reduce((sum, stretch) => sum + each(stretch), 0);
  }

  private append(command: Command): void {
    markQueued(command);
    let { last } = this;
    if (last.end >= STRETCH_LENGTH) {
      last = new Stretch([], 0);
      this.add(last);
    }
    last.places[last.end++] = command;
    this.held++;
    this.unsent++;
  }

  private add(stretch: Stretch): void {
    this.last = stretch;
    this.stretches.push(stretch);
  }

  /** Skips commands that were never written, and completed stretches. */
  private stepToHead(): Command | undefined {
    let { first } = this;
    for (;;) {
      while (first.next < first.written) {
        const command = first.commandAt(first.next);
        if (command.state !== CommandState.Dropped) return command;
        first.places[first.next++] = undefined;
        this.held--;
      }
      if (first.next < first.end) return undefined;
      this.leave(first);
      if (first === this.first) return undefined;
      first = this.first;
    }
  }

  /** All commands of the first stretch are done. The last stretch is reused. */
  private leave(first: Stretch): void {
    if (first !== this.last) {
      if (first === this.writing) this.writing = this.stretches.peekAt(1) as Stretch;
      else this.writingAt--;
      this.stretches.shift();
      this.first = this.stretches.peekFront() as Stretch;
    } else if (first.end <= STRETCH_LENGTH) {
      first.next = 0;
      first.written = 0;
      first.end = 0;
    } else this.restart([]);
  }

  private restart(stretches: readonly Stretch[]): void {
    this.stretches.clear();
    for (const stretch of stretches) this.stretches.push(stretch);
    if (stretches.length === 0) this.stretches.push(new Stretch([], 0));
    this.first = this.stretches.peekFront() as Stretch;
    this.last = this.stretches.peekBack() as Stretch;
    this.writingAt = this.stretches.toArray().findIndex(({ written, end }) => written < end);
    if (this.writingAt < 0) this.writingAt = this.stretches.length - 1;
    this.writing = this.stretches.peekAt(this.writingAt) as Stretch;
    this.unsent = this.count(({ written, end }) => end - written);
    this.held = this.count(({ next, end }) => end - next);
  }

  /** Commands whose callers have given up must not accumulate behind a peer that accepts no bytes. */
  private sweep(): void {
    const kept: Stretch[] = [];
    for (const { places, next, written, end } of this.stretches.toArray()) {
      const sent = (places.slice(next, written) as Command[]).filter(
        (one) => one.state !== CommandState.Dropped || !isOver(one),
      );
      const unsent = (places.slice(written, end) as Command[]).filter((one) => !isOver(one));
      const stretch = new Stretch([...sent, ...unsent], sent.length + unsent.length);
      stretch.written = sent.length;
      if (stretch.end > 0) kept.push(stretch);
    }
    this.restart(kept);
    this.sweepAt = nextSweep(this.held);
  }

  private bytesOf(
    part: (stretch: Stretch) => [from: number, to: number],
    sizeAt: (command: Command) => number,
  ): number {
    const stretches = this.stretches.toArray();
    return estimateSum(
      stretches.length,
      (index) => {
        const stretch = stretches[index] as Stretch;
        const [from, to] = part(stretch);
        return estimateSum(to - from, (place) => sizeAt(stretch.commandAt(from + place)), STRETCH_LOOKED_AT);
      },
      STRETCH_LOOKED_AT,
    );
  }
}

function markQueued(command: Command): void {
  if (command.state < CommandState.Settled) command.state = CommandState.Queued;
}

/** It would not be written, and no other command depends on it. */
function isOver(command: Command): boolean {
  return command.isSettled && isForgettable(command);
}
