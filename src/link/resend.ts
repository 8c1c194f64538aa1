/**
 * Decides about the commands that a lost connection left unanswered. Unsent ones always go
 * again. Of those that were written, single ones go again as the policy allows; an explicit
 * batch goes again only as a whole and only while no reply of it has arrived. A command that
 * was the oldest unanswered one in several losses is given up: it may be what kills the
 * connection, and those behind it must not wait for it for ever. A transaction that was issued
 * under a WATCH goes again only behind that WATCH.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import { commandsOf } from "../connection/command-queue";
import { AbortError, CommandLossError, OutcomeUnknownError, WatchLostError } from "../errors";
import { OneCause } from "../util/copy-error";
import { causeOf, failNamed, type Leftovers } from "./closing";

export interface ResendRules {
  readonly policy: RetryPolicy;
  /** Losses as the oldest unanswered command after which it is given up. */
  readonly maxLosses: number;
  /** Why the connection closed, for the cause chain. */
  readonly cause: Error | undefined;
  /** The bytes that arrived were no valid stream of replies: written commands fail with this. */
  readonly protocolError: Error | null;
  /** Time for which the connection was ready. */
  readonly livedMs: number;
  /** The server may still be at work on what was written: only reads go again without the caller's word. */
  readonly mayStillRun: boolean;
  /** Address of the server, for messages. */
  readonly server: string;
  /** Takes out the commands that wait offline already, issued since the error of the socket or admitted as others fail. */
  takeLate(): Command[];
}

/** A blocking command is the oldest one for a long time without any guilt; it kills quickly or not at all. */
const GUILTY_WITHIN_MS = 1000;

const BROKEN_BATCH = "its batch cannot go again as a whole";

/** Fails what may not go again and returns the rest in order. */
export function sortLeftovers(left: Leftovers, rules: ResendRules): readonly Command[] {
  const { sent, unsent: notSent } = commandsOf(left);
  const oldest = sent.find((command) => command.state !== CommandState.Dropped);
  if (oldest !== undefined && (rules.livedMs < GUILTY_WITHIN_MS || !isBlocking(oldest)))
    oldest.noteLossAsOldest();
  const sorter = new Sorter(rules);
  for (const command of sent) refuseIfBroken(command);
  let unsent = notSent.concat(rules.takeLate());
  unsent.forEach(refuseIfBroken);
  let again = only(sent, (command) => sorter.goesAgain(command, true));
  do {
    const more = only(unsent, (command) => sorter.goesAgain(command, false));
    if (more.length > 0) again = again.concat(more);
    unsent = rules.takeLate();
  } while (unsent.length > 0);
  for (const { group } of again) if (group !== null) group.isStarted = false;
  return again;
}

/** As `filter`; the very array if all of it is wanted, since a lost connection may leave very many commands. */
function only(commands: readonly Command[], isWanted: (command: Command) => boolean): readonly Command[] {
  const unwanted = commands.findIndex((command) => !isWanted(command));
  if (unwanted < 0) return commands;
  return commands.slice(0, unwanted).concat(commands.slice(unwanted + 1).filter(isWanted));
}

function isBlocking({ spec, args }: Command): boolean {
  return (flagsFor(spec, args) & CommandFlag.Blocking) !== 0;
}

/** Of a transaction that has lost a member (time limit, abort signal) nothing goes again. */
function refuseIfBroken({ isSettled, group }: Command): void {
  if (isSettled && group !== null && group.kind === BatchKind.Transaction) group.isRefused = true;
}

class Sorter {
  private isWatchBefore = false;
  /** Why a command may not go again -> the errors of all that end so, by their names. */
  private readonly refusals = new Map<string, OneCause>();

  constructor(private readonly rules: ResendRules) {}

  /** Fails the command unless it goes again. To be asked once for each command, in order. */
  goesAgain(command: Command, wasSent: boolean): boolean {
    if (command.isSettled) return false;
    const error = this.refusal(command, wasSent);
    if (error !== null) {
      failNamed(command, error);
      return false;
    }
    if ((command.spec.flags & CommandFlag.Watch) !== 0) this.isWatchBefore = true;
    if (wasSent) command.noteLossAfterWriting();
    return true;
  }

  /** The error that ends the command, or null when it goes again. */
  private refusal(command: Command, wasSent: boolean): Error | null {
    const { group } = command;
    const isExplicit = group !== null && group.kind !== BatchKind.Automatic;
    if (wasSent && this.rules.protocolError !== null) return this.refuse(command, this.rules.protocolError);
    const mayHaveRun = wasSent || command.mayHaveRun;
    if (isExplicit && group.isGuarded && !this.isWatchBefore) {
      return this.refuse(
        command,
        mayHaveRun
          ? this.outcomeUnknown()
          : this.errorsOf(BROKEN_BATCH).next("watch", () => new WatchLostError()),
      );
    }
    if (isExplicit && (group.isAnswered || group.isRefused)) {
      return mayHaveRun
        ? this.outcomeUnknown()
        : this.errorsOf(BROKEN_BATCH).next("aborted", () => new AbortError(undefined, this.cause));
    }
    return wasSent ? this.refusalOfSent(command) : null;
  }

  private refusalOfSent(command: Command): Error | null {
    const { maxLosses, server, mayStillRun } = this.rules;
    if (command.losses >= maxLosses) {
      return this.refuse(command, new CommandLossError(command.name, command.losses, this.cause));
    }
    const general = mayStillRun && this.rules.policy === "at-least-once" ? "reads-only" : this.rules.policy;
    const policy = command.extra?.retryPolicy ?? general;
    // Sent again, it would end the server once more.
    const isLast = (command.spec.flags & CommandFlag.WillDisconnect) !== 0;
    if (policy === "at-least-once" && !isLast) return null;
    const isRead = (command.spec.flags & CommandFlag.Readonly) !== 0;
    if (policy === "reads-only" && isRead && command.group?.kind !== BatchKind.Transaction) return null;
    const why = isLast
      ? "it is never sent again"
      : policy === this.rules.policy
        ? `the retry policy "${policy}" forbids sending it again`
        : "may still be running, so it is not sent again";
    const { name } = command;
    const makeError = (): Error =>
      new OutcomeUnknownError(
        `Outcome unknown: "${name}" was written to ${server} but the connection closed before its reply; it may have run, and ${why}`,
        this.cause,
      );
    return this.refuse(command, this.errorsOf(why).next(name, makeError));
  }

  private errorsOf(why: string): OneCause {
    let errors = this.refusals.get(why);
    if (errors === undefined) {
      errors = new OneCause();
      this.refusals.set(why, errors);
    }
    return errors;
  }

  private outcomeUnknown(): Error {
    return this.errorsOf(BROKEN_BATCH).next("unknown", () => new OutcomeUnknownError(undefined, this.cause));
  }

  /** With one command of an explicit batch, all that follow are refused. */
  private refuse(command: Command, error: Error): Error {
    const { group } = command;
    if (group !== null && group.kind !== BatchKind.Automatic) group.isRefused = true;
    return error;
  }

  private get cause(): ErrorOptions | undefined {
    return causeOf(this.rules.cause);
  }
}
