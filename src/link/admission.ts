/**
 * Counts the commands and bytes that have been handed over and are not settled, wherever they
 * wait (offline, gathered, unsent, unanswered), and holds what would exceed the bounds: callers
 * wait in order, or are refused. A dispatcher over a dispatcher; absent when no bound is set.
 * A batch is admitted as a whole, an oversize one when nothing else is outstanding.
 */

import Denque from "denque";
import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import type { Dispatcher } from "../command/dispatcher";
import { BoundsExceededError } from "../errors";

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

export class Admission implements Dispatcher {
  private commands = 0;
  private bytes = 0;
  private readonly waiting = new Denque<Group>();
  private isServing = false;
  private readonly maxCommands: number;
  private readonly maxBytes: number;

  constructor(
    private readonly next: Dispatcher,
    private readonly bounds: Bounds,
  ) {
    this.maxCommands = bounds.maxCommands ?? Number.POSITIVE_INFINITY;
    this.maxBytes = bounds.maxBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Commands that wait to be admitted. */
  get waitingCount(): number {
    let count = 0;
    for (let i = 0; i < this.waiting.length; i++) count += this.waiting.peekAt(i)?.commands.length ?? 0;
    return count;
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
    if (this.waiting.length === 0 && this.fits(group)) this.admit(group);
    else if (this.bounds.policy === "reject") this.refuse(group);
    else this.waiting.push(group);
  }

  private fits(group: Group): boolean {
    if (this.commands === 0) return true;
    return (
      this.commands + group.commands.length <= this.maxCommands && this.bytes + group.bytes <= this.maxBytes
    );
  }

  private admit(group: Group): void {
    const alive = group.commands.filter((command) => !command.isSettled);
    for (const command of alive) {
      const bytes = sizeOf(command);
      this.commands++;
      this.bytes += bytes;
      command.ensureExtra().addHook(new Release(this, bytes));
    }
    if (group.isBatch) this.next.dispatchBatch(alive);
    else for (const command of alive) this.next.dispatch(command);
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

function sizeOf(command: Command): number {
  let size = 0;
  for (const arg of command.args) size += arg.length;
  return size;
}
