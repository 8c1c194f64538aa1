/** Calls in columns: whatever becomes of each (an answer, an error, a command of its own, the end of all), its row is told once. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { type Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type CallCollector, PlainCalls } from "../../../src/command/plain-calls";
import { IGNORED } from "../../../src/command/promise-completion";
import { ReplyError } from "../../../src/errors";
import { fixedRuns } from "../../support/properties";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

/** What each row was told, by its place. */
class Rows implements CallCollector {
  readonly promise = null;
  readonly told: unknown[][] = [];

  answer(index: number, value: unknown): void {
    this.tell(index, value);
  }

  refuse(index: number, error: Error): void {
    this.tell(index, error.message);
  }

  fulfil({ index }: Command, value: unknown): void {
    this.tell(index, value);
  }

  reject({ index }: Command, error: Error): void {
    this.tell(index, error.message);
  }

  private tell(index: number, ending: unknown): void {
    this.told[index] ??= [];
    this.told[index].push(ending);
  }
}

describe("PlainCalls", () => {
  let rows: Rows;
  let batch: Batch;
  let calls: PlainCalls;

  beforeEach(() => open());

  function open(...calledWith: [name: string, ...args: (string | Buffer)[]][]): void {
    rows = new Rows();
    batch = new Batch(BatchKind.Pipeline, 0, null);
    calls = new PlainCalls(batch, rows);
    for (const [name, ...args] of calledWith) calls.add(specOf(name), args, false);
  }

  it("tells each row once, whatever becomes of its call, and at the end all of them", () => {
    // One step for the oldest call that is nothing else yet; commands that were made settle later, in any order.
    const steps = fc.array(
      fc.record({
        does: fc.constantFrom("answer", "fail", "make", "settle", "settle"),
        which: fc.nat(5),
      }),
      { maxLength: 16 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), steps, fc.boolean(), (count, program, isStarted) => {
        open();
        for (let n = 0; n < count; n++) calls.add(specOf("get"), [`k${n}`], false);
        if (isStarted) batch.start();
        const expected: unknown[][] = [];
        const made: Command[] = [];
        let next = 0;
        for (const { does, which } of program) {
          const open = made.filter(({ isSettled }) => !isSettled);
          const one = open[which % Math.max(1, open.length)];
          if (does === "settle" && one !== undefined) {
            expected[one.index] = [`late ${one.index}`];
            one.fulfil(`late ${one.index}`, SHAPE);
          }
          if (does === "settle" || next === count) continue;
          if (does === "answer") calls.answer(next, `reply ${next}`, SHAPE);
          if (does === "fail") calls.fail(next, new Error(`error ${next}`));
          if (does === "make") made.push(calls.commandAt(next));
          else expected[next] = [`${does === "answer" ? "reply" : "error"} ${next}`];
          next++;
        }
        expect(rows.told).to.deep.equal(expected);
        calls.abandon(new Error("given up"));
        for (let n = 0; n < count; n++) expected[n] ??= ["given up"];
        // Replies that still come are dropped.
        for (; isStarted && next < count; next++) calls.answer(next, "too late", SHAPE);
        for (const one of made) one.fulfil("too late", SHAPE);
        expect(rows.told).to.deep.equal(expected);
      }),
      fixedRuns(500),
    );
  });

  it("keeps the arguments of each call apart", () => {
    open(["set", "a", "1"], ["get", "b"], ["ping"], ["mget", "c", "d", "e"]);
    expect([0, 1, 2, 3].map((index) => calls.startOf(index))).to.deep.equal([0, 2, 3, 3]);
    expect([0, 1, 2, 3].map((index) => calls.view(index, IGNORED).args)).to.deep.equal([
      ["a", "1"],
      ["b"],
      [],
      ["c", "d", "e"],
    ]);
    expect([calls.length, batch.size]).to.deep.equal([4, 4]);
    for (let index = 0; index < 4; index++) calls.view(index, IGNORED).fail(new Error("looked at"));
    expect(rows.told, "what is looked at settles for itself").to.deep.equal([]);
  });

  it("takes only calls that nothing is special about, and only such as want their replies alike", () => {
    const names = ["get", "set", "ping", "blpop", "multi", "subscribe", "select", "no-such-command"];
    expect(names.filter((name) => calls.fits(specOf(name), false))).to.deep.equal([
      "get",
      "set",
      "ping",
      "no-such-command",
    ]);
    expect(calls.fits(specOf("get"), true), "the first decides").to.equal(true);
    calls.add(specOf("get"), ["a"], true);
    expect([calls.fits(specOf("get"), true), calls.fits(specOf("get"), false)]).to.deep.equal([true, false]);
    expect(calls.view(0, IGNORED).wantsBuffers).to.equal(true);
    calls.view(0, IGNORED).fail(new Error("the test is over"));
  });

  it("makes of a call one command, which knows its place, its batch and its database", () => {
    open(["set", "a", "1"], ["get", "b"]);
    calls.commandAt(0).fulfil("OK", SHAPE);
    expect(calls.commandAt(0).db).to.equal(0);
    calls.db = 3;
    const command = calls.commandAt(1);
    expect(command).to.include({ index: 1, db: 3, batch, name: "get" });
    expect(calls.commandAt(1)).to.equal(command);
    command.fulfil("1", SHAPE);
    expect(rows.told[1]).to.deep.equal(["1"]);
  });

  it("maps replies as commands do, and refuses what a mapper throws at", () => {
    open(["hgetall", "h"], ["hgetall", "h"], ["info"]);
    calls.answer(0, ["f", "v"], SHAPE);
    const spec = { ...specOf("hgetall"), replyMapper: (): never => JSON.parse("{") as never };
    calls.specs[1] = spec;
    calls.answer(1, ["f", "v"], SHAPE);
    expect(rows.told[0]).to.deep.equal([{ f: "v" }]);
    expect(rows.told[1]).to.have.length(1);
    expect(rows.told[1]?.[0]).to.match(/JSON/);
  });

  it("names the command on an error of a call, with credentials masked", () => {
    open(["set", "a", "1"], ["auth", "secret-word"]);
    const errors = [new ReplyError("WRONGTYPE no"), new ReplyError("WRONGPASS no")];
    errors.forEach((error, index) => {
      calls.fail(index, error);
    });
    expect(errors.map(({ command }) => command)).to.deep.equal([
      { name: "set", args: ["a", "1"] },
      { name: "auth", args: ["***"] },
    ]);
  });

  it("copies bytes when it is told to, once", () => {
    const bytes = Buffer.from("abc");
    open(["set", "a", bytes]);
    calls.capture();
    const captured = calls.args[1];
    bytes.fill("x");
    expect(String(captured)).to.equal("abc");
    calls.capture();
    expect(calls.args[1], "captured once").to.equal(captured);
    calls.add(specOf("set"), ["b", Buffer.from("d")], false);
    calls.capture();
    expect(calls.args[1], "captured again with those that came since").to.not.equal(captured);
  });

  it("copies bytes of a call that has nothing else", () => {
    const key = Buffer.from("abc");
    open(["get", key]);
    calls.capture();
    key.fill("x");
    expect(String(calls.args[0])).to.equal("abc");
  });

  it("adds up bytes, and has none of calls that were given up", () => {
    open(["set", "ab", "1"], ["get", "abcd"], ["set", "a", Buffer.alloc(10)]);
    expect([0, 1, 2].map((index) => calls.sizeAt(index))).to.deep.equal([3, 4, 11]);
    expect([calls.bytesOf(0, 3, 16), calls.bytesOf(1, 2, 16), calls.bytesOf(1, 1, 16)]).to.deep.equal([
      18, 4, 0,
    ]);
    calls.abandon(new Error("given up"));
    expect(calls.bytesOf(0, 3, 16)).to.equal(0);
  });

  it("forgets calls that were given up unwritten, and keeps those whose replies still come", () => {
    open(["get", "a"]);
    calls.abandon(new Error("given up"));
    expect([calls.specs, calls.args, calls.ends]).to.deep.equal([[], [], []]);
    open(["get", "a"], ["get", "b"]);
    batch.start();
    calls.answer(0, "1", SHAPE);
    calls.abandon(new Error("given up"));
    expect(calls.length).to.equal(2);
    const command = calls.commandAt(1);
    expect(command.state).to.equal(CommandState.Settled);
    calls.fail(1, new Error("late"));
    expect(rows.told).to.deep.equal([["1"], ["given up"]]);
  });
});
