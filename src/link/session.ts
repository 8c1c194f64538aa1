/**
 * What the commands issued so far have made of the session with the server: the selected
 * database, guarded keys, an open transaction. Follows the order of issue, not of replies.
 *
 * Two things cannot survive a lost connection and are therefore refused afterwards:
 * EXEC after a WATCH that was answered on the lost connection, and the rest of a transaction
 * that was opened by hand (`multi({ pipeline: false })`) and answered there in part.
 */

import { BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { AbortError, WatchLostError } from "../errors";

/** Commands that change the session. */
export const SESSION_FLAGS =
  CommandFlag.Select |
  CommandFlag.Multi |
  CommandFlag.Exec |
  CommandFlag.Discard |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.Reset;

export class Session {
  /** Database that the next command is issued for. */
  db: number;
  private isWatching = false;
  private isWatchLost = false;
  private isMultiOpen = false;
  private isMultiLost = false;

  constructor(db: number) {
    this.db = db;
  }

  /** True while commands must be looked at before they may go on. */
  get isBroken(): boolean {
    return this.isWatchLost || this.isMultiLost;
  }

  /** Follows a command that is being handed over. */
  note(command: Command): void {
    const { flags } = command.spec;
    const isSingle = command.batch === null || command.batch.kind !== BatchKind.Transaction;
    if ((flags & CommandFlag.Select) !== 0) {
      const db = Number(command.args[0]);
      if (Number.isInteger(db) && db >= 0) this.db = db;
    } else if ((flags & CommandFlag.Watch) !== 0) this.isWatching = true;
    else if ((flags & CommandFlag.Multi) !== 0) this.isMultiOpen = isSingle;
    else if ((flags & CommandFlag.Reset) !== 0) {
      this.db = 0;
      this.clear();
    } else if ((flags & (CommandFlag.Exec | CommandFlag.Discard | CommandFlag.Unwatch)) !== 0) {
      if ((flags & CommandFlag.Unwatch) === 0) this.isMultiOpen = false;
      this.isWatching = false;
      this.isWatchLost = false;
    }
  }

  /**
   * The connection was lost. `goesAgain` are the commands that will be sent anew: a WATCH or
   * MULTI among them opens what it opened before.
   */
  onLoss(goesAgain: readonly Command[]): void {
    const isResent = (flag: number): boolean =>
      goesAgain.some((command) => (command.spec.flags & flag) !== 0);
    if (this.isWatching && !isResent(CommandFlag.Watch)) this.isWatchLost = true;
    if (this.isMultiOpen && !isResent(CommandFlag.Multi)) {
      this.isMultiOpen = false;
      this.isMultiLost = true;
    }
  }

  /** The error that ends a command issued into a broken session, or null when it may go on. */
  refusal(command: Command): Error | null {
    const { flags } = command.spec;
    if (this.isMultiLost) {
      if ((flags & CommandFlag.Multi) !== 0) this.isMultiLost = false;
      else {
        if ((flags & (CommandFlag.Exec | CommandFlag.Discard)) !== 0) this.clear();
        return new AbortError();
      }
    }
    const opensOrRuns = CommandFlag.Multi | CommandFlag.Exec;
    const isTransaction = command.batch !== null && command.batch.kind === BatchKind.Transaction;
    if (this.isWatchLost && isTransaction) return new WatchLostError();
    if (this.isWatchLost && (flags & opensOrRuns & CommandFlag.Exec) !== 0) return new WatchLostError();
    return null;
  }

  /** Forgets guarded keys and transactions: the client was closed on purpose, or RESET ran. */
  clear(): void {
    this.isWatching = false;
    this.isWatchLost = false;
    this.isMultiOpen = false;
    this.isMultiLost = false;
  }
}
