/**
 * Creates the errors of commands that fail without a reply. `fate.ts` decides how a command ends, and this file
 * creates the matching error. An error never claims that a command did not run if it may have run.
 */

import {
  AbortError,
  ClosedOutcomeUnknownError,
  CommandLossError,
  ConnectionClosedError,
  MaxRetriesOutcomeUnknownError,
  MaxRetriesPerRequestError,
  OutcomeUnknownError,
  WatchLostError,
} from "../errors";
import { copyError, OneCause, withStackOf } from "../util/copy-error";
import { withoutStack } from "../util/without-stack";
import type { Command } from "./command";
import type { Ending } from "./fate";

/** The fields of a command that its error contains. */
type Ended = Pick<Command, "name" | "losses" | "extra">;

/** The details that the errors of one event contain. */
export interface EndingDetails {
  /** Creates the error of the event. */
  readonly makeError: () => Error;
  /** The reason for the loss of the connection. */
  readonly cause?: Error | undefined;
  readonly server?: string;
  readonly retryPolicy?: string;
}

const WATCH_ENDED = "Another caller of this client ended the WATCH with its own EXEC, DISCARD or UNWATCH";

const TRANSACTION_DISCARDED =
  "EXECABORT Transaction discarded because one of its commands was given up before it was written.";

const CLOSED: EndingDetails = { makeError: () => new ConnectionClosedError() };

/** The error for a command with this ending. */
export function endingError(ending: Ending, command: Ended, details = CLOSED): Error {
  const options = causeOf(details.cause);
  switch (ending) {
    case "its error":
      return details.makeError();
    case "its error, may have run":
      return mayHaveRun(details.makeError());
    case "closed":
      return new ConnectionClosedError();
    case "may have run":
      return new OutcomeUnknownError(undefined, options);
    case "lost too often":
      return new CommandLossError(command.name, command.losses, options);
    case "its batch is broken":
      return new AbortError(undefined, options);
    case "its transaction is discarded":
      return new AbortError(TRANSACTION_DISCARDED);
    case "its WATCH is lost":
      return new WatchLostError();
    case "its WATCH was ended by another user":
      return new WatchLostError(WATCH_ENDED);
    case "may have run: it ends the server":
      return unknownOutcome(command, "it is never sent again", details);
    case "may have run: the server may still run it":
      return unknownOutcome(command, "may still be running, so it is not sent again", details);
    case "may have run: the policy forbids another try": {
      const policy = command.extra?.retryPolicy ?? details.retryPolicy ?? "";
      return unknownOutcome(command, `the retry policy "${policy}" forbids sending it again`, details);
    }
  }
}

/** Like `endingError`, for many commands that one event ends: each gets its own error, cheaply. */
export class EndingErrors {
  private readonly made = new OneCause();

  constructor(
    private readonly details: EndingDetails,
    private readonly isOnlyOne = false,
  ) {}

  next(ending: Ending, command: Ended): Error {
    if (this.isOnlyOne) return endingError(ending, command, this.details);
    // The messages of these endings contain the command.
    const isOwn = ending.includes(": ") || ending === "lost too often";
    const kind = isOwn ? `${ending} ${command.name} ${command.losses}` : ending;
    return this.made.next(kind, () => endingError(ending, command, this.details));
  }
}

export function causeOf(error: Error | null | undefined): ErrorOptions | undefined {
  return error ? { cause: error } : undefined;
}

/** The cause of a "Connection is closed." error, if it has one; otherwise the error itself. */
export function unwrapped(error: Error): Error {
  return error instanceof ConnectionClosedError && error.cause instanceof Error ? error.cause : error;
}

/** The same error, for a command that was written to a connection that was lost before the reply. */
function mayHaveRun(error: Error): Error {
  const options = causeOf(error.cause as Error | undefined);
  if (error instanceof MaxRetriesPerRequestError)
    return withStackOf(error, () => new MaxRetriesOutcomeUnknownError(error.limit, options));
  if (error instanceof ConnectionClosedError)
    return withoutStack(() => new ClosedOutcomeUnknownError(options));
  // A refusal by the next connection says nothing about commands written to the last one.
  return copyError(error, { code: "OUTCOME_UNKNOWN" });
}

function unknownOutcome(command: Ended, why: string, { server = "", cause }: EndingDetails): Error {
  return new OutcomeUnknownError(
    `Outcome unknown: "${command.name}" was written to ${server} but the connection closed before its reply; it may have run, and ${why}`,
    causeOf(cause),
  );
}
