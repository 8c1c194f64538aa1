/**
 * How commands end that get no reply: refused before they were written, or left behind by a link
 * that has ended. A cluster takes over what can go on at another node; each command is either ended
 * here or taken over, never both.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import {
  AbortError,
  ClosedOutcomeUnknownError,
  ConnectionClosedError,
  MaxRetriesOutcomeUnknownError,
  MaxRetriesPerRequestError,
  ParserError,
} from "../errors";
import { attachCommand } from "../observability/redact";
import { copyError, OneCause, withOneStack, withoutStack, withStackOf } from "../util/copy-error";

/** The commands that a lost connection has left unanswered, both in order. */
export interface Leftovers {
  readonly sent: readonly Command[];
  readonly unsent: readonly Command[];
}

/** Sends commands elsewhere that outlive their link. */
export interface Takeover {
  takesOver(command: Command): boolean;
  /** The resend rules let all of them go again. */
  takeOver(commands: readonly Command[], error: Error): void;
  /** The same commands in order, to be sent again here: each transaction of which a part was answered is whole again. */
  madeWhole(commands: readonly Command[]): readonly Command[];
}

export function isQuit(command: Command): boolean {
  return (command.spec.flags & CommandFlag.Quit) !== 0;
}

/** Fails a command that is not sent, or not again; the error tells which one it was. */
export function failNamed(command: Command, error: Error): void {
  if (error instanceof AbortError) attachCommand(error, command.name, command.args);
  command.fail(error);
}

/**
 * Fails commands that come too late for a closing link, unless they are taken over. All at once:
 * taken over one by one, each member of a transaction would send all of it again.
 */
export function failLate(
  commands: readonly Command[],
  makeError: () => Error,
  takeover: Takeover | null,
): void {
  const taken: Command[] = [];
  const nextError = commands.length > 1 ? withOneStack(makeError) : makeError;
  for (const command of commands) {
    const error = nextError();
    if (error instanceof ConnectionClosedError && takeover?.takesOver(command)) taken.push(command);
    else failNamed(command, error);
  }
  if (taken.length > 0) takeover?.takeOver(taken, makeError());
}

/** Settles one command of a closed link. A connection that is gone is what QUIT asks for. */
function settleClosed(command: Command, error: Error): void {
  if (!isQuit(command)) command.fail(error);
  else
    command.fulfil(command.wantsBuffers ? Buffer.from("OK") : "OK", { protocol: 2, replyMapping: "legacy" });
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

/** Settles what a connection that was closed on purpose left behind; returns what will be taken over. */
export function settleLeftovers(
  left: Leftovers,
  takeover: Takeover | null,
  cause: Error | undefined,
): Leftovers {
  const options = causeOf(cause);
  const isKept = (command: Command): boolean => takeover?.takesOver(command) === true;
  const kept = takeover === null ? { sent: [], unsent: [] } : only(left, isKept);
  const rest = takeover === null ? left : only(left, (command) => !isKept(command));
  const inDoubtError = withOneStack(() => new ClosedOutcomeUnknownError(options));
  const closedError = withOneStack(() => new ConnectionClosedError(options));
  for (const command of rest.sent) settleClosed(command, inDoubtError());
  for (const command of rest.unsent)
    settleClosed(command, command.mayHaveRun ? inDoubtError() : closedError());
  return kept;
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
  const isUsers = ({ origin }: Command): boolean =>
    origin === Origin.User || !ENDS_WITH_CONNECTION.has(origin);
  let areAllUsers = true;
  for (const commands of [left.sent, left.unsent]) {
    for (const command of commands) {
      if (isUsers(command)) continue;
      areAllUsers = false;
      const isQuestion = command.origin === Origin.Question;
      command.fail(isQuestion && answer !== null ? answer : new ConnectionClosedError());
    }
  }
  return areAllUsers ? left : only(left, isUsers);
}

function only(left: Leftovers, isWanted: (command: Command) => boolean): Leftovers {
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
