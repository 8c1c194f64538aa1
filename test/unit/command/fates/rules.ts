/**
 * The rules of `src/command/fate.ts` as rows of a table: one example for each answer. docs/architecture.md shows them.
 */

import { Batch, BatchKind } from "../../../../src/command/batch";
import { Command, IGNORED, Origin } from "../../../../src/command/command";
import { specOf } from "../../../../src/command/command-table";
import { endingError } from "../../../../src/command/ending-errors";
import { DEFAULT_RESEND_POLICY, type FateEvent, fateOf } from "../../../../src/command/fate";
import { ConnectionClosedError } from "../../../../src/errors";

type Prepare = (command: Command, batch: Batch) => void;

interface Rule {
  readonly event: string;
  readonly command: string;
  readonly fate: string;
}

/** The page writes these outcomes in other words than the code. */
const SHOWN: Readonly<Record<string, string>> = {
  "goes on": "continues",
  "goes again on this connection": "is sent again on this connection",
  "goes again on the next connection": "is sent again on the next connection",
  "goes again elsewhere": "is sent again on another server",
  "is answered OK": "resolves with OK",
};

const made: Command[] = [];

/** Settles the commands of all rules. */
export function endExamples(): void {
  for (const command of made.splice(0)) command.fail(new Error("the test is over"));
}

/** The fate of an example. The code names an error. */
function outcomeOf(
  word: string,
  event: FateEvent,
  policy = DEFAULT_RESEND_POLICY,
  prepare?: Prepare,
): string {
  const command = new Command(specOf(word), ["key"], false, IGNORED);
  made.push(command);
  const batch = new Batch(BatchKind.Transaction, 0, null);
  prepare?.(command, batch);
  const { does, ending } = fateOf(command, event, policy);
  if (ending === null) return SHOWN[does] ?? does;
  const isReply = event.kind === "error reply" || (event.kind === "connection lost" && event.isGarbled);
  if (isReply && ending === "its error") return "fails with that error";
  const makeError = (): Error => new ConnectionClosedError();
  const { code } = endingError(ending, command, { makeError }) as { code?: string };
  return `${does}: \`${code}\``;
}

const member: Prepare = (command, batch) => batch.add(command);
const givenUp: Prepare = (command) => command.fail(new Error("given up"));
const refused: Prepare = (command, batch) => {
  batch.add(command);
  batch.isRefused = true;
};
const begun: Prepare = (command, batch) => {
  refused(command, batch);
  batch.isStarted = true;
};
const answered: Prepare = (command, batch) => {
  batch.add(command);
  batch.isAnswered = true;
};
const guarded: Prepare = (command, batch) => {
  batch.add(command);
  batch.isGuarded = true;
};

const issued = { kind: "issued", isMultiLost: false, isWatchLost: false, isWatchEnded: false } as const;
const writing = { kind: "writing" } as const;
const replied = { kind: "error reply", message: "WRONGTYPE no", isServerLeft: false } as const;
const lost = {
  kind: "connection lost",
  isWritten: true,
  isGarbled: false,
  mayStillRun: false,
  isBehindWatch: false,
} as const;
const unwritten = { ...lost, isWritten: false } as const;
const ended = { kind: "link ended", isWritten: false, isTakenOver: false, isLate: false } as const;
const atMostOnce = { ...DEFAULT_RESEND_POLICY, retryPolicy: "at-most-once" } as const;
const readsOnly = { ...DEFAULT_RESEND_POLICY, retryPolicy: "reads-only" } as const;

/** All rules, in the order in which `fateOf` asks them. */
export function* rules(): Generator<Rule> {
  const row = (event: string, command: string, fate: string): Rule => ({ event, command, fate });
  const script: Prepare = (command) => {
    const reference = { sha: "abc", lua: "return 1", byText: specOf("eval"), isReadOnly: false };
    command.ensureExtra().script = { ...reference, bySha: command.spec };
  };
  const often: Prepare = (command) => {
    for (let loss = 0; loss < DEFAULT_RESEND_POLICY.maxLosses; loss++) command.losses++;
  };
  const own: Prepare = (command) => {
    command.origin = Origin.Connection;
  };

  const multiLost = { ...issued, isMultiLost: true };
  yield row("issued", "a part of its MULTI, opened by hand, was lost", outcomeOf("get", multiLost));
  yield row("", "EXEC after a lost WATCH", outcomeOf("exec", { ...issued, isWatchLost: true }));
  const watchEnded = { ...issued, isWatchEnded: true };
  yield row("", "EXEC after another user ended the WATCH", outcomeOf("exec", watchEnded));
  yield row("", "all others", outcomeOf("get", issued));

  const isGivenUp = "given up";
  const staying = outcomeOf("select", writing, undefined, givenUp);
  yield row("about to be written", `SELECT, WATCH, UNWATCH or RESET, ${isGivenUp}`, staying);
  yield row("", isGivenUp, outcomeOf("get", writing, undefined, givenUp));
  const notBegun = outcomeOf("set", writing, undefined, refused);
  yield row("", "a command of its transaction was given up, nothing is written", notBegun);
  yield row("", "EXEC of such a transaction that has begun", outcomeOf("exec", writing, undefined, begun));
  yield row("", "all others", outcomeOf("get", writing));

  yield row("error reply", isGivenUp, outcomeOf("get", replied, undefined, givenUp));
  const noScript = { ...replied, message: "NOSCRIPT no" };
  yield row("", "NOSCRIPT for a script sent by its hash", outcomeOf("evalsha", noScript, undefined, script));
  const left = { ...replied, isServerLeft: true };
  const isLeft = "`reconnectOnError` returned 2, or the server cannot serve";
  yield row("", `in a transaction, ${isLeft}`, outcomeOf("set", left, undefined, member));
  yield row("", isLeft, outcomeOf("set", left));
  yield row("", "all others", outcomeOf("get", replied));

  yield row("connection lost", isGivenUp, outcomeOf("set", lost, undefined, givenUp));
  yield row(
    "",
    "of the connection itself (handshake, probes, subscriptions)",
    outcomeOf("auth", lost, undefined, own),
  );
  yield row("", "written, the replies were not RESP", outcomeOf("get", { ...lost, isGarbled: true }));
  yield row("", "written, its WATCH is lost", outcomeOf("exec", lost, undefined, guarded));
  yield row("", "not written, its WATCH is lost", outcomeOf("exec", unwritten, undefined, guarded));
  const partly = "its pipeline or transaction is answered in part";
  yield row("", `written, ${partly}`, outcomeOf("set", lost, undefined, answered));
  yield row("", `not written, ${partly}`, outcomeOf("set", unwritten, undefined, answered));
  yield row("", "not written", outcomeOf("set", unwritten));
  const oldest = "the oldest unanswered command in `maxLossesPerCommand` losses";
  yield row("", oldest, outcomeOf("set", lost, undefined, often));
  yield row("", "QUIT or SHUTDOWN", outcomeOf("shutdown", lost));
  const mayStillRun = outcomeOf("set", { ...lost, mayStillRun: true });
  yield row("", "a write under `at-least-once` that the server may still run", mayStillRun);
  yield row("", "`at-least-once` (default)", outcomeOf("set", lost));
  yield row("", "`reads-only`, a read outside of a transaction", outcomeOf("get", lost, readsOnly));
  yield row("", "`reads-only`, all others", outcomeOf("set", lost, readsOnly));
  yield row("", "`at-most-once`", outcomeOf("get", lost, atMostOnce));

  const isTakenOver = outcomeOf("set", { ...ended, isTakenOver: true });
  yield row(
    "client, link or node ended, or its wait limit is reached",
    "a cluster takes it over",
    isTakenOver,
  );
  yield row("", "QUIT", outcomeOf("quit", ended));
  yield row("", "written, now or before", outcomeOf("set", { ...ended, isWritten: true }));
  yield row("", "never written, and its connection or client was closed", outcomeOf("set", ended));
}
