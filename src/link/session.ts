/**
 * The session state after all issued commands: the selected database, guarded keys, an open transaction.
 * Follows the order of issue, not of replies. Two states cannot survive a lost connection, so the session
 * refuses commands afterwards: EXEC after a WATCH that was answered on the lost connection, and the rest of a
 * transaction opened by hand (`multi({ pipeline: false })`) that was partly answered there.
 */

import { BatchKind, flagsOf } from "../command/batch";
import type { Caller } from "../command/caller";
import type { Command } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { endingError } from "../command/ending-errors";
import { fateOf } from "../command/fate";
import { ReplyError } from "../errors";
import { MOST_NAMES } from "../util/bounds";
import { OpenTransaction } from "./open-transaction";
import { DB_WHEN_SENT, SelectedDb } from "./selected-db";

/** Commands that change the session. */
export const SESSION_FLAGS =
  CommandFlag.Select |
  CommandFlag.Multi |
  TRANSACTION_END |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.Reset;

/** The users that guard keys on the connection, and those whose guard another user has ended. */
class Guards {
  ended = 0;
  private readonly watching = new Set<Caller>();
  private readonly lost = new Set<Caller>();

  get isOneLost(): boolean {
    return this.lost.size > 0;
  }

  add(caller: Caller | null): void {
    if (caller === null) return;
    this.lost.delete(caller);
    if (caller.previous !== null) this.lost.delete(caller.previous);
    caller.previous = null;
    if (this.watching.has(caller)) return;
    this.watching.add(caller);
    caller.guards++;
  }

  /** EXEC, DISCARD or UNWATCH ends all guards of the connection. */
  end(caller: Caller | null): void {
    this.ended++;
    for (const one of this.watching) {
      one.guards--;
      if (one !== caller) this.lost.add(one);
    }
    this.watching.clear();
    if (caller !== null) this.lost.delete(caller);
    // Users that never return must not fill the memory.
    if (this.lost.size > MOST_NAMES) this.lost.clear();
  }

  isLost(command: Command): boolean {
    const caller = callerOf(command);
    return caller !== null && this.lost.has(caller);
  }

  forgive(command: Command): void {
    const caller = callerOf(command);
    if (caller !== null) this.lost.delete(caller);
  }

  clear(): void {
    for (const one of this.watching) one.guards--;
    this.watching.clear();
    this.lost.clear();
  }
}

function callerOf({ batch, extra }: Command): Caller | null {
  return (batch?.kind === BatchKind.Transaction ? batch.caller : null) ?? extra?.caller ?? null;
}

export class Session {
  readonly selected: SelectedDb;
  /** The last EXEC of a transaction with a SELECT, until it is settled. */
  private deciding: Command | null = null;
  /** Keys are guarded on the connection. */
  isWatching = false;
  /** Created with the first WATCH or end of a transaction. */
  private guards: Guards | null = null;
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
    /** An EXEC of a transaction with a SELECT has failed. */
    private readonly onExecFailed: (exec: Command) => void,
  ) {
    this.selected = new SelectedDb(db);
  }

  /** The database of the next command. */
  get nextDb(): number {
    return this.isDbOpen ? DB_WHEN_SENT : this.selected.db;
  }

  /** Only the reply of an EXEC determines the selected database. */
  get isDbOpen(): boolean {
    return this.deciding !== null;
  }

  /** An EXEC is settled, and `db` is selected now; null: unchanged. */
  settleExec(exec: Command, db: number | null): void {
    if (this.deciding !== null && db !== null) this.selected.db = db;
    if (this.deciding === exec) this.deciding = null;
  }

  /** Every command must be inspected before it is sent. */
  get isDelicate(): boolean {
    return this.isWatchLost || this.isMultiLost || this.openTransaction !== null;
  }

  /** It guards keys, is inside a transaction, or waits for the reply that determines its database. */
  get isBound(): boolean {
    return this.isWatching || this.isDelicate || this.isDbOpen;
  }

  private get isGuardLost(): boolean {
    return this.guards?.isOneLost === true;
  }

  private get madeGuards(): Guards {
    this.guards ??= new Guards();
    return this.guards;
  }

  /** How often guards of this connection have ended. */
  get endedGuards(): number {
    return this.guards?.ended ?? 0;
  }

  /** The next command may have to be refused. */
  get mayRefuse(): boolean {
    return this.isDelicate || this.isGuardLost;
  }

  /** An EXEC was refused because its guard is lost: its user starts over. */
  noteRefused(exec: Command): void {
    this.guards?.forgive(exec);
    const isWhole = exec.batch !== null && exec.batch.kind === BatchKind.Transaction;
    // No part of a complete one was sent, so the guards of others remain.
    if (this.isWatchLost || !isWhole) this.note(exec);
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
      this.isGuardLost ||
      this.isDelicate ||
      (flags & ~(CommandFlag.Multi | CommandFlag.Exec)) !== 0
    )
      return true;
    const last = commands[commands.length - 1] as Command;
    return last.batch?.kind !== BatchKind.Transaction || (last.spec.flags & CommandFlag.Exec) === 0;
  }

  /** Records a command that is being dispatched. */
  note(command: Command): void {
    const { flags } = command.spec;
    const isSelect = (flags & CommandFlag.Select) !== 0;
    if (this.selected.note(command) !== null) this.followExec(command);
    else if (isSelect && !this.selected.isOpen) this.deciding = null;
    if ((flags & CommandFlag.Quit) !== 0) this.noteQuit(command);
    else if ((flags & SESSION_FLAGS) !== 0) this.noteChange(command, flags);
    else this.openTransaction?.join(command);
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
      // A caller that was told that MULTI failed does not continue.
      this.isMultiLost = !this.isMultiInDoubt;
    }
  }

  /** The error that ends a command in a broken session, or null if it may be sent. */
  refusal(command: Command): Error | null {
    const { isMultiLost, isWatchLost } = this;
    const isWatchEnded = this.guards?.isLost(command) === true;
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
    this.guards?.clear();
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
    const onFailed = (error: Error): void => {
      this.isQuitting = command.extra?.sentAtMs !== 0 && !(error instanceof ReplyError);
    };
    command.ensureExtra().addHook({ onFulfilled: () => {}, onFailed });
  }

  private noteChange(command: Command, flags: number): void {
    if ((flags & CommandFlag.Watch) !== 0) {
      this.isWatching = true;
      this.madeGuards.add(command.extra?.caller ?? null);
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
      this.madeGuards.end(command.extra?.caller ?? null);
      this.isWatching = false;
      this.isWatchLost = false;
    }
  }

  private followExec(exec: Command): void {
    this.deciding = exec;
    exec.ensureExtra().addHook({ onFulfilled: () => {}, onFailed: () => this.onExecFailed(exec) });
  }

  private openByHand(command: Command): void {
    const isWhole = command.batch !== null && command.batch.kind !== BatchKind.Automatic;
    if (isWhole) return;
    const before = this.openTransaction;
    const group = new OpenTransaction();
    this.openTransaction = group;
    this.isMultiInDoubt = false;
    const onFailed = (error: Error): void => {
      // Members that were issued after it may arrive later.
      group.dropOut();
      if (this.openTransaction !== group) return;
      if (group.isStarted && !(error instanceof ReplyError)) this.isMultiInDoubt = true;
      else this.openTransaction = before;
    };
    command.ensureExtra().addHook({ onFulfilled: () => {}, onFailed });
  }
}
