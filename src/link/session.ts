/**
 * The session state after all issued commands: the selected database, guarded keys, an open transaction.
 * Follows the order of issue, not of replies. Two states cannot survive a lost connection, so the session
 * refuses commands afterwards: EXEC after a WATCH that was answered on the lost connection, and the rest of a
 * transaction opened by hand (`multi({ pipeline: false })`) that was partly answered there.
 */

import { flagsOf, isIndependent } from "../command/batch";
import type { Command } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { endingError } from "../command/ending-errors";
import { fateOf, isTransaction } from "../command/fate";
import type { WatchUser } from "../command/watch-user";
import { ReplyError } from "../errors";
import { MOST_NAMES } from "../util/bounds";
import { OpenTransaction } from "./open-transaction";
import { DB_WHEN_SENT, SelectedDb, type Selects, selectedBy } from "./selected-db";

export const SESSION_FLAGS =
  CommandFlag.Select |
  CommandFlag.Multi |
  TRANSACTION_END |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.Reset;

/** The users that guard keys on the connection, and those whose guards another user has ended. */
class Guards {
  ended = 0;
  private readonly watching = new Set<WatchUser>();
  private readonly endedByOthers = new Set<WatchUser>();

  get isSomeEnded(): boolean {
    return this.endedByOthers.size > 0;
  }

  add(user: WatchUser | null): void {
    if (user === null) return;
    this.endedByOthers.delete(user);
    if (user.previous !== null) this.endedByOthers.delete(user.previous);
    user.previous = null;
    if (this.watching.has(user)) return;
    this.watching.add(user);
    user.guards++;
  }

  /** EXEC, DISCARD or UNWATCH ends all guards of the connection. */
  end(user: WatchUser | null): void {
    this.ended++;
    for (const one of this.watching) {
      one.guards--;
      if (one !== user) this.endedByOthers.add(one);
    }
    this.watching.clear();
    if (user !== null) this.endedByOthers.delete(user);
    // Users that never return must not fill the memory.
    if (this.endedByOthers.size > MOST_NAMES) this.endedByOthers.clear();
  }

  wasEndedByOther(command: Command): boolean {
    const user = watchUserOf(command);
    return user !== null && this.endedByOthers.has(user);
  }

  forgive(command: Command): void {
    const user = watchUserOf(command);
    if (user !== null) this.endedByOthers.delete(user);
  }

  clear(): void {
    for (const one of this.watching) one.guards--;
    this.watching.clear();
    this.endedByOthers.clear();
  }
}

function watchUserOf({ batch, extra }: Command): WatchUser | null {
  return (isTransaction(batch) ? batch.watchUser : null) ?? extra?.watchUser ?? null;
}

export class Session {
  readonly selected: SelectedDb;
  /** The last EXEC of a transaction with a SELECT, until it is settled. */
  private deciding: Command | null = null;
  isWatching = false;
  private readonly guards = new Guards();
  private isWatchLost = false;
  /** The transaction opened by hand that the next command belongs to. */
  private openTransaction: OpenTransaction | null = null;
  private isMultiLost = false;
  /** Its MULTI was written and has failed: the transaction ends with the connection. */
  private isMultiInDoubt = false;
  /** QUIT was issued: further commands are refused. */
  isQuitting = false;

  constructor(
    db: number,
    /** An EXEC of a transaction with a SELECT was settled, and `db` is selected now; null: unchanged. */
    private readonly onDecided: (exec: Command, db: number | null) => void,
  ) {
    this.selected = new SelectedDb(db);
  }

  get nextDb(): number {
    return this.isDbOpen ? DB_WHEN_SENT : this.selected.db;
  }

  /** Only the reply of an EXEC determines the selected database. */
  get isDbOpen(): boolean {
    return this.deciding !== null;
  }

  /** Every command must be inspected before it is sent. */
  get isDelicate(): boolean {
    return this.isWatchLost || this.isMultiLost || this.openTransaction !== null;
  }

  /** It guards keys, is inside a transaction, or waits for the reply that determines its database. */
  get isBound(): boolean {
    return this.isWatching || this.isDelicate || this.isDbOpen;
  }

  /** How often guards of this connection have ended. */
  get endedGuards(): number {
    return this.guards.ended;
  }

  /** An EXEC was refused because its guard is lost: its user starts over. */
  noteRefused(exec: Command): void {
    this.guards.forgive(exec);
    // No part of a complete transaction was sent, so the guards of others remain.
    if (this.isWatchLost || !isTransaction(exec.batch)) this.note(exec);
  }

  /** A MULTI was sent by hand, and its EXEC was not. */
  get isInTransaction(): boolean {
    return this.openTransaction !== null;
  }

  /**
   * Whether commands with one of these flags must be followed one by one. While no key is guarded and no
   * transaction open, complete transactions (from MULTI to EXEC) leave the state unchanged.
   */
  isConcerned(commands: readonly Command[], mask: number): boolean {
    const flags = flagsOf(commands) & mask;
    if (flags === 0) return false;
    if (
      this.isWatching ||
      this.guards.isSomeEnded ||
      this.isDelicate ||
      (flags & ~(CommandFlag.Multi | CommandFlag.Exec)) !== 0
    )
      return true;
    const last = commands[commands.length - 1] as Command;
    return !isTransaction(last.batch) || (last.spec.flags & CommandFlag.Exec) === 0;
  }

  /** Records a command that is being dispatched. */
  note(command: Command): void {
    const { flags } = command.spec;
    const isSelect = (flags & CommandFlag.Select) !== 0;
    const selects = this.selected.note(command);
    if (selects !== null) this.followExec(command, selects);
    else if (isSelect && !this.selected.isOpen) this.deciding = null;
    if ((flags & CommandFlag.Quit) !== 0) this.noteQuit(command);
    else this.noteChange(command, flags);
  }

  /**
   * The connection was lost. `goesAgain` returns whether a command with the flag will be sent again: such a
   * WATCH or MULTI restores its state.
   */
  onLoss(goesAgain: (flag: number) => boolean): void {
    if (this.isWatching && !goesAgain(CommandFlag.Watch)) this.isWatchLost = true;
    if (this.openTransaction !== null && !goesAgain(CommandFlag.Multi)) {
      this.selected.abandonOpen();
      this.openTransaction = null;
      // A caller whose MULTI has failed does not continue.
      this.isMultiLost = !this.isMultiInDoubt;
    }
  }

  /**
   * The error that ends a command in a broken session, or null if it may be sent. The command that starts over
   * or ends the transaction repairs the session.
   */
  takeRefusal(command: Command): Error | null {
    const { isMultiLost, isWatchLost } = this;
    const isWatchEnded = this.guards.wasEndedByOther(command);
    const { ending } = fateOf(command, { kind: "issued", isMultiLost, isWatchLost, isWatchEnded });
    const { flags } = command.spec;
    if ((flags & CommandFlag.Multi) !== 0) this.isMultiLost = false;
    else if (isMultiLost && (flags & TRANSACTION_END) !== 0) this.clear();
    return ending === null ? null : endingError(ending, command);
  }

  /** A command was given up or refused before it was sent: an open transaction would run without it. */
  loseMember(command?: Command): void {
    if (this.openTransaction === null) return;
    this.openTransaction.isRefused = true;
    if (command && (command.spec.flags & TRANSACTION_END) !== 0) this.openTransaction = null;
  }

  /** Forgets guarded keys and transactions: the client was closed on purpose, or RESET ran. */
  clear(): void {
    this.guards.clear();
    this.selected.abandonOpen();
    this.deciding = null;
    this.isWatching = false;
    this.isWatchLost = false;
    this.openTransaction = null;
    this.isMultiLost = false;
  }

  /**
   * A QUIT outside a transaction. If it is given up before it is written, it counts as not issued; a server
   * that refuses it does not close.
   */
  private noteQuit(command: Command): void {
    this.isQuitting = true;
    const onSettled = (error: Error | null): void => {
      if (error === null) return;
      this.isQuitting = command.extra?.sentAtMs !== 0 && !(error instanceof ReplyError);
    };
    command.ensureExtra().addHook({ onSettled });
  }

  private noteChange(command: Command, flags: number): void {
    if ((flags & CommandFlag.Watch) !== 0) {
      this.isWatching = true;
      this.guards.add(command.extra?.watchUser ?? null);
    } else if ((flags & CommandFlag.Multi) !== 0) this.openByHand(command);
    else if ((flags & CommandFlag.Reset) !== 0) {
      this.clear();
      return;
    }
    this.openTransaction?.join(command);
    if ((flags & CommandFlag.Exec) !== 0 && this.isWatching && command.group !== null) {
      command.group.isGuarded = true;
    }
    if ((flags & TRANSACTION_END) !== 0) this.openTransaction = null;
    if ((flags & (TRANSACTION_END | CommandFlag.Unwatch)) !== 0) {
      this.guards.end(command.extra?.watchUser ?? null);
      this.isWatching = false;
      this.isWatchLost = false;
    }
  }

  private followExec(exec: Command, selects: Selects): void {
    this.deciding = exec;
    const onSettled = (_error: Error | null, reply?: unknown): void => {
      const db = selectedBy(selects, reply);
      if (this.isDbOpen && db !== null) this.selected.db = db;
      if (this.deciding === exec) this.deciding = null;
      this.onDecided(exec, db);
    };
    exec.ensureExtra().addHook({ onSettled });
  }

  private openByHand(command: Command): void {
    if (!isIndependent(command.batch)) return;
    const before = this.openTransaction;
    const group = new OpenTransaction();
    this.openTransaction = group;
    this.isMultiInDoubt = false;
    const onSettled = (error: Error | null): void => {
      if (error === null) return;
      // Members that were issued after it may arrive later.
      group.dropOut();
      if (this.openTransaction !== group) return;
      if (group.isStarted && !(error instanceof ReplyError)) this.isMultiInDoubt = true;
      else this.openTransaction = before;
    };
    command.ensureExtra().addHook({ onSettled });
  }
}
