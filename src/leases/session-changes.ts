/**
 * Follows the commands of a leased connection and lists the commands that undo their effect on the connection.
 * SELECT is not listed, because the pool selects the database of the next borrower.
 */

import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { isWord } from "../command/key-positions";
import { ReplyError } from "../errors";

/** Commands whose effect on the connection cannot be undone, and their subcommands without an effect. */
const LASTING: ReadonlyMap<string, readonly string[]> = new Map([
  ["asking", []],
  ["auth", []],
  [
    "client",
    [
      "GETNAME",
      "GETREDIR",
      "HELP",
      "ID",
      "INFO",
      "KILL",
      "LIST",
      "PAUSE",
      "TRACKINGINFO",
      "UNBLOCK",
      "UNPAUSE",
    ],
  ],
  ["hello", []],
  ["himport", []],
  ["monitor", []],
  ["psync", []],
  ["quit", []],
  ["readonly", []],
  ["readwrite", []],
  ["reset", []],
  ["script", ["EXISTS", "FLUSH", "HELP", "KILL", "LOAD", "SHOW"]],
  ["sync", []],
]);

/** The server has discarded the transaction, and its watch too. */
const DISCARDED = /^EXECABORT /;

export class SessionChanges implements SettleHook {
  /** Some changes cannot be undone, so the connection cannot be reused. */
  isLasting = false;
  private isWatching = false;
  private isInTransaction = false;
  private readonly exits = new Set<string>();

  note(command: Command): void {
    const { spec, args } = command;
    const { flags, lowerName } = spec;
    if ((flags & CommandFlag.Watch) !== 0) this.isWatching = true;
    else if ((flags & CommandFlag.Unwatch) !== 0) this.isWatching = false;
    else if ((flags & TRANSACTION_END) !== 0) {
      // Without MULTI, the server rejects EXEC and DISCARD and keeps the watch.
      if (this.isInTransaction) {
        this.isWatching = false;
        command.ensureExtra().addHook(this);
      }
      this.isInTransaction = false;
    } else if ((flags & CommandFlag.Multi) !== 0) {
      this.isInTransaction = true;
      command.ensureExtra().addHook(this);
    }
    if ((flags & CommandFlag.EnterSubscriber) !== 0) {
      this.exits.add(lowerName.replace("subscribe", "unsubscribe"));
    }
    const harmless = LASTING.get(lowerName);
    if (harmless !== undefined && !harmless.some((word) => isWord(args[0], word))) this.isLasting = true;
  }

  /** MULTI, or the end of its transaction, was refused: the transaction or the watch may still be open. */
  onSettled(error: Error | null): void {
    if (error instanceof ReplyError && !DISCARDED.test(error.message)) this.isLasting = true;
  }

  /** The names of the commands that undo the changes, in the order in which the server accepts them. */
  undo(): string[] {
    const names = [...this.exits];
    // Inside a transaction, an UNSUBSCRIBE would be queued.
    if (this.isInTransaction) names.unshift("discard");
    else if (this.isWatching) names.push("unwatch");
    return names;
  }
}
