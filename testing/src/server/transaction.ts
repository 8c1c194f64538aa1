/**
 * The commands between MULTI and EXEC.
 */

import type { CommandEntry, OpenTransaction, QueuedCommand } from "./model";

export class Transaction implements OpenTransaction {
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
