/**
 * A MULTI ... EXEC on a cluster: one unit with one owner, one redirect, one retry. It counts as unanswered
 * until EXEC is answered: earlier replies to its members ("OK", "QUEUED") settle those members, and the
 * transaction may still run again elsewhere.
 *
 * When a member is redirected, the server discards the transaction. The whole transaction is sent again after
 * the reply to EXEC has closed it (`Redirector.onMemberError`):
 *
 *            first node                                       second node
 *   MULTI    OK             settled                 copy      OK            ignored
 *   GET      QUEUED         settled                 copy      QUEUED        ignored
 *   SET      MOVED          deferred, not settled   SET       QUEUED        settled
 *   EXEC     EXECABORT      not settled, redirected EXEC      [..., "OK"]   settled: all members get replies
 *
 * A settled member cannot be sent again, so a copy with the same arguments takes its place. A member with a
 * deferred error is sent again itself; its error is reported only if the transaction is not sent again (EXEC
 * has settled).
 */

import { Batch, BatchKind } from "../command/batch";
import { Command, IGNORED, issuedBy, Origin, UNROUTED } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { endingError } from "../command/ending-errors";
import { firstKeyPosition, keyPositions } from "../command/key-positions";
import { NO_SLOT, slotOfKey } from "../command/slot";
import { SelectOnClusterError } from "../errors";
import type { Argument } from "../protocol/resp-types";
import { LONGEST_SHOWN } from "../util/bounds";
import { CrossSlotTransactionError, OpenTransactionError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { Redirect } from "./redirect";

export interface Refusal {
  readonly node: ClusterNode;
  readonly redirect: Redirect;
  readonly error: Error;
}

export class ClusterTransaction extends Batch {
  /** The first redirect of a member in this run; followed when EXEC has been answered. */
  pending: Refusal | null = null;
  /** A part of this run was answered: the remaining commands must not be sent alone. */
  isPartlyDone = false;
  /** Handed back by its link and not sent again yet. */
  isWaiting = false;
  /** EXEC, or the DISCARD that closes it; it represents the transaction in the retry queue. */
  readonly closing: Command;
  /** `nextRun` was called: the transaction was sent, or is about to be. */
  private hasRun = false;
  /** Members of this run that were redirected, with the errors that are not reported yet. */
  private readonly deferred: { readonly command: Command; readonly error: Error }[] = [];

  constructor(
    readonly commands: readonly Command[],
    readonly slot: number,
  ) {
    super(BatchKind.Transaction, commands.length, null);
    this.closing = commands[commands.length - 1] as Command;
    this.watchUser = this.closing.extra?.watchUser ?? null;
    for (const command of commands) {
      command.batch = this;
      command.slot = slot;
    }
  }

  defer(command: Command, error: Error): void {
    // The server will discard the transaction, so it may be sent again even if EXEC is never answered.
    this.isAnswered = false;
    this.isPartlyDone = true;
    this.deferred.push({ command, error });
  }

  /** A caller has given up before any member was written, or EXEC has settled. */
  get isGivenUp(): boolean {
    return this.closing.isSettled || (!this.hasRun && this.commands.some(({ isSettled }) => isSettled));
  }

  discard(): void {
    for (const command of this.commands) {
      command.fail(endingError("its transaction is discarded", command));
    }
  }

  nextRun(): Command[] {
    for (const { command, error } of this.deferred.splice(0)) {
      // Each run has its own copies. Original members are sent again themselves.
      if (command.origin === Origin.Copy) command.fail(error);
    }
    this.hasRun = true;
    this.pending = null;
    this.isWaiting = false;
    this.isStarted = false;
    this.isPartlyDone = false;
    return this.commands.map((command) => (command.isSettled ? this.copy(command) : command));
  }

  /** A settled member does not count as an answer to the transaction, because a copy can replace it. */
  override settleOne(): void {
    super.settleOne();
    this.isAnswered = false;
    this.isPartlyDone = true;
    if (!this.closing.isSettled || this.deferred.length === 0) return;
    // The transaction will not be sent again. Members that were given up are already settled.
    for (const { command, error } of this.deferred.splice(0)) if (!command.isSettled) command.fail(error);
  }

  /** A command with the same arguments in place of a settled member. Its outcome is ignored. */
  private copy({ spec, args, wantsBuffers, db, extra }: Command): Command {
    const copy = issuedBy(Origin.Copy, new Command(spec, args, wantsBuffers, IGNORED));
    copy.db = db;
    copy.batch = this;
    copy.slot = this.slot;
    const script = extra?.script ?? null;
    if (script !== null) copy.ensureExtra().script = script;
    return copy;
  }
}

/** The transaction of a routed command, or null. On a cluster every batch of that kind is a `ClusterTransaction`. */
export function transactionOf({ batch, slot }: Command): ClusterTransaction | null {
  const isOne = batch !== null && batch.kind === BatchKind.Transaction && slot !== UNROUTED;
  return isOne ? (batch as ClusterTransaction) : null;
}

/** All commands of the transaction that this command represents, or the command itself. */
export function membersOf(unit: Command): readonly Command[] {
  return transactionOf(unit)?.commands ?? [unit];
}

/** Replaces each partly answered transaction by a complete run of it. The order is kept, also within each slot. */
export function madeWhole(commands: readonly Command[]): readonly Command[] {
  if (!commands.some((command) => transactionOf(command)?.isPartlyDone === true)) return commands;
  const begun = new Set<ClusterTransaction>();
  return commands.flatMap((command) => {
    const transaction = transactionOf(command);
    if (transaction === null || (!transaction.isPartlyDone && !begun.has(transaction))) return command;
    if (begun.has(transaction)) return [];
    begun.add(transaction);
    return transaction.nextRun();
  });
}

/** Position after the transaction that begins at `start`. */
export function endOfTransaction(commands: readonly Command[], start: number): number {
  for (let index = start + 1; index < commands.length; index++) {
    const { flags } = (commands[index] as Command).spec;
    if ((flags & TRANSACTION_END) !== 0) return index + 1;
  }
  return commands.length;
}

export function makeTransaction(commands: readonly Command[]): ClusterTransaction | Error {
  const last = commands[commands.length - 1] as Command;
  if ((last.spec.flags & TRANSACTION_END) === 0) return new OpenTransactionError();
  let slot = NO_SLOT;
  let first: Argument = "";
  for (const { spec, args } of commands) {
    if ((spec.flags & CommandFlag.Select) !== 0) return new SelectOnClusterError();
    if (firstKeyPosition(spec, args) < 0) continue;
    for (const position of keyPositions(spec, args)) {
      const key = args[position] as Argument;
      const own = slotOfKey(key);
      if (slot !== NO_SLOT && own !== slot) return new CrossSlotTransactionError(shown(first), shown(key));
      slot = own;
      first = key;
    }
  }
  return new ClusterTransaction(commands, slot);
}

function shown(key: Argument): string {
  const text = typeof key === "string" ? key : key.toString();
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}
