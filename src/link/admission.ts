/**
 * Counts the commands and bytes that have been dispatched and are not settled, wherever they wait (offline,
 * collected, unsent, unanswered), and holds calls that would exceed the bounds: callers wait in order, or are
 * refused. A dispatcher in front of another; absent without bounds. A batch is admitted as a whole, an
 * oversized one when nothing else is outstanding.
 */

import Denque from "denque";
import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { costOf } from "../command/size";
import { FIRST_SWEEP, nextSweep } from "../command/sweep";
import { AbortError } from "../errors";
import { BoundsExceededError } from "../part-errors";
import { microtask } from "../util/scheduling";
import { isQuit } from "./leftovers";

export interface Bounds {
  /** Limit of unsettled commands. Unlimited by default. */
  readonly maxCommands?: number | undefined;
  /**
   * Limit of the memory of unsettled commands in bytes: about 850 for each, plus its arguments. Unlimited by default.
   */
  readonly maxBytes?: number | undefined;
  /** Whether a command beyond the limits waits or rejects. Default `"wait"`. */
  readonly policy?: "wait" | "reject" | undefined;
}

/** One call: a single command, or a batch. */
interface Entry {
  readonly commands: readonly Command[];
  readonly bytes: number;
  readonly isBatch: boolean;
}

export class Admission implements Dispatcher {
  /** Commands that are admitted and not settled, and their memory. */
  commands = 0;
  bytes = 0;
  private waiting = new Denque<Entry>();
  /** Commands that wait to be admitted. */
  waitingCount = 0;
  /** The number of waiting commands at which given-up ones are removed. */
  private sweepAt = FIRST_SWEEP;
  private isServing = false;
  /** A MULTI opened by hand was admitted, and its EXEC or DISCARD was not. */
  private isOpen = false;
  /** A MULTI has failed immediately: its caller cannot know that yet, and continues. */
  private isRefusing = false;
  private readonly onLeft: SettleHook = { onSettled: () => this.serve() };
  private readonly maxCommands: number;
  private readonly maxBytes: number;

  constructor(
    /** Replaced when auto-pipelining is switched on or off. */
    public next: Dispatcher,
    private readonly bounds: Bounds,
    /** A command was given up while it waited, or refused; it is not dispatched. */
    private readonly onGivenUp?: (() => void) | undefined,
  ) {
    this.maxCommands = bounds.maxCommands ?? Number.POSITIVE_INFINITY;
    this.maxBytes = bounds.maxBytes ?? Number.POSITIVE_INFINITY;
  }

  dispatch(command: Command): void {
    this.take({ commands: [command], bytes: costOf(command), isBatch: false });
  }

  dispatchBatch(commands: readonly Command[]): void {
    let bytes = 0;
    for (const command of commands) bytes += costOf(command);
    this.take({ commands, bytes, isBatch: true });
  }

  /** The client is closing: waiting commands are dispatched now, regardless of the bounds. */
  letGo(): void {
    for (let entry = this.waiting.shift(); entry !== undefined; entry = this.waiting.shift()) {
      this.waitingCount -= entry.commands.length;
      this.admit(entry);
    }
  }

  private take(entry: Entry): void {
    if (this.isRefusing) abort(entry);
    // QUIT and the end of a transaction are always admitted.
    const isEnd = entry.commands.every(isQuit) || (this.isOpen && has(entry, TRANSACTION_END));
    const isNext = this.waiting.length === 0 && (isEnd || this.fits(entry));
    if (isNext || entry.commands.every(isSettled)) this.admit(entry);
    else if (this.bounds.policy === "reject") this.refuse(entry);
    else this.wait(entry);
  }

  private wait(entry: Entry): void {
    this.waiting.push(entry);
    this.waitingCount += entry.commands.length;
    // A caller that gives up must not delay those behind it.
    for (const { extra } of entry.commands) extra?.addHook(this.onLeft);
    if (this.waitingCount >= this.sweepAt) this.sweep();
  }

  /** Given-up commands must not accumulate behind a server that does not answer. */
  private sweep(): void {
    let isOpen = this.isOpen;
    const kept = this.waiting.toArray().filter((entry) => {
      // A member that was given up counts: its transaction must not run without it.
      isOpen ||= has(entry, CommandFlag.Multi);
      const isKept = isOpen || !entry.commands.every(isSettled);
      if (has(entry, TRANSACTION_END)) isOpen = false;
      return isKept;
    });
    this.waiting = new Denque(kept);
    this.waitingCount = kept.reduce((sum, { commands }) => sum + commands.length, 0);
    this.sweepAt = nextSweep(this.waitingCount);
  }

  private fits(entry: Entry): boolean {
    if (this.commands === 0) return true;
    return (
      this.commands + entry.commands.length <= this.maxCommands && this.bytes + entry.bytes <= this.maxBytes
    );
  }

  private admit(entry: Entry): void {
    const { commands, isBatch } = entry;
    const first = commands[0] as Command;
    const isOpening = has(entry, CommandFlag.Multi);
    const isEnding = has(entry, TRANSACTION_END);
    if (isEnding) this.isOpen = false;
    if (commands.every(isSettled)) {
      this.onGivenUp?.();
      if (isOpening) this.refuseOpened();
      // EXEC and DISCARD are dispatched even if they were given up, because the next transaction begins after
      // them.
      if (!isEnding) return;
    } else if (isOpening) {
      this.isOpen = true;
      first.ensureExtra().addHook({ onSettled: (error) => error !== null && this.refuseOpened() });
    }
    for (const command of commands) {
      if (command.isSettled) continue;
      const bytes = costOf(command);
      this.commands++;
      this.bytes += bytes;
      command.ensureExtra().addHook(new Release(this, bytes));
    }
    // The whole batch is dispatched, so that a transaction with a lost member is recognized.
    if (isBatch) this.next.dispatchBatch(commands);
    else this.next.dispatch(first);
  }

  /** MULTI has failed: the commands between it and its EXEC must not run outside a transaction. */
  private refuseOpened(): void {
    const { isServing } = this;
    this.isServing = true;
    this.isOpen = false;
    let isOver = false;
    for (const entry of this.waiting.toArray()) {
      if (!isOver) abort(entry);
      isOver ||= has(entry, TRANSACTION_END);
    }
    this.isServing = isServing;
    this.isRefusing = !isOver;
    microtask(() => {
      this.isRefusing = false;
    });
  }

  release(bytes: number): void {
    this.commands--;
    this.bytes -= bytes;
    this.serve();
  }

  private serve(): void {
    // An admitted command may settle immediately (the client is closed) and call this method again.
    if (this.isServing) return;
    this.isServing = true;
    for (let entry = this.waiting.peekFront(); entry !== undefined; entry = this.waiting.peekFront()) {
      if (!this.fits(entry) && !entry.commands.every(isSettled)) break;
      this.waiting.shift();
      this.waitingCount -= entry.commands.length;
      this.admit(entry);
    }
    this.isServing = false;
  }

  private refuse(entry: Entry): void {
    this.onGivenUp?.();
    const isFull = this.commands + entry.commands.length > this.maxCommands;
    const limit = isFull ? this.maxCommands : this.maxBytes;
    for (const command of entry.commands)
      command.fail(new BoundsExceededError(isFull ? "commands" : "bytes", limit));
  }
}

class Release implements SettleHook {
  constructor(
    private readonly admission: Admission,
    private readonly bytes: number,
  ) {}

  onSettled(): void {
    this.admission.release(this.bytes);
  }
}

function abort({ commands }: Entry): void {
  for (const command of commands) if (!isQuit(command)) command.fail(new AbortError());
}

/** Whether it is a single command with the flag. */
function has({ commands, isBatch }: Entry, flag: number): boolean {
  return !isBatch && ((commands[0] as Command).spec.flags & flag) !== 0;
}

function isSettled(command: Command): boolean {
  return command.isSettled;
}
