/**
 * Decides the fate of a command: written, sent again here or elsewhere, dropped or failed. One pure function
 * holds the rules for every event. It reads the command and its batch, changes nothing and creates no error.
 * `connection/flush-encoder`, `link/session`, `link/replies`, `link/leftovers` and `cluster/redirector`
 * call it and carry out the result. docs/architecture.md lists the results in a table that a test compares with
 * this file.
 */

import { type Batch, BatchKind } from "./batch";
import { type Command, Origin } from "./command";
import type { RetryPolicy } from "./command-extra";
import { CommandFlag, TRANSACTION_END } from "./command-spec";
import { flagsFor } from "./command-table";

/** The error of a command that fails. `ending-errors.ts` creates those of commands without a reply. */
export type Ending =
  /** The error of the event: its reply, or the error that ended its connection, link or node. */
  | "its error"
  /** The error of the event, which states that the command may have run. */
  | "its error, may have run"
  | "closed"
  | "may have run"
  | "may have run: the policy forbids another try"
  | "may have run: it ends the server"
  | "may have run: the server may still run it"
  | "lost too often"
  | "its batch is broken"
  | "its transaction is discarded"
  | "its WATCH is lost"
  | "its WATCH was ended by another user";

export interface Fate {
  readonly does:
    | "goes on"
    /** DISCARD is written in place of EXEC, so that the connection does not stay in MULTI. */
    | "is closed by DISCARD"
    /** Already settled: no further action. */
    | "is dropped"
    | "goes again on this connection"
    | "goes again on the next connection"
    /** The cluster sends it to the current owner of its slot. */
    | "goes again elsewhere"
    | "is answered OK"
    | "fails";
  /** The reason of the failure; null for all other fates. */
  readonly ending: Ending | null;
  /** From now on no command of its pipeline or transaction is sent. */
  readonly endsBatch: boolean;
}

/** The command is issued after a loss has broken the session. */
interface Issued {
  readonly kind: "issued";
  /** A part of a transaction opened by hand was lost. */
  readonly isMultiLost: boolean;
  readonly isWatchLost: boolean;
  /** Another user of the connection has ended the WATCH of this one. */
  readonly isWatchEnded: boolean;
}

interface ErrorReply {
  readonly kind: "error reply";
  readonly message: string;
  /** The connection is being closed because of `reconnectOnError`, or because the server cannot serve. */
  readonly isServerLeft: boolean;
}

/** Its connection was lost, and another one follows. */
export interface ConnectionLost {
  readonly kind: "connection lost";
  isWritten: boolean;
  /** The received bytes were not valid replies. */
  readonly isGarbled: boolean;
  /** The server may still run written commands, because only the network failed. */
  readonly mayStillRun: boolean;
  /** The WATCH before it is sent again. */
  isBehindWatch: boolean;
}

/** Its connection was closed on purpose, its link or node has ended, or it may not wait any longer. */
export interface Ended {
  readonly kind: "link ended";
  isWritten: boolean;
  /** A cluster sends it to another node. */
  isTakenOver: boolean;
  /** It was issued after the end. */
  readonly isLate: boolean;
}

/** `writing`: it is next to be written. */
export type FateEvent = Issued | { readonly kind: "writing" } | ErrorReply | ConnectionLost | Ended;

export interface ResendPolicy {
  readonly retryPolicy: RetryPolicy;
  /** A command fails after this many losses as the oldest unanswered one, because it may have caused them. */
  readonly maxLosses: number;
}

export const DEFAULT_RESEND_POLICY: ResendPolicy = { retryPolicy: "at-least-once", maxLosses: 3 };

/** Commands that are written although their callers have given up, because later commands depend on them. */
export const STAYING = CommandFlag.Select | CommandFlag.Watch | CommandFlag.Unwatch | CommandFlag.Reset;

/** Whether a command that settled before it was written is skipped, because no other one depends on it. */
export function isForgettable({ group, spec }: Pick<Command, "group" | "spec">): boolean {
  return group?.kind !== BatchKind.Transaction && (spec.flags & STAYING) === 0;
}

/** Issuers whose commands end with their connection. */
const ENDS_WITH_CONNECTION: ReadonlySet<Origin> = new Set([
  Origin.Connection,
  Origin.Restore,
  Origin.Client,
  Origin.Copy,
  Origin.Question,
]);

const GOES_ON = fate("goes on");
const DISCARDS = fate("is closed by DISCARD", "its transaction is discarded", true);
const DROPPED = fate("is dropped");
const DROPPED_WITH_BATCH = fate("is dropped", null, true);
const AGAIN_HERE = fate("goes again on this connection");
const AGAIN = fate("goes again on the next connection");
const ELSEWHERE = fate("goes again elsewhere");
const OK = fate("is answered OK");
const FAILS = fate("fails", "its error");
const FAILS_WITH_BATCH = fate("fails", "its error", true);
const FAILS_IN_DOUBT = fate("fails", "its error, may have run");
const CLOSED = fate("fails", "closed");
const UNKNOWN = fate("fails", "may have run", true);
const FORBIDDEN = fate("fails", "may have run: the policy forbids another try", true);
const LAST_COMMAND = fate("fails", "may have run: it ends the server", true);
const STILL_RUNNING = fate("fails", "may have run: the server may still run it", true);
const LOST_TOO_OFTEN = fate("fails", "lost too often", true);
const BROKEN_BATCH = fate("fails", "its batch is broken", true);
const DISCARDED = fate("fails", "its transaction is discarded", true);
const WATCH_LOST = fate("fails", "its WATCH is lost", true);
const WATCH_ENDED = fate("fails", "its WATCH was ended by another user");

function fate(does: Fate["does"], ending: Ending | null = null, endsBatch = false): Fate {
  return { does, ending, endsBatch };
}

export function fateOf(command: Command, event: FateEvent, policy = DEFAULT_RESEND_POLICY): Fate {
  switch (event.kind) {
    case "issued":
      return whenIssued(command, event);
    case "writing":
      return whenWriting(command);
    case "error reply":
      return afterErrorReply(command, event);
    case "connection lost":
      return afterLoss(command, event, policy);
    case "link ended":
      return afterEnd(command, event);
  }
}

/** It serves only one connection: its handshake, its requests, its subscriptions. */
export function endsWithConnection({ origin }: Command): boolean {
  return origin !== Origin.User && ENDS_WITH_CONNECTION.has(origin);
}

/** Whether the oldest unanswered command may have ended its connection. A blocking one only waits for data. */
export function mayEndConnection({ spec, args }: Command): boolean {
  return (flagsFor(spec, args) & CommandFlag.Blocking) === 0;
}

function whenIssued(command: Command, event: Issued): Fate {
  const { flags } = command.spec;
  if (event.isMultiLost && (flags & CommandFlag.Multi) === 0) return BROKEN_BATCH;
  if (!isTransaction(command.batch) && (flags & CommandFlag.Exec) === 0) return GOES_ON;
  if (event.isWatchLost) return WATCH_LOST;
  return event.isWatchEnded ? WATCH_ENDED : GOES_ON;
}

/** A transaction is written completely, closed with DISCARD if it has begun, or not written at all. */
function whenWriting({ group, isSettled, spec }: Command): Fate {
  if (!isTransaction(group)) return isSettled && (spec.flags & STAYING) === 0 ? DROPPED : GOES_ON;
  if (!isSettled && !group.isRefused) return GOES_ON;
  if (group.isStarted && (spec.flags & TRANSACTION_END) !== 0) return DISCARDS;
  return isSettled ? DROPPED_WITH_BATCH : DISCARDED;
}

function afterErrorReply({ isSettled, group, spec, extra }: Command, event: ErrorReply): Fate {
  if (isSettled) return DROPPED;
  // If the script was sent by its text, its own code raised this NOSCRIPT.
  const isForgotten = event.message.startsWith("NOSCRIPT") && spec === extra?.script?.bySha;
  if (isForgotten) return AGAIN_HERE;
  if (!event.isServerLeft) return FAILS;
  // A member sent again alone would run outside its transaction, and a lone EXEC would fail.
  return isTransaction(group) ? FAILS_WITH_BATCH : AGAIN;
}

function afterLoss(command: Command, event: ConnectionLost, policy: ResendPolicy): Fate {
  const { isWritten } = event;
  const { group, origin } = command;
  if (command.isSettled) return isTransaction(group) ? DROPPED_WITH_BATCH : DROPPED;
  if (endsWithConnection(command)) return event.isGarbled && origin === Origin.Question ? FAILS : CLOSED;
  if (isWritten && event.isGarbled) return FAILS_WITH_BATCH;
  const mayHaveRun = isWritten || command.mayHaveRun;
  if (group !== null && group.kind !== BatchKind.Automatic) {
    if (group.isGuarded && !event.isBehindWatch) return mayHaveRun ? UNKNOWN : WATCH_LOST;
    if (group.isAnswered || group.isRefused) return mayHaveRun ? UNKNOWN : BROKEN_BATCH;
  }
  if (!isWritten) return AGAIN;
  if (command.losses >= policy.maxLosses) return LOST_TOO_OFTEN;
  // Sent again, it would shut the server down once more.
  if ((command.spec.flags & CommandFlag.WillDisconnect) !== 0) return LAST_COMMAND;
  return allows(command, event, policy);
}

function allows(command: Command, { mayStillRun }: ConnectionLost, { retryPolicy }: ResendPolicy): Fate {
  const isCareful = mayStillRun && retryPolicy === "at-least-once";
  const own = command.extra?.retryPolicy ?? null;
  const policy = own ?? (isCareful ? "reads-only" : retryPolicy);
  if (policy === "at-least-once") return AGAIN;
  const isRead = (command.spec.flags & CommandFlag.Readonly) !== 0 && !isTransaction(command.group);
  if (policy === "reads-only" && isRead) return AGAIN;
  return isCareful && own === null ? STILL_RUNNING : FORBIDDEN;
}

function afterEnd(command: Command, event: Ended): Fate {
  if (event.isTakenOver) return ELSEWHERE;
  // QUIT has reached its goal if the connection is gone.
  if (!event.isLate && (command.spec.flags & CommandFlag.Quit) !== 0) return OK;
  return event.isWritten || command.mayHaveRun ? FAILS_IN_DOUBT : FAILS;
}

export function isTransaction(batch: Batch | null): batch is Batch {
  return batch !== null && batch.kind === BatchKind.Transaction;
}
