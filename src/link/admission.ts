/**
 * Counts the commands and bytes that have been handed over and are not settled, wherever they
 * wait (offline, gathered, unsent, unanswered), and holds what would exceed the bounds: callers
 * wait in order, or are refused. A dispatcher over a dispatcher; absent when no bound is set.
 * A batch is admitted as a whole, an oversize one when nothing else is outstanding.
 */

import Denque from "denque";
import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { AbortError, BoundsExceededError } from "../errors";
import { isQuit } from "./farewell";

export interface Bounds {
  /** Most commands that are not settled. Default unlimited. */
  readonly maxCommands?: number | undefined;
  /** Most bytes of their arguments (characters of strings). Default unlimited. */
  readonly maxBytes?: number | undefined;
  /** What happens to a command that would exceed them. Default `"wait"`. */
  readonly policy?: "wait" | "reject" | undefined;
}

interface Group {
  readonly commands: readonly Command[];
  readonly bytes: number;
  readonly isBatch: boolean;
}

/** Waiting commands at which those whose callers have given up (time limits) are swept out. */
const FIRST_SWEEP = 4096;

export class Admission implements Dispatcher {
  private commands = 0;
  private bytes = 0;
  private waiting = new Denque<Group>();
  /** Commands that wait to be admitted. */
  waitingCount = 0;
  private sweepAt = FIRST_SWEEP;
  private isServing = false;
  private readonly maxCommands: number;
  private readonly maxBytes: number;

  constructor(
    private readonly next: Dispatcher,
    private readonly bounds: Bounds,
    /** A command was given up while it waited; it goes no further. */
    private readonly onGivenUp?: (() => void) | undefined,
  ) {
    this.maxCommands = bounds.maxCommands ?? Number.POSITIVE_INFINITY;
    this.maxBytes = bounds.maxBytes ?? Number.POSITIVE_INFINITY;
  }

  dispatch(command: Command): void {
    this.take({ commands: [command], bytes: sizeOf(command), isBatch: false });
  }

  dispatchBatch(commands: readonly Command[]): void {
    let bytes = 0;
    for (const command of commands) bytes += sizeOf(command);
    this.take({ commands, bytes, isBatch: true });
  }

  private take(group: Group): void {
    // A client can always be left.
    if (this.waiting.length === 0 && (this.fits(group) || group.commands.every(isQuit))) this.admit(group);
    else if (this.bounds.policy === "reject") this.refuse(group);
    else this.wait(group);
  }

  private wait(group: Group): void {
    this.waiting.push(group);
    this.waitingCount += group.commands.length;
    if (this.waitingCount >= this.sweepAt) this.sweep();
  }

  /** Callers who give up and ask again must not pile up behind a server that answers nothing. */
  private sweep(): void {
    const kept = this.waiting.toArray().filter(({ commands }) => !commands.every(isSettled));
    this.waiting = new Denque(kept);
    this.waitingCount = kept.reduce((sum, { commands }) => sum + commands.length, 0);
    this.sweepAt = Math.max(FIRST_SWEEP, this.waitingCount * 2);
  }

  private fits(group: Group): boolean {
    if (this.commands === 0) return true;
    return (
      this.commands + group.commands.length <= this.maxCommands && this.bytes + group.bytes <= this.maxBytes
    );
  }

  private admit(group: Group): void {
    const { commands, isBatch } = group;
    const first = commands[0] as Command;
    const isOpening = !isBatch && (first.spec.flags & CommandFlag.Multi) !== 0;
    if (commands.every(isSettled)) {
      this.onGivenUp?.();
      if (isOpening) this.refuseOpened();
      // What ends a transaction goes on, though nobody waits for it: the next one begins behind it.
      if (isBatch || !isClosing(first)) return;
    } else if (isOpening) {
      first.ensureExtra().addHook({ onFulfilled: () => {}, onFailed: () => this.refuseOpened() });
    }
    for (const command of commands) {
      if (command.isSettled) continue;
      const bytes = sizeOf(command);
      this.commands++;
      this.bytes += bytes;
      command.ensureExtra().addHook(new Release(this, bytes));
    }
    // The whole of it, so that a transaction that has lost a member is known for what it is.
    if (isBatch) this.next.dispatchBatch(commands);
    else this.next.dispatch(first);
  }

  /** MULTI has failed: what waits between it and its EXEC must not run outside of it. */
  private refuseOpened(): void {
    const waiting = this.waiting.toArray();
    const last = waiting.findIndex(({ commands, isBatch }) => !isBatch && isClosing(commands[0] as Command));
    for (const { commands } of waiting.slice(0, last + 1)) commands[0]?.fail(new AbortError());
  }

  /** Called as each admitted command settles. */
  release(bytes: number): void {
    this.commands--;
    this.bytes -= bytes;
    // What is admitted may settle at once (the client is closed) and come back here.
    if (this.isServing) return;
    this.isServing = true;
    for (let group = this.waiting.peekFront(); group !== undefined; group = this.waiting.peekFront()) {
      if (!this.fits(group)) break;
      this.waiting.shift();
      this.waitingCount -= group.commands.length;
      this.admit(group);
    }
    this.isServing = false;
  }

  private refuse(group: Group): void {
    const isFull = this.commands + group.commands.length > this.maxCommands;
    for (const command of group.commands) {
      command.fail(
        isFull
          ? new BoundsExceededError("commands", this.maxCommands)
          : new BoundsExceededError("bytes", this.maxBytes),
      );
    }
  }
}

class Release implements SettleHook {
  constructor(
    private readonly admission: Admission,
    private readonly bytes: number,
  ) {}

  onFulfilled(): void {
    this.admission.release(this.bytes);
  }

  onFailed(): void {
    this.admission.release(this.bytes);
  }
}

function isClosing({ spec }: Command): boolean {
  return (spec.flags & (CommandFlag.Exec | CommandFlag.Discard)) !== 0;
}

function isSettled(command: Command): boolean {
  return command.isSettled;
}

function sizeOf(command: Command): number {
  let size = 0;
  for (const arg of command.args) size += arg.length;
  return size;
}
