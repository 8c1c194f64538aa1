/**
 * What becomes of the commands that a lost connection left unanswered. Unsent ones always go
 * again. Of those that were written, single ones go again as the policy allows; an explicit
 * batch goes again only as a whole and only while no reply of it has arrived. A command that
 * was the oldest unanswered one in several losses is given up: it may be what kills the
 * connection, and those behind it must not wait for it for ever.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { AbortError, CommandLossError, OutcomeUnknownError } from "../errors";

export interface Leftovers {
  readonly sent: readonly Command[];
  readonly unsent: readonly Command[];
}

export interface ResendRules {
  readonly policy: RetryPolicy;
  /** Losses as the oldest unanswered command after which it is given up. */
  readonly maxLosses: number;
  /** Why the connection closed, for the cause chain. */
  readonly cause: Error | undefined;
  /** Address of the server, for messages. */
  readonly server: string;
}

/** Fails what may not go again and returns the rest in order. */
export function sortLeftovers(left: Leftovers, rules: ResendRules): Command[] {
  const again: Command[] = [];
  const oldest = left.sent.find((command) => command.state !== CommandState.Dropped);
  if (oldest !== undefined) oldest.losses++;
  for (const command of left.sent) {
    if (command.isSettled) continue;
    const error = refusal(command, true, rules);
    if (error === null) again.push(command);
    else command.fail(error);
  }
  for (const command of left.unsent) {
    if (command.isSettled) continue;
    const error = refusal(command, false, rules);
    if (error === null) again.push(command);
    else command.fail(error);
  }
  for (const command of again) if (command.batch !== null) command.batch.isStarted = false;
  return again;
}

/** The error that ends the command, or null when it goes again. */
function refusal(command: Command, wasSent: boolean, rules: ResendRules): Error | null {
  const { batch } = command;
  const cause = rules.cause === undefined ? undefined : { cause: rules.cause };
  const isExplicit = batch !== null && batch.kind !== BatchKind.Automatic;
  if (isExplicit && batch.isAnswered) {
    return wasSent ? new OutcomeUnknownError(undefined, cause) : new AbortError(undefined, cause);
  }
  if (isExplicit && batch.isRefused) return new AbortError(undefined, cause);
  if (!wasSent) return null;
  if (command.losses >= rules.maxLosses) {
    if (isExplicit) batch.isRefused = true;
    return new CommandLossError(command.name, command.losses, cause);
  }
  const policy = command.extra?.retryPolicy ?? rules.policy;
  if (policy === "at-least-once") return null;
  if (policy === "reads-only" && (command.spec.flags & CommandFlag.Readonly) !== 0 && !isExplicit) {
    return null;
  }
  if (isExplicit) batch.isRefused = true;
  return new OutcomeUnknownError(
    `Outcome unknown: "${command.name}" was written to ${rules.server} but the connection closed before its reply; it may have run, and the retry policy "${policy}" forbids sending it again`,
    cause,
  );
}
