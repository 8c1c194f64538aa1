/**
 * The commands of a link that get no reply: those that come too late, those that wait in vain, and those that a
 * lost connection has left. Each is failed, handed to the cluster, or kept for the next connection, never two of these.
 */

import type { Command } from "../command/command";
import { CallsInFlight } from "../connection/calls-in-flight";
import { commandsOf } from "../connection/command-queue";
import type { Connection } from "../connection/connection";
import { ClosedOutcomeUnknownError, ConnectionClosedError, DeadConnectionError } from "../errors";
import { withOneStack } from "../util/copy-error";
import {
  causeOf,
  failNamed,
  type Leftovers,
  only,
  settleClosed,
  settleWaiting,
  withoutRequests,
} from "./closing";
import { type LinkDeps, type LinkOptions, retryPolicyOf, serverOf } from "./link-options";
import type { OfflineQueue } from "./offline-queue";
import { sortLeftovers } from "./resend";

export class UnservedCommands {
  /** The last error of the present connection or attempt: the reason that is told with what ends. */
  cause: Error | undefined;

  constructor(
    private readonly options: LinkOptions,
    private readonly waiting: OfflineQueue,
    private readonly deps: Pick<LinkDeps, "takeover" | "counts">,
  ) {}

  closedError(): ConnectionClosedError {
    return new ConnectionClosedError(causeOf(this.cause));
  }

  /**
   * Fails commands that come too late for a closing link, unless they are taken over. All at once:
   * taken over one by one, each member of a transaction would send all of it again.
   */
  turnAway(commands: readonly Command[], makeError: () => Error = () => this.closedError()): void {
    const { takeover } = this.deps;
    const taken: Command[] = [];
    const nextError = commands.length > 1 ? withOneStack(makeError) : makeError;
    for (const command of commands) {
      const error = nextError();
      if (error instanceof ConnectionClosedError && takeover?.takesOver(command)) taken.push(command);
      else failNamed(command, error);
    }
    if (taken.length > 0) takeover?.takeOver(taken, makeError());
  }

  /** Fails what waits; the link goes on. */
  failWaiting(makeError: () => Error): void {
    settleWaiting(this.waiting.takeAll(), null, makeError);
  }

  /** The link has ended: what waits fails, unless it is taken over. */
  endWaiting(makeError: () => Error = () => this.closedError()): void {
    settleWaiting(this.waiting.takeAll(), this.deps.takeover, makeError);
  }

  /** What a lost connection has left of the users' commands. */
  leftBy({ queue }: Connection): Leftovers {
    return withoutRequests(queue.takeAll(), this.cause);
  }

  /** Keeps what goes again on the next connection, and fails the rest. */
  keep(left: Leftovers, { protocolError, readyAtMs, livedMs }: Connection): void {
    const { options, cause } = this;
    const again = sortLeftovers(left, {
      policy: retryPolicyOf(options),
      maxLosses: options.maxLossesPerCommand ?? 3,
      cause,
      protocolError,
      livedMs,
      mayStillRun: cause instanceof DeadConnectionError && !cause.isReachable,
      server: serverOf(options),
      takeLate: () => (readyAtMs > 0 ? this.waiting.takeWaiting() : []),
    });
    this.deps.counts.resent += this.waiting.putBack(this.deps.takeover?.madeWhole(again) ?? again);
  }

  /**
   * Settles what a connection that was closed on purpose left behind; returns what will be taken over. Where nothing is,
   * calls fail without becoming commands, since there may be very many.
   */
  endLeftovers(left: Leftovers): Leftovers {
    const { takeover } = this.deps;
    if (takeover === null) {
      this.settle(left);
      return { sent: [], unsent: [] };
    }
    const isKept = (command: Command): boolean => takeover.takesOver(command);
    const commands = commandsOf(left);
    this.settle(only(commands, (command) => !isKept(command)));
    return only(commands, isKept);
  }

  private settle({ sent, unsent }: Leftovers): void {
    const options = causeOf(this.cause);
    const inDoubtError = withOneStack(() => new ClosedOutcomeUnknownError(options));
    const closedError = withOneStack(() => new ConnectionClosedError(options));
    const makeError = (mayHaveRun: boolean): Error => (mayHaveRun ? inDoubtError() : closedError());
    for (const entry of sent) {
      if (entry instanceof CallsInFlight) entry.fail(makeError);
      else settleClosed(entry, inDoubtError());
    }
    for (const entry of unsent) {
      if (entry instanceof CallsInFlight) entry.fail(makeError);
      else settleClosed(entry, makeError(entry.mayHaveRun));
    }
  }
}
