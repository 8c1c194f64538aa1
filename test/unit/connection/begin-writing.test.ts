/** What still goes out when its turn to be written comes, and that no transaction goes out without one of its members. */

import { expect } from "chai";
import fc from "fast-check";
import { useFakeTimers } from "sinon";
import { Batch, BatchKind } from "../../../src/command/batch";
import { type Command, CommandState } from "../../../src/command/command";
import { CommandFlag } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { STAYING } from "../../../src/command/fate";
import { beginWriting } from "../../../src/connection/flush-encoder";
import { AbortError } from "../../../src/errors";
import { userClockMs } from "../../../src/util/scheduling";
import { CommandsOfTest, type Ending } from "../../support/ending";
import { fixedRuns } from "../../support/properties";

const { Created, Queued, Sent, Settled } = CommandState;
const ORDER = { answered: 3, inFlight: 4 };

describe("the decision to write", () => {
  const made = new CommandsOfTest();
  const command = made.make.bind(made);

  afterEach(() => made.failAll());

  function batchOf(kind: BatchKind, commands: readonly Command[]): Batch {
    const batch = new Batch(kind, 0, null);
    for (const one of commands) batch.add(one);
    return batch;
  }

  /** MULTI, a GET of each key, EXEC. */
  function transaction(...keys: string[]): { all: Command[]; batch: Batch } {
    const all = [command("multi"), ...keys.map((key) => command("get", key)), command("exec")];
    return { all, batch: batchOf(BatchKind.Transaction, all) };
  }

  function errorOf({ completion }: Command): Error | null {
    return (completion as Ending).error;
  }

  it("lets out what nobody has given up, and notes when and in which place", () => {
    const [plain, watched] = [command("get", "k"), command("get", "k")];
    watched.ensureExtra();
    expect([beginWriting(plain, ORDER), beginWriting(watched, ORDER)]).to.deep.equal([true, true]);
    expect([plain.state, watched.state, plain.extra]).to.deep.equal([Sent, Sent, null]);
    expect(watched.extra?.place).to.equal(6);
    expect(watched.extra?.sentAtMs).to.be.closeTo(userClockMs(), 1000);
  });

  it("notes that it was written also where a faked clock says 0", () => {
    const clock = useFakeTimers({ now: 0, toFake: ["performance"] });
    try {
      const one = command("get", "k");
      one.ensureExtra();
      beginWriting(one, ORDER);
      expect([userClockMs(), one.extra?.sentAtMs]).to.deep.equal([0, Number.EPSILON]);
    } finally {
      clock.restore();
    }
  });

  it("keeps back what its caller has given up, unless later commands rely on it", () => {
    for (const name of ["get", "select", "watch", "unwatch", "reset", "exec", "discard", "multi"]) {
      const one = command(name);
      one.fail(new Error("timed out"));
      const isStaying = ["select", "watch", "unwatch", "reset"].includes(name);
      expect((specOf(name).flags & STAYING) !== 0, name).to.equal(isStaying);
      expect(beginWriting(one, ORDER), name).to.equal(isStaying);
      expect(one.state, name).to.equal(Settled);
    }
  });

  it("says once that a batch is begun", () => {
    for (const kind of [BatchKind.Automatic, BatchKind.Pipeline, BatchKind.Transaction]) {
      const all = [command("get", "a"), command("get", "b"), command("get", "c")];
      const batch = batchOf(kind, all);
      let starts = 0;
      batch.trace = { onStarted: () => starts++, onAnswered: () => {} };
      if (kind !== BatchKind.Transaction) {
        all[0]?.fail(new Error("given up"));
        expect([beginWriting(all[0] as Command, ORDER), batch.isStarted]).to.deep.equal([false, false]);
      }
      for (const one of all.slice(1)) beginWriting(one, ORDER);
      expect([starts, batch.isStarted, batch.isRefused]).to.deep.equal([1, true, false]);
    }
  });

  it("says that a transaction opened by hand is begun, which is no batch of its members", () => {
    const group = new Batch(BatchKind.Transaction, 0, null);
    const [one, given, exec] = [command("get", "a"), command("get", "b"), command("exec")];
    for (const member of [one, given, exec]) member.ensureExtra().group = group;
    given.fail(new Error("given up"));
    expect([one, given].map((member) => beginWriting(member, ORDER))).to.deep.equal([true, false]);
    expect([group.isStarted, group.isRefused]).to.deep.equal([true, true]);
    expect([beginWriting(exec, ORDER), exec.name]).to.deep.equal([true, "discard"]);
  });

  it("writes nothing of a transaction that had lost a member before it began", () => {
    const { all, batch } = transaction("a");
    all[1]?.fail(new Error("given up"));
    batch.dropOut();
    expect(all.map((one) => beginWriting(one, ORDER))).to.deep.equal([false, false, false]);
    expect([all.map(({ state }) => state), batch.isStarted]).to.deep.equal([
      [Settled, Settled, Settled],
      false,
    ]);
    expect(errorOf(all[0] as Command)).to.be.instanceOf(AbortError);
    expect(errorOf(all[2] as Command)?.message).to.match(/^EXECABORT/);
  });

  it("discards a transaction that has begun when its EXEC is given up", () => {
    const { all } = transaction("a");
    const exec = all[2] as Command;
    expect(all.slice(0, 2).map((one) => beginWriting(one, ORDER))).to.deep.equal([true, true]);
    exec.fail(new Error("timed out"));
    expect([beginWriting(exec, ORDER), exec.name, exec.state]).to.deep.equal([true, "discard", Settled]);
  });

  it("leaves out a SELECT of a transaction that is discarded: it would be a member", () => {
    const all = [command("multi"), command("select", "1"), command("discard")];
    batchOf(BatchKind.Transaction, all);
    beginWriting(all[0] as Command, ORDER);
    all[1]?.fail(new Error("timed out"));
    all[2]?.fail(new Error("timed out"));
    expect(all.slice(1).map((one) => beginWriting(one, ORDER))).to.deep.equal([false, true]);
    expect([all[1]?.state, all[2]?.name]).to.deep.equal([Settled, "discard"]);
  });

  it("writes a transaction whole, or discarded, or not at all, whoever gives up when", () => {
    const moment = fc.record({ who: fc.nat({ max: 5 }), when: fc.nat({ max: 6 }), isTold: fc.boolean() });
    fc.assert(
      fc.property(fc.nat({ max: 3 }), fc.array(moment, { maxLength: 3 }), (size, moments) => {
        const { all, batch } = transaction(...["a", "b", "c"].slice(0, size));
        const written: string[] = [];
        const given = new Set<Command>();
        for (const [place, one] of all.entries()) {
          for (const { who, when } of moments) {
            const loser = all[who];
            if (when !== place || loser === undefined || loser.state > Queued) continue;
            loser.fail(new Error("given up"));
            given.add(loser);
            // Those who give up say so, which counts only before the first is written.
            batch.dropOut();
          }
          const isAwaited = one.state === Created;
          if (!beginWriting(one, ORDER)) continue;
          written.push(one.name);
          if (isAwaited && one.name !== "discard") expect(one.state).to.equal(Sent);
        }
        const names = all.map(({ name }) => name);
        if (given.size === 0) expect(written).to.deep.equal(names);
        else if (written.length > 0) {
          expect([written[0], written.at(-1)]).to.deep.equal(["multi", "discard"]);
          expect(written.length).to.be.at.most(all.length);
        }
        // Nothing runs outside of MULTI, and who has not given up is told why nothing ran.
        expect(written.includes("exec")).to.equal(given.size === 0);
        for (const one of all) {
          const error = errorOf(one);
          if (given.has(one)) expect(error?.message).to.equal("given up");
          else if (error !== null) expect(error.message).to.match(/^EXECABORT/);
          else expect(one.state).to.equal(Sent);
          if ((one.spec.flags & CommandFlag.Discard) !== 0 && given.size > 0)
            expect(one.isSettled).to.equal(true);
        }
      }),
      fixedRuns(300),
    );
  });
});
