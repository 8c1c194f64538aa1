/**
 * Handles the commands of a link that get no reply: issued too late, waiting in vain, or left by a lost
 * connection. Each one fails, goes to the cluster, or waits for the next connection, by `command/fate.ts`:
 * exactly one of these.
 */

import type { Command } from "../command/command";
import { CommandFlag, LEGACY_SHAPE } from "../command/command-spec";
import { isRead } from "../command/command-table";
import { causeOf, EndingErrors } from "../command/ending-errors";
import {
  type ConnectionLost,
  type Ended,
  endsWithConnection,
  type Fate,
  fateOf,
  mayEndConnection,
} from "../command/fate";
import type { Left } from "../connection/command-queue";
import type { Connection } from "../connection/connection";
import {
  AbortError,
  ConnectionClosedError,
  ConnectTimeoutError,
  DeadConnectionError,
  ParserError,
} from "../errors";
import { HINT_ON_CLOSED, hintOnCertificate } from "../observability/hints";
import { attachCommand } from "../observability/redact";
import { addHint, hintOf, isCertain } from "../util/error-hint";
import { LINK_DEFAULTS } from "./link-defaults";
import { type LinkDeps, type LinkOptions, retryPolicyOf, serverOf, type Takeover } from "./link-options";
import type { OfflineQueue } from "./offline-queue";

export class LeftoverCommands {
  /** The last error of the current connection or attempt, which other errors name as their cause. */
  cause: Error | undefined;

  constructor(
    private readonly options: LinkOptions,
    private readonly waiting: OfflineQueue,
    private readonly deps: Pick<LinkDeps, "takeover" | "counts">,
  ) {}

  closedError(): ConnectionClosedError {
    const { cause } = this;
    return addHint(new ConnectionClosedError(causeOf(cause)), hintOf(cause) ?? HINT_ON_CLOSED);
  }

  /**
   * Ends commands that are too late for a closing link. They are ended together: taken over one by one, each
   * member of a transaction would send all of it again.
   */
  turnAway(commands: readonly Command[], makeError: () => Error = () => this.closedError()): void {
    const { takeover } = this.deps;
    const isClosed = takeover !== null && makeError() instanceof ConnectionClosedError;
    endCommands(commands, isClosed ? takeover : null, makeError, true);
  }

  /** Fails the waiting commands; the link continues. */
  failWaiting(makeError: () => Error): void {
    endCommands(this.waiting.takeAll(), null, makeError);
  }

  /**
   * Commands do not wait if the next attempt cannot succeed either, as with an HTTP port.
   * @param hasOthers Other servers may serve the commands, and have better certificates.
   */
  failMistaken(error: Error, hasOthers: boolean): void {
    const isBetterElsewhere = hasOthers && hintOnCertificate(error) !== null;
    if (isCertain(error) && !isBetterElsewhere) this.failWaiting(() => error);
  }

  /** The link has ended: waiting commands fail, unless they are taken over. */
  endWaiting(makeError: () => Error = () => this.closedError()): void {
    endCommands(this.waiting.takeAll(), this.deps.takeover, makeError);
  }

  /** The users' commands that a lost connection has left. */
  leftBy({ queue }: Connection): Left {
    return failRequests(queue.takeAll(), this.cause);
  }

  /** Keeps the commands to send again on the next connection, in order, and fails the others. */
  keep({ sent, unsent }: Left, { protocolError, readyAtMs }: Connection): void {
    const { options, cause, waiting, deps } = this;
    const wasReady = readyAtMs > 0;
    const maxLosses = options.maxLossesPerCommand ?? LINK_DEFAULTS.maxLossesPerCommand;
    const policy = { retryPolicy: retryPolicyOf(options), maxLosses };
    const [oldest] = sent;
    if (oldest !== undefined && wasReady && mayEndConnection(oldest)) oldest.losses++;
    const event = lossOf(protocolError !== null, isSilent(cause));
    const makeError = (): Error => protocolError ?? new ConnectionClosedError();
    const errors = new EndingErrors({ ...policy, makeError, cause, server: serverOf(options) });
    const again: Command[] = [];
    const applyFate = (command: Command, isSent: boolean): void => {
      // A read that was sent behind the handshake waits for the next connection as if never written.
      event.isWritten = isSent && (wasReady || !isRead(command));
      const fate = fateOf(command, event, policy);
      settle(command, fate, errors);
      if (fate.does !== "goes again on the next connection") return;
      if ((command.spec.flags & CommandFlag.Watch) !== 0) event.isBehindWatch = true;
      if (event.isWritten) command.mayHaveRun = true;
      again.push(command);
    };
    // Commands that wait already: issued after the socket error, or admitted as others failed.
    const takeLate = (): Command[] => (wasReady ? waiting.takeWaiting() : []);
    let rest = unsent.concat(takeLate());
    // A transaction that has lost a member is refused before its first member is handled.
    for (const all of [sent, rest])
      for (const command of all) if (command.isSettled) applyFate(command, true);
    for (const command of sent) applyFate(command, true);
    do {
      for (const command of rest) applyFate(command, false);
      rest = takeLate();
    } while (rest.length > 0);
    for (const { group } of again) if (group !== null) group.isStarted = false;
    deps.counts.resent += waiting.putBack(deps.takeover?.madeWhole(again) ?? again);
  }

  /** Ends the commands of a connection closed on purpose; returns those that will be taken over. */
  endLeftovers({ sent, unsent }: Left): Left {
    const { takeover } = this.deps;
    const errors = new EndingErrors({ makeError: () => this.closedError() });
    return {
      sent: end(sent, takeover, errors, endOf(true, false)),
      unsent: end(unsent, takeover, errors, endOf(false, false)),
    };
  }
}

export function isQuit({ spec }: Command): boolean {
  return (spec.flags & CommandFlag.Quit) !== 0;
}

/** Settles commands at the end of a connection or link, except those that go to the cluster, which are returned. */
function end(
  commands: readonly Command[],
  takeover: Takeover | null,
  errors: EndingErrors,
  event: Ended,
): Command[] {
  return commands.filter((command) => {
    event.isTakenOver = takeover?.takesOver(command) === true;
    const fate = fateOf(command, event);
    settle(command, fate, errors);
    return fate.does === "goes again elsewhere";
  });
}

/** Ends unwritten commands, except those that the cluster takes over, which it receives together. */
export function endCommands(
  commands: readonly Command[],
  takeover: Takeover | null,
  makeError: () => Error,
  isLate = false,
): void {
  const errors = new EndingErrors({ makeError }, commands.length === 1);
  const taken = end(commands, takeover, errors, endOf(false, isLate));
  if (taken.length > 0) takeover?.takeOver(taken, makeError());
}

/**
 * Fails the commands that belonged only to a closed connection (handshake, restored subscriptions); returns
 * those of users. For a request, a reply that violates the protocol counts as the answer.
 */
export function failRequests(left: Left, cause?: Error): Left {
  const event = lossOf(cause instanceof ParserError, false);
  const errors = new EndingErrors({ makeError: () => cause ?? new ConnectionClosedError() });
  const failIn = (commands: readonly Command[]): Command[] =>
    commands.filter((command) => {
      const isRequest = endsWithConnection(command);
      if (isRequest) settle(command, fateOf(command, event), errors);
      return !isRequest;
    });
  return { sent: failIn(left.sent), unsent: failIn(left.unsent) };
}

/** The server did not answer, so it may still run the commands that it has received. */
function isSilent(cause: Error | undefined): boolean {
  return (cause instanceof DeadConnectionError && !cause.isReachable) || cause instanceof ConnectTimeoutError;
}

function endOf(isWritten: boolean, isLate: boolean): Ended {
  return { kind: "link ended", isWritten, isTakenOver: false, isLate };
}

function lossOf(isGarbled: boolean, mayStillRun: boolean): ConnectionLost {
  return { kind: "connection lost", isWritten: true, isGarbled, mayStillRun, isBehindWatch: false };
}

/** Carries out a fate that ends the command; the caller handles all others. */
function settle(command: Command, { does, ending, endsBatch }: Fate, errors: EndingErrors): void {
  if (endsBatch) command.group?.refuse();
  if (does === "is answered OK")
    command.fulfil(command.wantsBuffers ? Buffer.from("OK") : "OK", LEGACY_SHAPE);
  if (ending === null || command.isSettled) return;
  const error = errors.next(ending, command);
  if (error instanceof AbortError) attachCommand(error, command.name, command.args);
  command.fail(error);
}
