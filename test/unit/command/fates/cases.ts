/**
 * Every combination of command, event and policy that decides how a command ends or where it goes again, and the outcome
 * that the client gives it. The events are played on the modules that meet them, so that the table
 * (`fates.tsv`) also proves that these modules obey the one rule in `src/command/fate.ts`.
 */

import { ROUTING_DEFAULTS } from "../../../../src/cluster/cluster-defaults";
import { ClusterNode } from "../../../../src/cluster/cluster-node";
import { Redirector, type RedirectorDeps } from "../../../../src/cluster/redirector";
import type { Returned } from "../../../../src/cluster/retry-queue";
import { Batch, BatchKind } from "../../../../src/command/batch";
import { Command, CommandState, Origin } from "../../../../src/command/command";
import type { RetryPolicy } from "../../../../src/command/command-extra";
import { specOf } from "../../../../src/command/command-table";
import { ConnectionCounts } from "../../../../src/connection/connection-counts";
import { ConnectionState } from "../../../../src/connection/connection-state";
import { beginWriting } from "../../../../src/connection/flush-encoder";
import {
  ConnectionClosedError,
  MaxRetriesPerRequestError,
  ParserError,
  ReplyError,
} from "../../../../src/errors";
import { endCommands, failRequests, LeftoverCommands } from "../../../../src/link/leftovers";
import type { Takeover } from "../../../../src/link/link-options";
import { OfflineQueue } from "../../../../src/link/offline-queue";
import { LinkReplies } from "../../../../src/link/replies";
import { Session } from "../../../../src/link/session";
import { keptAfterLoss, type LossRules } from "../../../support/lost-commands";

export interface FateCase {
  readonly event: string;
  /** The facts about the command, and what surrounds the event. */
  readonly facts: string;
  readonly outcome: string;
}

type GroupState = "fresh" | "answered" | "refused" | "guarded" | "begun";

const KINDS = {
  single: null,
  automatic: BatchKind.Automatic,
  pipeline: BatchKind.Pipeline,
  transaction: BatchKind.Transaction,
} as const;
type Kind = keyof typeof KINDS;

const POLICIES: readonly RetryPolicy[] = ["at-least-once", "reads-only", "at-most-once"];

const made: Command[] = [];

/** Settles the commands that the cases have left open. */
export function endAll(): void {
  for (const command of made.splice(0)) command.fail(new Error("the test is over"));
}

interface Played {
  readonly command: Command;
  /** How the command settled, or null while it is open. */
  readonly ending: () => string | null;
}

function play(word: string, kind: Kind = "single", state: GroupState = "fresh"): Played {
  let ending: string | null = null;
  const command = new Command(specOf(word), ["key"], false, {
    fulfil: (_command, value) => void (ending = `answers ${String(value)}`),
    reject: (_command, error) => {
      ending = `fails ${(error as { code?: string }).code ?? error.name}`;
    },
  });
  made.push(command);
  const of = KINDS[kind];
  if (of !== null) {
    const batch = new Batch(of, 0, null);
    batch.add(command);
    batch.isAnswered = state === "answered";
    batch.isRefused = state === "refused";
    batch.isGuarded = state === "guarded";
    batch.isStarted = state === "begun";
  }
  return { command, ending: () => ending };
}

function statesOf(kind: Kind): readonly GroupState[] {
  return kind === "pipeline" || kind === "transaction"
    ? ["fresh", "answered", "refused", "guarded"]
    : ["fresh"];
}

function* kindsAndStates(): Generator<readonly [Kind, GroupState]> {
  for (const kind of Object.keys(KINDS) as Kind[]) for (const state of statesOf(kind)) yield [kind, state];
}

// --- a connection was lost, and another one follows --------------------------------------------

interface Loss {
  readonly policy: RetryPolicy;
  readonly own: RetryPolicy | null;
  readonly mayStillRun: boolean;
  readonly isGarbled: boolean;
  readonly losses: number;
}

const PLAIN_LOSS: Loss = {
  policy: "at-least-once",
  own: null,
  mayStillRun: false,
  isGarbled: false,
  losses: 0,
};

function* losses(): Generator<Loss> {
  for (const policy of POLICIES)
    for (const own of [null, ...POLICIES])
      for (const mayStillRun of [false, true]) yield { ...PLAIN_LOSS, policy, own, mayStillRun };
  yield { ...PLAIN_LOSS, isGarbled: true };
  yield { ...PLAIN_LOSS, losses: 2 };
}

function* lostWritten(): Generator<FateCase> {
  for (const word of ["get", "set", "blpop", "shutdown"])
    for (const [kind, state] of kindsAndStates())
      for (const loss of losses()) {
        const { command, ending } = play(word, kind, state);
        command.state = CommandState.Sent;
        if (loss.own !== null) command.ensureExtra().retryPolicy = loss.own;
        for (let n = 0; n < loss.losses; n++) command.losses++;
        const again = keptAfterLoss({ sent: [command], unsent: [] }, rulesOf(loss));
        yield {
          event: "lost, written",
          facts: factsOf({ word, kind, state, ...loss }),
          outcome: ending() ?? (again.includes(command) ? "again on the next connection" : "nothing"),
        };
      }
}

function* lostUnwritten(): Generator<FateCase> {
  for (const word of ["get", "set"])
    for (const [kind, state] of kindsAndStates())
      for (const mayHaveRun of [false, true])
        for (const isGarbled of [false, true]) {
          const { command, ending } = play(word, kind, state);
          command.state = CommandState.Queued;
          if (mayHaveRun) command.mayHaveRun = true;
          const again = keptAfterLoss({ sent: [], unsent: [command] }, rulesOf({ ...PLAIN_LOSS, isGarbled }));
          yield {
            event: "lost, not written",
            facts: factsOf({ word, kind, state, mayHaveRun, isGarbled }),
            outcome: ending() ?? (again.includes(command) ? "again on the next connection" : "nothing"),
          };
        }
}

/** A transaction under a WATCH goes again only behind that WATCH. */
function* lostBehindWatch(): Generator<FateCase> {
  for (const isWatchWritten of [false, true])
    for (const isWritten of [false, true])
      for (const kind of ["pipeline", "transaction"] as const)
        for (const policy of POLICIES) {
          const watch = play("watch");
          const { command, ending } = play("exec", kind, "guarded");
          watch.command.state = isWatchWritten ? CommandState.Sent : CommandState.Queued;
          command.state = isWritten ? CommandState.Sent : CommandState.Queued;
          if (isWritten && !isWatchWritten) continue;
          const all = [watch.command, command];
          const sent = all.filter(({ state }) => state === CommandState.Sent);
          const unsent = all.filter(({ state }) => state === CommandState.Queued);
          const again = keptAfterLoss({ sent, unsent }, rulesOf({ ...PLAIN_LOSS, policy }));
          yield {
            event: "lost, behind its WATCH",
            facts: factsOf({ isWatchWritten, isWritten, kind, policy }),
            outcome: ending() ?? (again.includes(command) ? "again on the next connection" : "nothing"),
          };
        }
}

/** A member of its batch was given up before the loss: a transaction is not sent again without it. */
function* lostWithoutMember(): Generator<FateCase> {
  for (const kind of ["automatic", "pipeline", "transaction"] as const)
    for (const isGoneFirst of [false, true])
      for (const isWritten of [false, true]) {
        const gone = play("set");
        const { command, ending } = play("set", kind);
        command.batch?.add(gone.command);
        const all = isGoneFirst ? [gone.command, command] : [command, gone.command];
        for (const one of all) one.state = isWritten ? CommandState.Sent : CommandState.Queued;
        gone.command.fail(new Error("given up"));
        const left = { sent: isWritten ? all : [], unsent: isWritten ? [] : all };
        const again = keptAfterLoss(left, rulesOf(PLAIN_LOSS));
        yield {
          event: "lost, another member was given up",
          facts: factsOf({ kind, isGoneFirst, isWritten }),
          outcome: ending() ?? (again.includes(command) ? "again on the next connection" : "nothing"),
        };
      }
}

function rulesOf({ policy, mayStillRun, isGarbled }: Loss): LossRules {
  const protocolError = isGarbled ? new ParserError("garbled") : null;
  return { retryPolicy: policy, protocolError, mayStillRun };
}

// --- a connection was closed on purpose, or its link has ended ---------------------------------

const TAKEOVERS = ["no cluster", "cluster takes", "cluster refuses"] as const;

function takeoverOf(how: (typeof TAKEOVERS)[number], taken: Command[]): Takeover | null {
  if (how === "no cluster") return null;
  return {
    takesOver: () => how === "cluster takes",
    takeOver: (commands) => void taken.push(...commands),
    madeWhole: (commands) => commands,
  };
}

function* closed(): Generator<FateCase> {
  for (const word of ["get", "quit"])
    for (const how of TAKEOVERS)
      for (const isWritten of [false, true])
        for (const mayHaveRun of [false, true]) {
          const { command, ending } = play(word);
          if (mayHaveRun) command.mayHaveRun = true;
          command.state = isWritten ? CommandState.Sent : CommandState.Queued;
          const leftovers = new LeftoverCommands({}, new OfflineQueue(), {
            takeover: takeoverOf(how, []),
            counts: new ConnectionCounts(),
          });
          const all = [command];
          const left = leftovers.endLeftovers({ sent: isWritten ? all : [], unsent: isWritten ? [] : all });
          const isLeft = [...left.sent, ...left.unsent].length > 0;
          yield {
            event: "closed on purpose",
            facts: factsOf({ word, how, isWritten, mayHaveRun }),
            outcome: ending() ?? (isLeft ? "judged as lost, then taken over" : "nothing"),
          };
        }
}

const REASONS: Readonly<Record<string, () => Error>> = {
  closed: () => new ConnectionClosedError(),
  "too many attempts": () => new MaxRetriesPerRequestError(20),
  "refused in the handshake": () => new ReplyError("WRONGPASS no"),
};

function* waitingInVain(): Generator<FateCase> {
  for (const word of ["get", "quit"])
    for (const how of TAKEOVERS)
      for (const [reason, makeError] of Object.entries(REASONS))
        for (const mayHaveRun of [false, true]) {
          const { command, ending } = play(word);
          if (mayHaveRun) command.mayHaveRun = true;
          const taken: Command[] = [];
          endCommands([command], takeoverOf(how, taken), makeError);
          yield {
            event: "waits, the link ends",
            facts: factsOf({ word, how, reason, mayHaveRun }),
            outcome: ending() ?? (taken.length > 0 ? "elsewhere" : "nothing"),
          };
        }
}

function* reasonsAndPasts(): Generator<readonly [string, () => Error, boolean]> {
  for (const [reason, makeError] of Object.entries(REASONS))
    for (const mayHaveRun of [false, true]) yield [reason, makeError, mayHaveRun];
}

function* tooLate(): Generator<FateCase> {
  for (const word of ["get", "quit"])
    for (const how of TAKEOVERS)
      for (const [reason, makeError, mayHaveRun] of reasonsAndPasts()) {
        const { command, ending } = play(word);
        if (mayHaveRun) command.mayHaveRun = true;
        const taken: Command[] = [];
        const deps = { takeover: takeoverOf(how, taken), counts: new ConnectionCounts() };
        new LeftoverCommands({}, new OfflineQueue(), deps).turnAway([command], makeError);
        yield {
          event: "issued too late",
          facts: factsOf({ word, how, reason, mayHaveRun }),
          outcome: ending() ?? (taken.length > 0 ? "elsewhere" : "nothing"),
        };
      }
}

function* ownOfConnection(): Generator<FateCase> {
  for (const [name, origin] of Object.entries(Origin))
    for (const isWritten of [false, true])
      for (const isGarbled of [false, true]) {
        const { command, ending } = play("get");
        command.origin = origin;
        command.state = isWritten ? CommandState.Sent : CommandState.Queued;
        const all = [command];
        const cause = isGarbled ? new ParserError("garbled") : new Error("reset");
        failRequests({ sent: isWritten ? all : [], unsent: isWritten ? [] : all }, cause);
        yield {
          event: "its connection is gone",
          facts: factsOf({ origin: name, isWritten, isGarbled }),
          outcome: ending() ?? "judged as lost",
        };
      }
}

function* endedInDoubt(): Generator<FateCase> {
  for (const [reason, makeError] of Object.entries(REASONS))
    for (const mayHaveRun of [false, true]) {
      const { command, ending } = play("get");
      if (mayHaveRun) command.mayHaveRun = true;
      endCommands([command], null, makeError);
      yield {
        event: "ended by an error",
        facts: factsOf({ reason, mayHaveRun }),
        outcome: ending() ?? "nothing",
      };
    }
}

// --- its turn to be written has come ------------------------------------------------------------

function* writing(): Generator<FateCase> {
  for (const word of ["get", "select", "watch", "unwatch", "reset", "multi", "exec", "discard"])
    for (const kind of Object.keys(KINDS) as Kind[])
      for (const state of ["fresh", "begun", "refused"] as const)
        for (const isGivenUp of [false, true]) {
          const { command, ending } = play(word, kind, state);
          if (state === "refused" && command.batch !== null) command.batch.isStarted = false;
          if (isGivenUp) command.fail(new Error("given up"));
          const isWritten = beginWriting(command, { answered: 0, inFlight: 0 });
          const end = isGivenUp ? null : ending();
          yield {
            event: "about to be written",
            facts: factsOf({ word, kind, state, isGivenUp }),
            outcome: isWritten ? `written as ${command.name}` : (end ?? "dropped"),
          };
        }
}

// --- an error reply has come --------------------------------------------------------------------

const REPLIES = [
  "WRONGTYPE no",
  "NOSCRIPT No matching script",
  "EXECABORT Transaction discarded",
  "READONLY no",
  "MASTERDOWN no",
  "LOADING no",
] as const;

function* refusedByServer(): Generator<FateCase> {
  for (const said of REPLIES)
    for (const kind of Object.keys(KINDS) as Kind[])
      for (const verdict of [undefined, false, 1, 2] as const)
        for (const isReadOnly of [false, true])
          for (const way of ["plain", "given up", "script", "redirected", "unblocked"] as const) {
            if ((way === "script") !== said.startsWith("NOSCRIPT") && way === "script") continue;
            yield playReply({ said, kind, verdict, isReadOnly, way });
          }
}

interface ReplyCase {
  readonly said: string;
  readonly kind: Kind;
  readonly verdict: false | 1 | 2 | undefined;
  readonly isReadOnly: boolean;
  readonly way: "plain" | "given up" | "script" | "redirected" | "unblocked";
}

function playReply({ said, kind, verdict, isReadOnly, way }: ReplyCase): FateCase {
  const { command, ending } = play(way === "script" ? "evalsha" : "set", kind);
  command.state = CommandState.Sent;
  if (way === "script") {
    const script = { sha: "abc", bySha: specOf("evalsha"), byText: specOf("eval"), lua: "return 1" };
    command.ensureExtra().script = { ...script, isReadOnly: false };
  }
  const told: string[] = [];
  const deps = {
    options: {
      retryStrategy: () => 0,
      readOnly: isReadOnly,
      ...(verdict === undefined ? {} : { reconnectOnError: () => verdict }),
    },
    current: {
      connection: {
        state: ConnectionState.Ready,
        scripts: { forget: () => {} },
        queue: { pending: () => [] },
      },
      resend: () => void told.push("again here"),
      unblocker: { takes: () => way === "unblocked" },
    },
    offline: { requeue: () => void told.push("again on the next connection") },
    session: new Session(0, () => {}),
    fieldsets: { recovers: () => false },
    reconnect: () => void told.push("reconnects"),
    onTurnedAway: () => {},
    report: () => {},
  };
  if (way === "given up") command.fail(new Error("given up"));
  const isTaken = new LinkReplies(deps as never, { redirects: () => way === "redirected" }).judge(
    command,
    new ReplyError(said),
  );
  const fails = ending() ?? (isTaken ? (told.length === 0 ? "taken over" : "") : "fails with the reply");
  const isRefused = command.group?.isRefused === true ? " and refuses its batch" : "";
  return {
    event: "error reply",
    facts: factsOf({ said: said.split(" ")[0], kind, verdict, isReadOnly, way }),
    outcome:
      [...told, way === "given up" && !isTaken ? "nothing" : fails].filter(Boolean).join(", ") + isRefused,
  };
}

// --- issued into a broken session ----------------------------------------------------------------

const SESSIONS: Readonly<Record<string, (session: Session) => void>> = {
  whole: () => {},
  "WATCH lost": (session) => {
    session.note(play("watch").command);
    session.onLoss(() => false);
  },
  "WATCH goes again": (session) => {
    session.note(play("watch").command);
    session.onLoss(() => true);
  },
  "MULTI lost": (session) => {
    session.note(play("multi").command);
    session.onLoss(() => false);
  },
  "MULTI goes again": (session) => {
    session.note(play("multi").command);
    session.onLoss(() => true);
  },
};

function* issued(): Generator<FateCase> {
  for (const [how, breakSession] of Object.entries(SESSIONS))
    for (const word of ["get", "multi", "exec", "discard", "watch", "unwatch", "reset"])
      for (const kind of Object.keys(KINDS) as Kind[]) {
        const session = new Session(0, () => {});
        breakSession(session);
        const { command } = play(word, kind);
        const error = session.takeRefusal(command);
        yield {
          event: "issued",
          facts: factsOf({ session: how, word, kind }),
          outcome: error === null ? "goes on" : `fails ${(error as { code?: string }).code ?? error.name}`,
        };
      }
}

// --- a node of a cluster is gone ----------------------------------------------------------------

function* nodeGone(): Generator<FateCase> {
  for (const isActive of [false, true])
    for (const retryDelayOnFailover of [0, 100])
      for (const triesLeft of [0, 1])
        for (const mayHaveRun of [false, true])
          for (const kind of ["single", "automatic", "pipeline"] as const) {
            const { command, ending } = play("set", kind);
            command.slot = 7;
            if (mayHaveRun) command.mayHaveRun = true;
            const back: Returned[] = [];
            const redirector = redirectorOf(retryDelayOnFailover, triesLeft, back);
            redirector.isActive = isActive;
            redirector.takeOver(
              new ClusterNode({ host: "h", port: 1 }),
              [command],
              new ConnectionClosedError(),
            );
            yield {
              event: "its node is gone",
              facts: factsOf({ isActive, retryDelayOnFailover, triesLeft, mayHaveRun, kind }),
              outcome: ending() ?? (back.length > 0 ? "elsewhere" : "nothing"),
            };
          }
}

function redirectorOf(retryDelayOnFailover: number, maxRedirections: number, back: Returned[]): Redirector {
  const options = {
    ...ROUTING_DEFAULTS,
    maxRedirections,
    retryDelayOnFailover,
  };
  const deps = {
    slots: { ownerOf: () => null },
    pool: { isSealed: false, list: () => [] },
    retries: { giveBack: (all: readonly Returned[]) => void back.push(...all), onNewOwners: () => {} },
    refresher: { request() {}, isDenied: false },
    onRedirected: null,
  };
  return new Redirector(options, deps as unknown as RedirectorDeps);
}

function factsOf(facts: object): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(" ");
}

/** All of them, in the order of the table. */
export function* fateCases(): Generator<FateCase> {
  yield* issued();
  yield* writing();
  yield* refusedByServer();
  yield* lostWritten();
  yield* lostUnwritten();
  yield* lostBehindWatch();
  yield* lostWithoutMember();
  yield* ownOfConnection();
  yield* closed();
  yield* waitingInVain();
  yield* tooLate();
  yield* endedInDoubt();
  yield* nodeGone();
}
