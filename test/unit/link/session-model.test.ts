/** The session and its databases against small reference models, with random commands and losses. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import type { Command, Completion } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { CommandFlag } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { ReplyError, WatchLostError } from "../../../src/errors";
import { DB_WHEN_SENT, SelectedDb, type Selects, selectedBy } from "../../../src/link/selected-db";
import { SESSION_FLAGS, Session } from "../../../src/link/session";
import type { Reply } from "../../../src/protocol/resp-types";
import { fixedRuns } from "../../support/properties";

const completion: Completion = { fulfil() {}, reject() {} };
let made: Command[] = [];

function make(name: string, ...args: string[]): Command {
  const command = makeCommand(specOf(name), args, false, completion);
  made.push(command);
  return command;
}

afterEach(() => {
  for (const command of made) command.fail(new Error("the test is over"));
  made = [];
});

/** The databases of a server; `outcome` decides about each EXEC. */
class ServerModel {
  db = 0;
  private queued: number[] | null = null;

  run(command: Command, reply: Reply): void {
    const { lowerName } = command.spec;
    if (lowerName === "multi") this.queued ??= [];
    else if (lowerName === "discard") this.queued = null;
    else if (lowerName === "exec") {
      const members = this.queued;
      this.queued = null;
      if (members === null || !Array.isArray(reply)) return;
      members.forEach((db, member) => {
        if (db >= 0 && !(reply[member] instanceof Error)) this.db = db;
      });
    } else if (this.queued !== null) this.queued.push(lowerName === "select" ? Number(command.args[0]) : -1);
    else if (lowerName === "select") this.db = Number(command.args[0]);
  }
}

type Step =
  | { do: "issue"; name: "multi" | "exec" | "discard" | "get" | "select"; db: number }
  | { do: "answer" };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("issue" as const),
        name: fc.constantFrom(
          "multi" as const,
          "exec" as const,
          "discard" as const,
          "get" as const,
          "select" as const,
        ),
        db: fc.integer({ min: 0, max: 3 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("answer" as const) }) },
  ),
  { maxLength: 60 },
);

describe("SelectedDb", () => {
  it("is where the server is when what follows an EXEC waits for its reply, whatever EXEC says", () => {
    fc.assert(
      fc.property(
        steps,
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 70, maxLength: 70 }),
        (program, luck) => {
          const tracker = new SelectedDb(0);
          const server = new ServerModel();
          const due: Command[] = [];
          const deciding = new Map<Command, Selects>();
          let drawn = 0;
          const draw = (): number => luck[drawn++ % luck.length] as number;
          const answer = (): void => {
            const command = due.shift();
            if (command === undefined) return;
            const verdict = draw();
            // Null, or one element for each member, some of them errors.
            const reply: Reply =
              verdict === 0
                ? null
                : Array.from({ length: 60 }, () => (draw() === 0 ? new Error("no") : "OK"));
            server.run(command, reply);
            const selects = deciding.get(command);
            if (selects !== undefined) tracker.db = selectedBy(selects, reply) ?? tracker.db;
          };
          const issue = (command: Command): void => {
            const selects = tracker.note(command);
            due.push(command);
            if (selects === null) return;
            deciding.set(command, selects);
            while (due.length > 0) answer();
          };
          for (const step of program) {
            if (step.do === "answer") answer();
            else {
              const command =
                step.name === "select"
                  ? make("select", String(step.db))
                  : make(step.name, ...(step.name === "get" ? ["k"] : []));
              issue(command);
            }
          }
          issue(make("discard"));
          while (due.length > 0) answer();
          expect(tracker.db).to.equal(server.db);
        },
      ),
      fixedRuns(2000),
    );
  });
});

type Word = "watch" | "unwatch" | "multi" | "exec" | "discard" | "get" | "loss";
const words: fc.Arbitrary<Word[]> = fc.array(
  fc.constantFrom<Word>("watch", "unwatch", "multi", "exec", "discard", "get", "loss"),
  { maxLength: 40 },
);

/** Guards and transactions opened by hand of a client whose commands are all answered before a loss. */
class SessionModel {
  private watch: "no" | "yes" | "lost" = "no";
  private multi: "closed" | "open" | "lost" = "closed";

  /** The end of the command. */
  issue(word: Word): "goes" | "aborted" | "watch lost" {
    if (this.multi === "lost") {
      if (word !== "multi") {
        if (word === "exec" || word === "discard") this.end();
        return "aborted";
      }
      this.multi = "closed";
    }
    if (word === "exec" && this.watch === "lost") {
      this.end();
      return "watch lost";
    }
    if (word === "watch" && this.watch === "no") this.watch = "yes";
    else if (word === "unwatch") this.watch = "no";
    else if (word === "exec" || word === "discard") this.end();
    else if (word === "multi") this.multi = "open";
    return "goes";
  }

  lose(): void {
    if (this.watch === "yes") this.watch = "lost";
    if (this.multi === "open") this.multi = "lost";
  }

  get isOpen(): boolean {
    return this.multi === "open";
  }

  private end(): void {
    this.watch = "no";
    this.multi = "closed";
  }
}

describe("Session", () => {
  it("refuses exactly what a lost connection has broken", () => {
    fc.assert(
      fc.property(words, (program) => {
        const session = new Session(0, () => {});
        const model = new SessionModel();
        for (const word of program) {
          if (word === "loss") {
            session.onLoss(() => false);
            model.lose();
            continue;
          }
          const command = make(word, ...(word === "watch" || word === "get" ? ["k"] : []));
          const refusal = session.takeRefusal(command);
          const isExec = (command.spec.flags & CommandFlag.Exec) !== 0;
          if (refusal === null) session.note(command);
          else if (refusal instanceof WatchLostError && isExec) session.noteRefused(command);
          const fate =
            refusal === null ? "goes" : refusal instanceof WatchLostError ? "watch lost" : "aborted";
          expect(fate, `${word} in ${program.join(" ")}`).to.equal(model.issue(word));
          expect(session.isInTransaction).to.equal(model.isOpen);
        }
      }),
      fixedRuns(2000),
    );
  });

  it("what goes again after a loss keeps its guard and its transaction", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.boolean(), (watchGoesAgain, multiGoesAgain) => {
        const session = new Session(0, () => {});
        session.note(make("watch", "k"));
        session.note(make("multi"));
        session.onLoss((flag) => (flag === CommandFlag.Watch ? watchGoesAgain : multiGoesAgain));
        const exec = make("exec");
        const refusal = session.takeRefusal(exec);
        if (!multiGoesAgain) expect(refusal?.message).to.match(/abort/i);
        else if (!watchGoesAgain) expect(refusal).to.be.instanceOf(WatchLostError);
        else expect(refusal).to.equal(null);
      }),
      fixedRuns(20),
    );
  });

  it("is in no transaction once its MULTI has failed; the failure of an earlier one changes nothing", () => {
    const session = new Session(0, () => {});
    const [first, second] = [make("multi"), make("multi")];
    session.note(first);
    session.note(make("exec"));
    session.note(second);
    first.fail(new ReplyError("ERR no"));
    expect(session.isInTransaction).to.equal(true);
    second.fail(new ReplyError("ERR no"));
    expect(session.isInTransaction).to.equal(false);
  });

  it("lets a complete transaction pass as it is while no key is guarded, and nothing else", () => {
    const session = new Session(0, () => {});
    const isConcerned = (kind: BatchKind, ...names: string[]): boolean => {
      const commands = names.map((name) => make(name, ...(name === "get" ? ["k"] : [])));
      const batch = new Batch(kind, 0, null);
      for (const command of commands) batch.add(command);
      return session.isConcerned(commands, SESSION_FLAGS);
    };
    const { Pipeline, Transaction } = BatchKind;
    expect(isConcerned(Transaction, "multi", "get", "exec")).to.equal(false);
    expect(isConcerned(Pipeline, "get", "get")).to.equal(false);
    expect(isConcerned(Pipeline, "multi", "get", "exec"), "by hand").to.equal(true);
    expect(isConcerned(Transaction, "multi", "get"), "left open").to.equal(true);
    expect(isConcerned(Transaction, "multi", "get", "discard")).to.equal(true);
    session.note(make("watch", "k"));
    expect(isConcerned(Transaction, "multi", "get", "exec"), "under a WATCH").to.equal(true);
  });

  it("an EXEC under a WATCH marks its batch: the batch must not run on another connection", () => {
    const isGuarded = (...before: string[]): boolean | undefined => {
      const session = new Session(0, () => {});
      for (const name of before) session.note(make(name, ...(name === "watch" ? ["k"] : [])));
      session.note(make("multi"));
      const exec = make("exec");
      session.note(exec);
      return exec.group?.isGuarded;
    };
    expect(isGuarded("watch")).to.equal(true);
    expect(isGuarded("watch", "unwatch")).to.equal(false);
    expect(isGuarded()).to.equal(false);
  });

  it("the database of commands after an EXEC that may select one is open until its end", () => {
    const decided: [exec: Command, db: number | null][] = [];
    const session = new Session(0, (exec, db) => void decided.push([exec, db]));
    const transact = (): Command => {
      session.note(make("multi"));
      session.note(make("select", "2"));
      const exec = make("exec");
      session.note(exec);
      return exec;
    };
    const first = transact();
    expect([session.isDbOpen, session.nextDb]).to.deep.equal([true, DB_WHEN_SENT]);
    first.fulfil(["OK"], { protocol: 3, replyMapping: "legacy" });
    expect([session.isDbOpen, session.nextDb]).to.deep.equal([false, 2]);
    const lost = transact();
    lost.fail(new Error("lost"));
    expect(decided).to.deep.equal([
      [first, 2],
      [lost, null],
    ]);
    expect([session.isDbOpen, session.nextDb]).to.deep.equal([false, 2]);
    transact();
    session.note(make("select", "3"));
    expect([session.isDbOpen, session.nextDb], "a later SELECT decides").to.deep.equal([false, 3]);
  });
});
