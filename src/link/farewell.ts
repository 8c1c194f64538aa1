/** How commands end when their link does. */

import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import {
  ClosedOutcomeUnknownError,
  ConnectionClosedError,
  MaxRetriesOutcomeUnknownError,
  MaxRetriesPerRequestError,
} from "../errors";
import { copyError } from "../util/copy-error";
import type { Heir } from "./heir";
import type { Leftovers } from "./resend";

export function isQuit(command: Command): boolean {
  return (command.spec.flags & CommandFlag.Quit) !== 0;
}

/** Ends one command of a closed link. A connection that is gone is what QUIT asks for. */
export function dismissOne(command: Command, error: Error): void {
  if (!isQuit(command)) command.fail(endOf(command, error));
  else
    command.fulfil(command.wantsBuffers ? Buffer.from("OK") : "OK", { protocol: 2, replyMapping: "legacy" });
}

/** The error for a command that is ended by this one: it does not claim that what was written did not run. */
export function endOf(command: Command, error: Error): Error {
  return command.extra?.mayHaveRun ? inDoubt(error) : error;
}

/** The same error for a command that had been written to a line that was lost, and waited for another try. */
function inDoubt(error: Error): Error {
  const options = causeOf(error.cause as Error | undefined);
  if (error instanceof MaxRetriesPerRequestError)
    return new MaxRetriesOutcomeUnknownError(error.limit, options);
  if (error instanceof ConnectionClosedError) return new ClosedOutcomeUnknownError(options);
  // What refused the next connection says nothing about what the last one was sent.
  return copyError(error, { code: "OUTCOME_UNKNOWN" });
}

/** Ends what a connection that was closed on purpose left behind; returns what the heir will adopt. */
export function dismissLeftovers(left: Leftovers, heir: Heir, cause: Error | undefined): Leftovers {
  const options = causeOf(cause);
  const kept = only(left, (command) => heir.adopts(command));
  const rest = only(left, (command) => !heir.adopts(command));
  for (const command of rest.sent) dismissOne(command, new ClosedOutcomeUnknownError(options));
  for (const command of rest.unsent) dismissOne(command, new ConnectionClosedError(options));
  return kept;
}

/** Ends what waited; an heir, if there is one, gets what it adopts. */
export function dismiss(waiting: readonly Command[], heir: Heir | null, makeError: () => Error): void {
  const orphans: Command[] = [];
  for (const command of waiting) {
    if (heir?.adopts(command)) orphans.push(command);
    else dismissOne(command, makeError());
  }
  if (orphans.length > 0) heir?.onOrphans(orphans, makeError());
}

const ENDS_WITH_CONNECTION: ReadonlySet<Origin> = new Set([
  Origin.Connection,
  Origin.Restore,
  Origin.Client,
  Origin.StandIn,
]);

/** Fails what belonged to a closed connection alone (handshake, restored subscriptions); returns what users had sent. */
export function withoutRequests(left: Leftovers): Leftovers {
  const isUsers = ({ origin }: Command): boolean => !ENDS_WITH_CONNECTION.has(origin);
  for (const command of [...left.sent, ...left.unsent]) {
    if (!isUsers(command)) command.fail(new ConnectionClosedError());
  }
  return only(left, isUsers);
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
