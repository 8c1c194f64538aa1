/**
 * The commands between MULTI and EXEC.
 */

import type { CommandEntry } from "./command-table";

export interface QueuedCommand {
  readonly entry: CommandEntry;
  readonly args: readonly string[];
}

export class Transaction {
  readonly commands: QueuedCommand[] = [];
  /** A command was refused: EXEC will run nothing. */
  isSpoiled = false;
  /** One of them needs the interpreter. */
  needsScripting = false;

  add(entry: CommandEntry, args: readonly string[]): void {
    this.commands.push({ entry, args });
    if (entry.group === "scripting") this.needsScripting = true;
  }

  spoil(): void {
    this.isSpoiled = true;
  }
}
