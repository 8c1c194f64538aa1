/**
 * How one command ends that gets no reply: with which error, whether it may have run, and whether it belonged to
 * the connection alone. Which commands of a link end so, `UnservedCommands` decides; a cluster takes over what can go on
 * at another node.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag, LEGACY_SHAPE } from "../command/command-spec";
import { CallsInFlight } from "../connection/calls-in-flight";
import type { Left, QueueEntry } from "../connection/command-queue";
import {
  AbortError,
  ClosedOutcomeUnknownError,
  ConnectionClosedError,
  MaxRetriesOutcomeUnknownError,
  MaxRetriesPerRequestError,
  ParserError,
} from "../errors";
import { attachCommand } from "../observability/redact";
import { copyError, OneCause, withoutStack, withStackOf } from "../util/copy-error";

/** The entries that a lost connection has left unanswered; calls of pipelines may still be calls. */
export type Leftovers = Left<QueueEntry>;

/** Sends commands elsewhere that outlive their link. */
export interface Takeover {
  takesOver(command: Command): boolean;
  /** The resend rules let all of them go again. */
  takeOver(commands: readonly Command[], error: Error): void;
  /** The same commands in order, to be sent again here: each transaction of which a part was answered is whole again. */
  madeWhole(commands: readonly Command[]): readonly Command[];
}

export function isQuit(entry: QueueEntry): boolean {
  return !(entry instanceof CallsInFlight) && (entry.spec.flags & CommandFlag.Quit) !== 0;
}

/** Fails a command that is not sent, or not again; the error tells which one it was. */
export function failNamed(command: Command, error: Error): void {
  if (error instanceof AbortError) attachCommand(error, command.name, command.args);
  command.fail(error);
}

/** Settles one command of a closed link. A connection that is gone is what QUIT asks for. */
export function settleClosed(command: Command, error: Error): void {
  if (!isQuit(command)) command.fail(error);
  else command.fulfil(command.wantsBuffers ? Buffer.from("OK") : "OK", LEGACY_SHAPE);
}

/** The error for a command that is ended by this one: it does not claim that what was written did not run. */
export function endOf(command: Command, error: Error): Error {
  return command.mayHaveRun ? inDoubt(error) : error;
}

/** The same error for a command that had been written to a connection that was lost, and waited for another try. */
function inDoubt(error: Error): Error {
  const options = causeOf(error.cause as Error | undefined);
  if (error instanceof MaxRetriesPerRequestError)
    return withStackOf(error, () => new MaxRetriesOutcomeUnknownError(error.limit, options));
  if (error instanceof ConnectionClosedError)
    return withoutStack(() => new ClosedOutcomeUnknownError(options));
  // The refusal of the next connection says nothing about commands that the last one was sent.
  return copyError(error, { code: "OUTCOME_UNKNOWN" });
}

/** Settles what waited, unless it is taken over. */
export function settleWaiting(
  waiting: readonly Command[],
  takeover: Takeover | null,
  makeError: () => Error,
): void {
  const taken: Command[] = [];
  const cause = new OneCause();
  const makeInDoubt = (): Error => inDoubt(makeError());
  for (const command of waiting) {
    if (takeover?.takesOver(command)) taken.push(command);
    else if (command.mayHaveRun) settleClosed(command, cause.next("in doubt", makeInDoubt));
    else settleClosed(command, cause.next("not run", makeError));
  }
  if (taken.length > 0) takeover?.takeOver(taken, makeError());
}

const ENDS_WITH_CONNECTION: ReadonlySet<Origin> = new Set([
  Origin.Connection,
  Origin.Restore,
  Origin.Client,
  Origin.StandIn,
  Origin.Question,
]);

/**
 * Fails what belonged to a closed connection alone (handshake, restored subscriptions); returns what
 * users had sent. A reply that broke the protocol is the answer that a question got.
 */
export function withoutRequests(left: Leftovers, cause?: Error): Leftovers {
  const answer = cause instanceof ParserError ? cause : null;
  let areAllUsers = true;
  for (const entries of [left.sent, left.unsent]) {
    for (const entry of entries) {
      if (entry instanceof CallsInFlight || entry.origin === Origin.User || isUsers(entry)) continue;
      areAllUsers = false;
      const isQuestion = entry.origin === Origin.Question;
      entry.fail(isQuestion && answer !== null ? answer : new ConnectionClosedError());
    }
  }
  return areAllUsers ? left : only(left, isUsers);
}

/** Calls are always a user's. */
function isUsers(entry: QueueEntry): boolean {
  return entry instanceof CallsInFlight || !ENDS_WITH_CONNECTION.has(entry.origin);
}

export function only<Entry>(left: Left<Entry>, isWanted: (entry: Entry) => boolean): Left<Entry> {
  return { sent: left.sent.filter(isWanted), unsent: left.unsent.filter(isWanted) };
}

/** Errors that are no news while a connection is being closed on purpose. */
export function isConnectionTrouble(error: Error): boolean {
  const { syscall } = error as NodeJS.ErrnoException;
  return error instanceof ConnectionClosedError || syscall === "connect" || syscall === "read";
}

export function causeOf(error: Error | undefined): ErrorOptions | undefined {
  return error === undefined ? undefined : { cause: error };
}
