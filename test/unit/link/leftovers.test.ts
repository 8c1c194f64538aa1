/** How commands end that get no reply, with random leftovers: each ends once or is taken over, never both, and order stays. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState, issuedBy, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import type { Left } from "../../../src/connection/command-queue";
import type { Connection } from "../../../src/connection/connection";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import {
  AbortError,
  ConnectionClosedError,
  ConnectTimeoutError,
  DeadConnectionError,
  MaxRetriesOutcomeUnknownError,
  MaxRetriesPerRequestError,
  ParserError,
  ReplyError,
} from "../../../src/errors";
import { isConnectionTrouble } from "../../../src/link/establishment";
import { endCommands, failRequests, isQuit, LeftoverCommands } from "../../../src/link/leftovers";
import type { LinkOptions, Takeover } from "../../../src/link/link-options";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { markCertain } from "../../../src/util/error-hint";
import { fixedRuns } from "../../support/properties";

const WHY = new Error("why");

function leftoversOf(takeover: Takeover | null, cause?: Error): LeftoverCommands {
  const leftovers = new LeftoverCommands({}, new OfflineQueue(), {
    takeover,
    counts: new ConnectionCounts(),
  });
  leftovers.cause = cause;
  return leftovers;
}

/** Notes how each command ended: the reply, or the error. */
class Book {
  readonly endings = new Map<string, unknown[]>();
  readonly errors: (Error & { code?: string; command?: { name: string } })[] = [];
  readonly made: Command[] = [];

  note(name: string, ending: unknown): void {
    this.endings.set(name, [...(this.endings.get(name) ?? []), ending]);
  }

  fail(name: string, error: Error): void {
    this.errors.push(error);
    this.note(name, (error as { code?: string }).code ?? error.message);
  }

  command(word: string, name: string, wantsBuffers = false): Command {
    const command = new Command(specOf(word), [name], wantsBuffers, {
      fulfil: (_command, value) => this.note(name, Buffer.isBuffer(value) ? `bytes ${value}` : value),
      reject: (_command, error) => this.fail(name, error),
    });
    this.made.push(command);
    return command;
  }

  end(): void {
    for (const command of this.made) if (!command.isSettled) command.fail(new Error("the test is over"));
  }
}

/** Takes the commands of these names. */
class Elsewhere implements Takeover {
  readonly taken: string[][] = [];
  error: Error | null = null;

  constructor(private readonly names: ReadonlySet<string>) {}

  takesOver({ args }: Command): boolean {
    return this.names.has(String(args[0]));
  }

  takeOver(commands: readonly Command[], error: Error): void {
    this.taken.push(commands.map(({ args }) => String(args[0])));
    this.error = error;
  }

  madeWhole(commands: readonly Command[]): readonly Command[] {
    return commands;
  }
}

interface Unit {
  readonly kind: "get" | "quit" | "quit as bytes";
  readonly isSent: boolean;
  /** Had been written to an earlier connection. */
  readonly mayHaveRun: boolean;
  readonly isSettled: boolean;
  readonly isTaken: boolean;
}

const units = fc.array(
  fc.record({
    kind: fc.constantFrom<Unit["kind"]>("get", "quit", "quit as bytes"),
    isSent: fc.boolean(),
    mayHaveRun: fc.boolean(),
    isSettled: fc.boolean(),
    isTaken: fc.boolean(),
  }),
  { maxLength: 8 },
);

/** The ending that a command has when nobody takes it over. */
function endingOf({ kind, mayHaveRun }: Unit, isSent: boolean): string {
  if (kind === "quit") return "OK";
  if (kind === "quit as bytes") return "bytes OK";
  return isSent || mayHaveRun ? "OUTCOME_UNKNOWN" : "CONNECTION_CLOSED";
}

const names = (commands: readonly Command[]): string[] => commands.map(({ args }) => String(args[0]));

describe("closing", () => {
  let book: Book;

  beforeEach(() => {
    book = new Book();
  });
  afterEach(() => book.end());

  function make(unit: Unit, name: string): Command {
    const { kind } = unit;
    const one = book.command(kind === "get" ? "get" : "quit", name, kind === "quit as bytes");
    one.state = unit.isSent ? CommandState.Sent : CommandState.Queued;
    if (unit.mayHaveRun) one.mayHaveRun = true;
    if (unit.isSettled) one.fail(new Error("given up"));
    return one;
  }

  it("settles what a connection has left behind, or leaves it to those who take it over", () => {
    fc.assert(
      fc.property(units, fc.boolean(), (program, isCluster) => {
        book = new Book();
        const left: { sent: Command[]; unsent: Command[] } = { sent: [], unsent: [] };
        const kept: { sent: string[]; unsent: string[] } = { sent: [], unsent: [] };
        const expected = new Map<string, unknown[]>();
        const foresee = (unit: Unit, name: string, isSent: boolean): void => {
          const isTaken = isCluster && unit.isTaken;
          if (isTaken) kept[isSent ? "sent" : "unsent"].push(name);
          if (unit.isSettled) expected.set(name, ["given up"]);
          else if (!isTaken) expected.set(name, [endingOf(unit, isSent)]);
        };
        // What is written stands in front of what is not.
        const ordered = [...program].sort((a, b) => Number(b.isSent) - Number(a.isSent));
        const takenNames = new Set<string>();
        ordered.forEach((unit, index) => {
          const name = `c${index}`;
          left[unit.isSent ? "sent" : "unsent"].push(make(unit, name));
          foresee(unit, name, unit.isSent);
          if (unit.isTaken) takenNames.add(name);
        });
        const elsewhere = new Elsewhere(takenNames);
        const rest = leftoversOf(isCluster ? elsewhere : null, WHY).endLeftovers(left);
        expect(book.endings).to.deep.equal(expected);
        expect({ sent: names(rest.sent), unsent: names(rest.unsent) }).to.deep.equal(kept);
        expect(elsewhere.taken, "the caller hands it over").to.deep.equal([]);
        const told = book.errors.filter(({ message }) => message !== "given up");
        expect(new Set(told).size, "each has an error of its own").to.equal(told.length);
        for (const { cause, message } of told) {
          expect([cause, message]).to.deep.equal([WHY, "Connection is closed."]);
        }
        book.made.push(...rest.sent, ...rest.unsent);
        book.end();
      }),
      fixedRuns(300),
    );
  });

  it("has no cause to tell when there was none", () => {
    leftoversOf(null).endLeftovers({ sent: [one("get", "a")], unsent: [one("get", "b")] });
    expect(book.errors.map((error) => "cause" in error)).to.deep.equal([false, false]);
  });

  function one(word: string, name: string, mayHaveRun = false): Command {
    const one = book.command(word, name);
    if (mayHaveRun) one.mayHaveRun = true;
    return one;
  }

  it("settles what waited, and hands what is taken over on at once and in order", () => {
    fc.assert(
      fc.property(units, fc.boolean(), (program, isCluster) => {
        book = new Book();
        const all = program.map((unit, index) => make(unit, `c${index}`));
        const taken = all.filter((_, index) => isCluster && program[index]?.isTaken).map(nameOf);
        const elsewhere = new Elsewhere(new Set(taken));
        const makeError = (): Error => new ConnectionClosedError({ cause: WHY });
        endCommands(all, isCluster ? elsewhere : null, makeError);
        expect(elsewhere.taken).to.deep.equal(taken.length > 0 ? [taken] : []);
        if (taken.length > 0) expect(elsewhere.error?.cause).to.equal(WHY);
        all.forEach((command, index) => {
          const unit = program[index] as Unit;
          if (unit.isSettled) expect(book.endings.get(nameOf(command))).to.deep.equal(["given up"]);
          else if (taken.includes(nameOf(command))) expect(command.isSettled).to.equal(false);
          else expect(book.endings.get(nameOf(command))).to.deep.equal([endingOf(unit, false)]);
        });
        book.end();
      }),
      fixedRuns(200),
    );
  });

  const nameOf = ({ args }: Command): string => String(args[0]);

  it("does not claim that a written command did not run, whatever ends it", () => {
    const endedBy = (command: Command, error: Error): Error | undefined => {
      endCommands([command], null, () => error);
      return book.errors.at(-1);
    };
    const endings: [Error, object][] = [
      [
        new MaxRetriesPerRequestError(3, { cause: WHY }),
        { name: "MaxRetriesPerRequestError", code: "OUTCOME_UNKNOWN", limit: 3, cause: WHY },
      ],
      [new ConnectionClosedError({ cause: WHY }), { name: "OutcomeUnknownError", cause: WHY }],
      [
        Object.assign(new ReplyError("WRONGPASS no"), { more: 1 }),
        { name: "ReplyError", message: "WRONGPASS no", code: "OUTCOME_UNKNOWN", more: 1 },
      ],
    ];
    for (const [error, told] of endings) {
      const doubtful = endedBy(one("get", "a", true), error);
      expect(doubtful).to.include({ code: "OUTCOME_UNKNOWN", ...told });
      expect(doubtful).to.be.instanceOf(error.constructor);
      expect(endedBy(one("get", "b"), error)).to.equal(error);
      expect((error as { code?: string }).code).to.not.equal("OUTCOME_UNKNOWN");
    }
    const [[retries]] = endings as [[Error, object]];
    expect(endedBy(one("get", "d", true), retries)).to.be.instanceOf(MaxRetriesOutcomeUnknownError);
    const stackOf = (error: Error | undefined): string =>
      (error?.stack ?? "").slice(error?.stack?.indexOf("\n    at "));
    expect(stackOf(endedBy(one("get", "c", true), retries))).to.equal(stackOf(retries));
  });

  it("tells all that waited of one cause, those that may have run and the others each by its own error", () => {
    const all = [true, false, true, false].map((mayHaveRun, index) => one("get", `c${index}`, mayHaveRun));
    let count = 0;
    endCommands(all, null, () => new MaxRetriesPerRequestError(++count));
    expect(book.errors.map(({ code }) => code)).to.deep.equal([
      "OUTCOME_UNKNOWN",
      "MAX_RETRIES",
      "OUTCOME_UNKNOWN",
      "MAX_RETRIES",
    ]);
    expect(new Set(book.errors).size).to.equal(4);
  });

  it("fails what comes too late, each by its own error, and QUIT as well", () => {
    const words = ["get", "quit"];
    let count = 0;
    const makeError = (): Error => new AbortError(`too late ${++count}`);
    const commands = words.map((word) => one(word, word));
    leftoversOf(null).turnAway(commands, makeError);
    expect(book.errors.map(({ message, command }) => [message, command?.name])).to.deep.equal(
      words.map((word) => ["too late 1", word]),
    );
    expect(new Set(book.errors).size).to.equal(2);
  });

  it("shows no credentials in an error that names its command", () => {
    endCommands([one("auth", "secret-word")], null, () => new AbortError("auth secret-word was lost"));
    const [error] = book.errors;
    expect(`${error?.message} ${error?.stack} ${JSON.stringify(error?.command)}`).to.not.contain(
      "secret-word",
    );
    endCommands([one("get", "b")], null, () => new ReplyError("ERR no"));
    expect(book.endings.get("b")).to.deep.equal(["REPLY"]);
  });

  it("hands on what comes too late at once, if it is the end of the connection that ends it", () => {
    const all = ["a", "b", "c"].map((name) => one("get", name));
    const elsewhere = new Elsewhere(new Set(["a", "c"]));
    leftoversOf(elsewhere).turnAway(all, () => new ConnectionClosedError());
    expect(elsewhere.taken).to.deep.equal([["a", "c"]]);
    expect(elsewhere.error).to.be.instanceOf(ConnectionClosedError);
    expect(book.endings).to.deep.equal(new Map([["b", ["CONNECTION_CLOSED"]]]));
    const last = one("get", "last");
    const alone = new Elsewhere(new Set(["last"]));
    leftoversOf(alone).turnAway([last], () => new ConnectionClosedError());
    expect([last.isSettled, alone.taken]).to.deep.equal([false, [["last"]]]);
    const refusing = new Elsewhere(new Set(["d"]));
    leftoversOf(refusing).turnAway([one("get", "d")], () => new AbortError("no"));
    leftoversOf(refusing).turnAway([one("get", "e")], () => new ConnectionClosedError());
    expect(refusing.taken).to.deep.equal([]);
    expect([...book.endings.keys()]).to.deep.equal(["b", "d", "e"]);
  });

  const ending: Origin[] = [Origin.Connection, Origin.Restore, Origin.Client, Origin.Copy, Origin.Question];

  it("ends what belonged to the connection alone, and returns what users had sent, in order", () => {
    const origins = fc.array(fc.constantFrom(...Object.values(Origin)), { maxLength: 6 });
    fc.assert(
      fc.property(origins, origins, (sent, unsent) => {
        book = new Book();
        const place = (which: readonly Origin[], name: string): Command[] =>
          which.map((origin, n) => issuedBy(origin, book.command("get", `${name}${n}`)));
        const left = { sent: place(sent, "s"), unsent: place(unsent, "u") };
        const isUsers = ({ origin }: Command): boolean => !ending.includes(origin);
        const rest: Left = failRequests(left);
        for (const side of ["sent", "unsent"] as const) {
          expect(rest[side]).to.deep.equal(left[side].filter(isUsers));
          for (const entry of left[side]) {
            const code = book.endings.get(nameOf(entry));
            expect(code).to.deep.equal(isUsers(entry) ? undefined : ["CONNECTION_CLOSED"]);
          }
        }
        book.end();
      }),
      fixedRuns(200),
    );
  });

  it("gives the reply that broke the protocol to the question of the cluster, and to nobody else", () => {
    const broken = new ParserError("no RESP");
    const sent = [Origin.Connection, Origin.Question].map((origin) =>
      issuedBy(origin, one("get", String(origin))),
    );
    failRequests({ sent, unsent: [] }, broken);
    expect(book.errors.map(({ code }) => code)).to.deep.equal(["CONNECTION_CLOSED", "PROTOCOL"]);
    failRequests({ sent: [issuedBy(Origin.Question, one("get", "q"))], unsent: [] }, WHY);
    expect(book.endings.get("q")).to.deep.equal(["CONNECTION_CLOSED"]);
  });

  it("creates no error for commands that their callers have given up", () => {
    const commands = ["a", "b"].map((name) => one("get", name));
    for (const command of commands) command.fail(WHY);
    let made = 0;
    endCommands(commands, null, () => {
      made++;
      return new ConnectionClosedError();
    });
    expect(made).to.equal(0);
    expect(book.errors).to.deep.equal([WHY, WHY]);
  });

  it("knows QUIT, and the errors that closing brings", () => {
    expect([one("quit", "a"), one("get", "b")].map(isQuit)).to.deep.equal([true, false]);
    const errors = [
      new ConnectionClosedError(),
      Object.assign(new Error("refused"), { syscall: "connect" }),
      Object.assign(new Error("reset"), { syscall: "read" }),
      Object.assign(new Error("no name"), { syscall: "getaddrinfo" }),
      new ReplyError("ERR"),
    ];
    expect(errors.map(isConnectionTrouble)).to.deep.equal([true, true, true, false, false]);
  });

  describe("after a loss", () => {
    /** The names of the commands that are sent again. */
    function kept(
      options: LinkOptions,
      cause: Error | undefined,
      left: Left,
      readyAtMs = 1,
      waiting = new OfflineQueue(),
    ): string[] {
      const leftovers = new LeftoverCommands(options, waiting, {
        takeover: null,
        counts: new ConnectionCounts(),
      });
      leftovers.cause = cause;
      leftovers.keep(left, { protocolError: null, readyAtMs, livedMs: 1000 } as unknown as Connection);
      return names(waiting.takeAll());
    }

    function sent(...words: string[]): Left {
      const commands = words.map((word) => one(word, word));
      for (const command of commands) command.state = CommandState.Sent;
      return { sent: commands, unsent: [one("set", "unsent")] };
    }

    const unreachable = new DeadConnectionError("h:1", 1000, false);

    it("sends reads again while the server may still run what was written, and no writes", () => {
      for (const cause of [unreachable, new ConnectTimeoutError()]) {
        expect(kept({}, cause, sent("get", "incr")), cause.message).to.deep.equal(["get", "unsent"]);
      }
      expect(book.errors.map(({ code }) => code)).to.deep.equal(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
    });

    it("sends all of it again once the server is known to have lost it", () => {
      const reachable = new DeadConnectionError("h:1", 1000, true);
      for (const cause of [reachable, new Error("reset"), undefined]) {
        expect(kept({}, cause, sent("get", "incr"))).to.deep.equal(["get", "incr", "unsent"]);
      }
    });

    it("keeps what was issued since the loss behind what it has left, and in place what waited for a handshake", () => {
      for (const readyAtMs of [1, 0]) {
        const waiting = new OfflineQueue();
        waiting.push(one("get", "waits"));
        const left = { sent: [], unsent: [one("set", "unsent")] };
        expect(kept({}, undefined, left, readyAtMs, waiting)).to.deep.equal(["unsent", "waits"]);
      }
    });

    it("begins a batch anew that is sent again", () => {
      const batch = new Batch(BatchKind.Pipeline, 0, null);
      const left = sent("get", "set");
      for (const command of left.sent) batch.add(command);
      batch.isStarted = true;
      expect(kept({}, undefined, left)).to.deep.equal(["get", "set", "unsent"]);
      expect(batch.isStarted).to.equal(false);
    });

    it("takes reads behind a handshake that failed as never written, and writes as written", () => {
      const options = { retryPolicy: "at-most-once" } as const;
      expect(kept(options, undefined, sent("get", "incr"), 0)).to.deep.equal(["get", "unsent"]);
      expect(kept(options, undefined, sent("get", "incr"), 1)).to.deep.equal(["unsent"]);
    });
  });

  it("fails waiting commands after a mistake that no attempt mends, and after no other error", () => {
    const waiting = new OfflineQueue();
    const leftovers = new LeftoverCommands({}, waiting, { takeover: null, counts: new ConnectionCounts() });
    const command = one("get", "a");
    waiting.push(command);
    leftovers.failMistaken(new Error("reset"), false);
    expect([command.isSettled, waiting.length]).to.deep.equal([false, 1]);
    leftovers.failMistaken(markCertain(new Error("an HTTP port")), false);
    expect([book.errors.map(({ message }) => message), waiting.length]).to.deep.equal([["an HTTP port"], 0]);
  });

  it("leaves the commands of a server with a bad certificate to other servers, if there are any", () => {
    const waiting = new OfflineQueue();
    const leftovers = new LeftoverCommands({}, waiting, { takeover: null, counts: new ConnectionCounts() });
    const untrusted = Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    waiting.push(one("get", "a"));
    leftovers.failMistaken(markCertain(untrusted), true);
    expect(waiting.length).to.equal(1);
    leftovers.failMistaken(untrusted, false);
    expect([book.errors.map(({ message }) => message), waiting.length]).to.deep.equal([["self-signed"], 0]);
    waiting.push(one("get", "b"));
    leftovers.failMistaken(markCertain(new Error("an HTTP port")), true);
    expect([book.errors.length, waiting.length]).to.deep.equal([2, 0]);
  });
});
