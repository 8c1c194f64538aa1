/** Calls of a pipeline as one entry of the command queue: how far they are, and what becomes of those that are left. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type CallCollector, PlainCalls } from "../../../src/command/plain-calls";
import { CallsInFlight } from "../../../src/connection/calls-in-flight";

describe("CallsInFlight", () => {
  let told: string[];

  beforeEach(() => {
    told = [];
  });

  function callsOf(values: readonly string[], wantsBuffers = false): PlainCalls {
    const collector: CallCollector = {
      promise: null,
      answer: (index, value) => void told.push(`${index} ${String(value)}`),
      refuse: (index, { message }) => void told.push(`${index} ${message}`),
      fulfil: ({ index }, value) => void told.push(`${index} ${String(value)}`),
      reject: ({ index }, { message }) => void told.push(`${index} ${message}`),
    };
    const calls = new PlainCalls(new Batch(BatchKind.Pipeline, 0, null), collector);
    for (const value of values) calls.add(specOf("echo"), [value], wantsBuffers);
    return calls;
  }

  it("is what is left to be written and answered", () => {
    const entry = new CallsInFlight(callsOf(["a", "bb", "ccc", "dddd"]));
    const figures = (): unknown[] => [
      entry.unwritten,
      entry.isAwaited,
      entry.isOver,
      entry.bytesInFlight,
      entry.unwrittenBytes,
    ];
    expect(figures()).to.deep.equal([4, false, false, 0, 10]);
    entry.written = 3;
    expect(figures()).to.deep.equal([1, true, false, 6, 4]);
    entry.next = 2;
    expect(figures()).to.deep.equal([1, true, false, 3, 4]);
    [entry.next, entry.written] = [4, 4];
    expect(figures()).to.deep.equal([0, false, true, 0, 0]);
  });

  it("is a part of the calls where it is told so", () => {
    const entry = new CallsInFlight(callsOf(["a", "b", "c", "d"]), 1, 3);
    expect([entry.unwritten, entry.unwrittenBytes, entry.last().args]).to.deep.equal([2, 2, ["c"]]);
    entry.fail(() => new Error("lost"));
    expect(told).to.deep.equal(["1 lost", "2 lost"]);
  });

  it("reads replies as its calls want them", () => {
    expect(
      [false, true].map((wantsBuffers) => new CallsInFlight(callsOf(["a"], wantsBuffers)).isReadAsBuffers),
    ).to.deep.equal([false, true]);
  });

  it("makes commands of the oldest calls, which say whether they were written", () => {
    const entry = new CallsInFlight(callsOf(["a", "b", "c"]));
    entry.written = 1;
    const taken = [entry.takeNext(), entry.takeNext()];
    expect(taken.map(({ args, state }) => [args, state])).to.deep.equal([
      [["a"], CommandState.Sent],
      [["b"], CommandState.Queued],
    ]);
    expect(entry.next).to.equal(2);
    for (const one of taken) one.fail(new Error("lost"));
    expect(told).to.deep.equal(["0 lost", "1 lost"]);
  });

  it("leaves commands as they are whose calls were given up", () => {
    const calls = callsOf(["a", "b"]);
    const entry = new CallsInFlight(calls);
    entry.written = 2;
    calls.batch.isStarted = true;
    calls.abandon(new Error("given up"));
    expect(entry.takeNext().state).to.equal(CommandState.Settled);
    entry.fail(() => new Error("lost"));
    expect([told, entry.isSettled, entry.next]).to.deep.equal([["0 given up", "1 given up"], true, 1]);
  });

  it("fails what is not answered, and says of each whether it was written", () => {
    const entry = new CallsInFlight(callsOf(["a", "b", "c"]));
    [entry.next, entry.written] = [1, 2];
    entry.fail((isWritten) => new Error(isWritten ? "may have run" : "never sent"));
    expect([told, entry.isSettled, entry.isOver]).to.deep.equal([
      ["1 may have run", "2 never sent"],
      true,
      true,
    ]);
  });

  it("shows the oldest call while one is written, and touches nothing by that", () => {
    const entry = new CallsInFlight(callsOf(["a", "b"]));
    expect(entry.oldest()).to.equal(undefined);
    entry.written = 2;
    entry.next = 1;
    const shown = entry.oldest();
    expect(shown?.args).to.deep.equal(["b"]);
    shown?.fail(new Error("looked at"));
    expect(told).to.deep.equal([]);
  });

  it("has one mark for its end, which comes once", () => {
    const entry = new CallsInFlight(callsOf(["a", "b"]));
    const last = entry.last();
    expect([entry.last() === last, last.args, entry.isSettled]).to.deep.equal([true, ["b"], false]);
    entry.finish();
    expect([last.isSettled, entry.isSettled, told]).to.deep.equal([true, true, []]);
    const unmarked = new CallsInFlight(callsOf(["a"]));
    unmarked.finish();
    expect(unmarked.isSettled).to.equal(true);
  });
});
