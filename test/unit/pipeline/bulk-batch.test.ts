/** One batch of a bulk over a scripted way out: what it takes, what it makes of transactions, and which rows it hands out. */

import { expect } from "chai";
import { BatchKind } from "../../../src/command/batch";
import type { Command } from "../../../src/command/command";
import { Script } from "../../../src/command/script";
import { type AbortError, ReplyError } from "../../../src/errors";
import { BulkBatch } from "../../../src/pipeline/bulk-batch";
import { defineInPipeline, Pipeline } from "../../../src/pipeline/pipeline";
import { ScriptedSender } from "../../support/scripted-sender";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;
const QUEUED = ["OK", "QUEUED", "QUEUED"];

describe("BulkBatch", () => {
  let way: ScriptedSender;
  let batch: BulkBatch;

  beforeEach(() => open());

  function open({ keepsRows = true, keyPrefix = "" } = {}): BulkBatch {
    way = new ScriptedSender({ keyPrefix });
    batch = new BulkBatch(way, OwnPipeline, keepsRows);
    return batch;
  }

  class OwnPipeline extends Pipeline {}
  defineInPipeline(
    OwnPipeline.prototype,
    "raise",
    new Script({ lua: "return 1", numberOfKeys: 1 }, undefined),
  );

  function add(...commands: unknown[][]): void {
    for (const command of commands) batch.add(command);
  }

  /** Answers what was sent with these replies. */
  function answer(...replies: unknown[]): void {
    const commands = way.batches.flat();
    replies.forEach((reply, index) => {
      settle(commands[index] as Command, reply);
    });
  }

  function settle(command: Command, reply: unknown): void {
    if (reply instanceof Error) command.fail(reply);
    else command.fulfil(reply, SHAPE);
  }

  const sent = (): string[] => way.batches.flat().map(({ name, args }) => [name, ...args].join(" "));
  const failures = (): unknown[][] => batch.failures.map(({ index, error }) => [index, error.message]);

  it("fails its unsettled commands when it is aborted", async () => {
    add(["get", "a"], ["get", "b"]);
    batch.send();
    answer("1");
    const given = new Error("given up");
    batch.abort(given);
    expect(await batch.outcome).to.deep.equal([[null, "1"], [given]]);
  });

  it("takes commands of the table, of the client's scripts, in both forms", () => {
    open({ keyPrefix: "p:" });
    add(["get", "a"], ["getBuffer", "b"], ["getBuffer", "c"], ["get", "d"], ["raise", "k"], ["call", "PING"]);
    batch.send();
    const commands = way.batches.flat();
    expect(commands.map(({ name, args, wantsBuffers }) => [name, args.at(-1), wantsBuffers])).to.deep.equal([
      ["get", "p:a", false],
      ["get", "p:b", true],
      ["get", "p:c", true],
      ["get", "p:d", false],
      ["evalsha", "k", false],
      ["PING", undefined, false],
    ]);
    expect([batch.length, batch.kind, commands[0]?.batch?.kind]).to.deep.equal([
      6,
      "bulk",
      BatchKind.Automatic,
    ]);
    answer(...commands.map(() => "1"));
  });

  it("takes names in any letter case, those of transactions included", async () => {
    add(["SET", "a", "1"], ["Get", "a"]);
    batch.send();
    expect(way.batches[0]?.map(({ name }) => name)).to.deep.equal(["set", "get"]);
    answer("OK", "1");
    const other = open();
    other.add(["MULTI"]);
    expect(other.isOpen).to.equal(true);
    other.add(["EXEC"]);
    expect(other.isOpen).to.equal(false);
    expect(() => open().add(["CONSTRUCTOR"])).to.throw(TypeError, 'Unknown command "CONSTRUCTOR"');
  });

  it("refuses what is no command, and goes on with those before it", async () => {
    add(["get", "a"]);
    for (const wrong of ["get", null, { 0: "get" }]) {
      expect(() => batch.add(wrong as never)).to.throw(TypeError, /must be an array \[name, \.\.\.args\]$/);
    }
    for (const wrong of ["no-such-command", "constructor", undefined, null, 1]) {
      expect(() => batch.add([wrong])).to.throw(TypeError, `Unknown command "${wrong}"`);
    }
    add(["get", "b"]);
    batch.send();
    answer("1", "2");
    expect(await batch.outcome).to.deep.equal([
      [null, "1"],
      [null, "2"],
    ]);
  });

  it("refuses what is no name in the place of its first command", () => {
    for (const wrong of [undefined, null, 0, ""]) {
      expect(() => open().add([wrong])).to.throw(TypeError, `Unknown command "${wrong}"`);
    }
    expect(() => open().add([])).to.throw(TypeError, `Unknown command "undefined"`);
  });

  it("takes the word up again that came before a wrong one", () => {
    add(["set", "a", "1"]);
    expect(() => batch.add(["no-such-command"])).to.throw(TypeError);
    add(["set", "b", "2"], ["get", "c"]);
    batch.send();
    expect(way.batches[0]?.map(({ name }) => name)).to.deep.equal(["set", "set", "get"]);
    answer("OK", "OK", "1");
  });

  it("keeps bytes as they were when the source gave them", () => {
    const bytes = Buffer.from("abc");
    for (const name of ["set", "raise"]) {
      open();
      bytes.write("abc");
      add([name, "k", bytes]);
      bytes.fill("x");
      batch.send();
      expect(String(way.batches[0]?.[0]?.args.at(-1)), name).to.equal("abc");
      answer("1");
    }
  });

  it("is open as long as a transaction is", () => {
    const states = [
      ["get", "a"],
      ["multi"],
      ["get", "b"],
      ["exec"],
      ["multi"],
      ["discard"],
      // Servers know no nested ones: one EXEC ends both.
      ["multi"],
      ["multi"],
      ["exec"],
      ["get", "c"],
    ].map((command) => {
      add(command);
      return batch.isOpen;
    });
    expect(states).to.deep.equal([false, true, true, false, true, false, true, true, false, false]);
    batch.send();
    expect(sent()).to.deep.equal([
      "get a",
      ...["multi", "get b", "exec"],
      ...["multi", "discard"],
      ...["multi", "multi", "exec"],
      "get c",
    ]);
    expect(way.batches[0]?.[0]?.batch?.kind).to.equal(BatchKind.Transaction);
    for (const command of way.batches.flat()) command.fail(new Error("the test is over"));
  });

  it("fails an EXEC without MULTI, and sends the others", async () => {
    add(["get", "a"], ["exec"], ["get", "b"], ["multi"], ["exec"], ["exec"]);
    batch.send();
    expect(sent()).to.deep.equal(["get a", "get b", "multi", "exec"]);
    answer("1", "2", "OK", []);
    const rows = (await batch.outcome) ?? [];
    expect(rows.map(([error, value]) => error?.message ?? value)).to.deep.equal([
      ...["1", "ERR EXEC without MULTI", "2"],
      ...["OK", [], "ERR EXEC without MULTI"],
    ]);
    expect(failures()).to.deep.equal([
      [1, "ERR EXEC without MULTI"],
      [5, "ERR EXEC without MULTI"],
    ]);
    expect(batch.failures.map(({ error }) => (error as AbortError).command?.name)).to.deep.equal([
      "exec",
      "exec",
    ]);
  });

  it("sends nothing of a transaction in which the source ended", async () => {
    add(["get", "a"], ["multi"], ["get", "b"], ["exec"], ["multi"], ["get", "c"], ["get", "d"]);
    batch.send();
    expect(sent()).to.deep.equal(["get a", "multi", "get b", "exec"]);
    answer("1", "OK", "QUEUED", ["2"]);
    const rows = (await batch.outcome) ?? [];
    expect(rows.slice(0, 4)).to.deep.equal([
      [null, "1"],
      [null, "OK"],
      [null, "QUEUED"],
      [null, ["2"]],
    ]);
    for (const row of rows.slice(4)) expect(row[0]?.message).to.contain("ended inside a transaction");
    expect(failures().map(([index]) => index)).to.deep.equal([4, 5, 6]);
  });

  it("hands each row out once, and errors for as long as EXEC may ask for them", () => {
    add(["get", "a"], ["get", "b"], ["get", "c"]);
    batch.send();
    expect(batch.takeRow(0)).to.equal(null);
    const wrong = new ReplyError("WRONGTYPE no");
    answer("1", wrong);
    expect([batch.takeRow(0), batch.takeRow(0)]).to.deep.equal([
      [null, "1"],
      [null, null],
    ]);
    expect([batch.takeRow(1), batch.takeRow(1), batch.takeRow(2)]).to.deep.equal([[wrong], [wrong], null]);
    expect(batch.isSettled).to.equal(false);
    settle(way.batches[0]?.[2] as Command, "3");
    expect([batch.isSettled, batch.takeRow(2)]).to.deep.equal([true, [null, "3"]]);
  });

  it("is not settled before it was sent", () => {
    expect(batch.isSettled).to.equal(false);
    batch.send();
    expect(batch.isSettled).to.equal(true);
  });

  it("maps what EXEC brought although the members' rows were handed out, refused ones left out", async () => {
    add(["multi"], ["hgetall", "h"], ["incr", "k"], ["hgetall", "i"], ["exec"]);
    batch.send();
    const refused = new ReplyError("ERR no");
    answer("OK", "QUEUED", refused, "QUEUED");
    for (let index = 0; index < 4; index++) batch.takeRow(index);
    settle(way.batches.flat()[4] as Command, [
      ["f", "1"],
      ["g", "2"],
    ]);
    await batch.outcome;
    expect(batch.takeRow(4)).to.deep.equal([null, [{ f: "1" }, { g: "2" }]]);
  });

  it("wakes the reader when its row has come, and for no other", async () => {
    add(["get", "a"], ["get", "b"], ["get", "c"]);
    batch.send();
    let woken = 0;
    const untilRow = (index: number): void => void batch.untilRow(index).then(() => woken++);
    const told: number[] = [];
    for (const [awaited, reply] of [
      [0, "1"],
      [1, new ReplyError("ERR no")],
      [2, "3"],
    ] as const) {
      untilRow(awaited);
      await Promise.resolve();
      settle(way.batches[0]?.[awaited] as Command, reply);
      await Promise.resolve();
      told.push(woken);
    }
    expect(told).to.deep.equal([1, 2, 3]);
  });

  it("lets the reader sleep while other rows come", async () => {
    add(["get", "a"], ["get", "b"], ["get", "c"]);
    batch.send();
    let isAwake = false;
    void batch.untilRow(2).then(() => {
      isAwake = true;
    });
    const [first, second, third] = way.batches[0] as [Command, Command, Command];
    settle(first, "1");
    settle(second, new ReplyError("ERR no"));
    await Promise.resolve();
    expect(isAwake).to.equal(false);
    settle(third, "3");
    await Promise.resolve();
    expect(isAwake).to.equal(true);
  });

  it("adds up what the replies take, of those who read them", () => {
    add(["get", "a"], ["get", "b"]);
    batch.send();
    answer("12345", "678");
    expect(batch.replyBytes).to.equal(8);
    open({ keepsRows: false });
    add(["get", "a"]);
    batch.send();
    answer("12345");
    expect(batch.replyBytes).to.equal(0);
  });

  it("keeps failures and no rows for those who want none", async () => {
    open({ keepsRows: false });
    const wrong = new ReplyError("ERR no");
    add(["get", "a"], ["get", "b"], ["get", "c"]);
    batch.send();
    answer("1", wrong, "3");
    expect(batch.isSettled).to.equal(true);
    await batch.outcome;
    expect([batch.takeRow(0), batch.takeRow(2)]).to.deep.equal([null, null]);
    expect(batch.failures).to.deep.equal([{ index: 1, error: wrong }]);
    expect([way.callCounts.fulfilled, way.callCounts.failed]).to.deep.equal([2, 1]);
  });

  it("counts the errors in the reply of EXEC although no rows are kept", async () => {
    open({ keepsRows: false });
    add(["multi"], ["get", "a"], ["incr", "b"], ["exec"]);
    batch.send();
    answer(...QUEUED, ["1", new ReplyError("ERR no")]);
    await batch.outcome;
    expect([way.callCounts.failed, way.callCounts.errors.get("ERR")]).to.deep.equal([1, 1]);
  });

  it("tells callbacks of commands their rows, whether rows are kept or not", async () => {
    for (const keepsRows of [true, false]) {
      open({ keepsRows });
      const heard: unknown[] = [];
      add(["get", "a", (_error: Error | null, value: unknown) => heard.push(value)], ["get", "b"]);
      batch.send();
      answer("1", "2");
      await batch.outcome;
      expect(heard, `${keepsRows}`).to.deep.equal(["1"]);
    }
  });
});
