/** The inside of a pipeline over a scripted way out: commands, parts, broken commands, transactions, and how it ends. */

import { expect } from "chai";
import { type Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import type { Script } from "../../../src/command/script";
import { ReplyError } from "../../../src/errors";
import { PipelineRun } from "../../../src/pipeline/pipeline-run";
import type { Rows } from "../../../src/pipeline/transaction";
import { ScriptedSender } from "../../support/scripted-sender";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("PipelineRun", () => {
  let way: ScriptedSender;
  let run: PipelineRun;

  beforeEach(() => {
    way = new ScriptedSender();
    run = new PipelineRun(way, false);
  });

  const queue = (name: string, ...args: unknown[]): void => run.queue(specOf(name), args, false);
  const names = (commands: readonly Command[]): string[] => commands.map(({ name }) => name);
  const sent = (): Command[] => way.batches.flat();

  function answerAll(commands: readonly Command[], ...replies: unknown[]): void {
    for (const [i, command] of commands.entries()) {
      const reply = replies[i];
      if (reply instanceof Error) command.fail(reply);
      else command.fulfil(reply, SHAPE);
    }
  }

  /** The rows when just the commands with these keys were sent, and answered with "1", "2" and so on. */
  async function rowsOf(keys: readonly string[]): Promise<Rows> {
    const commands = sent();
    expect(commands.map(({ args }) => args[0])).to.deep.equal(keys);
    answerAll(commands, ...keys.map((_, index) => `${index + 1}`));
    return (await run.outcome) ?? [];
  }

  const failure = (): Promise<Error> =>
    run.outcome.then(
      () => new Error("it was fulfilled"),
      (error: Error) => error,
    );

  it("hands its commands on as one batch, and is over with the last row", async () => {
    queue("set", "a", 1);
    queue("get", "a");
    run.start();
    const [commands] = way.batches as [Command[]];
    expect(commands.map(({ args }) => args)).to.deep.equal([["a", "1"], ["a"]]);
    answerAll(commands.slice(0, 1), "OK");
    expect(way.callCounts.fulfilled, "counted once, at the end").to.equal(0);
    answerAll(commands.slice(1), "1");
    expect(await run.outcome).to.deep.equal([
      [null, "OK"],
      [null, "1"],
    ]);
    expect([way.callCounts.issued, way.callCounts.fulfilled, way.callCounts.failed]).to.deep.equal([2, 2, 0]);
  });

  it("makes its commands one batch, and its rows stand in their order", async () => {
    queue("set", "a", 1);
    queue("get", "a");
    run.start();
    const commands = sent();
    expect(names(commands)).to.deep.equal(["set", "get"]);
    const [batch] = commands.map((one) => one.batch) as [Batch];
    expect([batch.size, batch.left, batch.kind]).to.deep.equal([2, 2, BatchKind.Pipeline]);
    expect(commands.every((one, index) => one.batch === batch && one.index === index)).to.equal(true);
    const wrong = new ReplyError("WRONGTYPE no");
    answerAll([...commands].reverse(), "v", wrong);
    expect(await run.outcome).to.deep.equal([[wrong], [null, "v"]]);
    expect([
      way.callCounts.fulfilled,
      way.callCounts.failed,
      way.callCounts.errors.get("WRONGTYPE"),
    ]).to.deep.equal([1, 1, 1]);
  });

  it("keeps the place of each call for a client that asks for it", () => {
    way = new ScriptedSender({ showFriendlyErrorStack: true });
    run = new PipelineRun(way, false);
    queue("get", "a");
    queue("set", "a", 1);
    run.start();
    expect(sent().map(({ extra }) => /pipeline-run\.test/.test(extra?.callSite?.stack ?? ""))).to.deep.equal([
      true,
      true,
    ]);
  });

  it("puts the prefix before keys", () => {
    way = new ScriptedSender({ keyPrefix: "p:" });
    run = new PipelineRun(way, false);
    queue("mget", "a", "b");
    queue("blpop", "c", 0);
    run.start();
    expect(sent().map(({ args }) => args)).to.deep.equal([
      ["p:a", "p:b"],
      ["p:c", "0"],
    ]);
  });

  it("is over at once without commands", async () => {
    run.start();
    expect(await run.outcome).to.deep.equal([]);
    expect(way.batches.length).to.equal(0);
  });

  it("takes nothing more once it was sent", async () => {
    queue("get", "a");
    run.start();
    queue("get", "b");
    expect(sent().length).to.equal(1);
    answerAll(sent(), "1");
    expect(await run.outcome).to.deep.equal([[null, "1"]]);
  });

  it("keeps bytes as they were when it was sent", () => {
    const bytes = Buffer.from("abc");
    queue("set", "k", bytes);
    run.start();
    bytes.fill("x");
    expect(String(sent()[0]?.args[1])).to.equal("abc");
  });

  it("keeps bytes that a replaced sendCommand puts into a command", () => {
    const bytes = Buffer.from("abc");
    run.carrier = {
      sendCommand(command: Command): void {
        command.args[1] = bytes;
        run.queueCommand(command);
      },
    };
    run.queue(specOf("set"), ["k", "v"], false);
    run.start();
    bytes.fill("x");
    expect(String(sent()[0]?.args[1])).to.equal("abc");
  });

  it("gives a broken command the row of its error and sends the others", async () => {
    way = new ScriptedSender({ strictArguments: true });
    run = new PipelineRun(way, false);
    queue("get", "a");
    queue("set", "a", { no: "text" });
    queue("get", "b");
    run.start();
    const rows = await rowsOf(["a", "b"]);
    expect(rows.map(([error, value]) => error?.name ?? value)).to.deep.equal(["1", "ArgumentError", "2"]);
  });

  it("sends no transaction of which a member is broken, and the commands around it", async () => {
    const broken = new Error("broken");
    queue("get", "before");
    run.openTransaction();
    queue("get", "a");
    run.appendBroken(specOf("set"), broken);
    run.closeTransaction();
    queue("get", "after");
    run.start();
    const rows = await rowsOf(["before", "after"]);
    expect(rows[3]).to.deep.equal([broken]);
    for (const place of [1, 2, 4]) expect(rows[place]?.[0]?.message).to.contain("EXECABORT");
    expect([rows[0], rows[5]]).to.deep.equal([
      [null, "1"],
      [null, "2"],
    ]);
  });

  it("sends part after part, the next when the last one is answered", async () => {
    for (const key of ["a", "b", "c", "d", "e"]) queue("get", key);
    run.start(2);
    const sizes = (): number[] => way.batches.map(({ length }) => length);
    expect(sizes()).to.deep.equal([2]);
    const [first, second] = way.batches[0] as [Command, Command];
    answerAll([second], "b");
    expect(sizes()).to.deep.equal([2]);
    answerAll([first], "a");
    await new Promise(setImmediate);
    expect(sizes()).to.deep.equal([2, 2]);
    const parts = way.batches.map(([one]) => one?.batch);
    expect(parts[0]).to.not.equal(parts[1]);
    expect(parts.map((part) => part?.size)).to.deep.equal([2, 2]);
    answerAll(way.batches[1] ?? [], "c", "d");
    await new Promise(setImmediate);
    answerAll(way.batches[2] ?? [], "e");
    expect((await run.outcome)?.map(([, value]) => value)).to.deep.equal(["a", "b", "c", "d", "e"]);
  });

  it("sends any number of parts that are answered at once", async () => {
    way.onBatch = (commands) => {
      for (const command of commands) command.fail(new Error("closed"));
    };
    for (let i = 0; i < 20_000; i++) queue("get", `k${i}`);
    run.start(1);
    expect((await run.outcome)?.length).to.equal(20_000);
    expect(way.batches.length).to.equal(20_000);
  });

  it("never divides a transaction", () => {
    run.openTransaction();
    for (const key of ["a", "b", "c"]) queue("get", key);
    run.closeTransaction();
    run.start(1);
    expect(way.batches.map(names)).to.deep.equal([["multi", "get", "get", "get", "exec"]]);
    expect(sent()[0]?.batch?.kind).to.equal(BatchKind.Transaction);
  });

  it("maps what EXEC brought as the commands would have, and counts errors among it", async () => {
    run.openTransaction();
    queue("hgetall", "h");
    queue("incr", "k");
    run.closeTransaction();
    run.start();
    const wrong = new ReplyError("WRONGTYPE no");
    answerAll(sent(), "OK", "QUEUED", "QUEUED", [["f", "v"], wrong]);
    const rows = (await run.outcome) ?? [];
    expect(rows[3]).to.deep.equal([null, [{ f: "v" }, wrong]]);
    expect([way.callCounts.fulfilled, way.callCounts.failed]).to.deep.equal([3, 1]);
  });

  it("tells of a pipeline that is one transaction what EXEC brought alone", async () => {
    const transaction = async (...replies: unknown[]): Promise<unknown> => {
      way = new ScriptedSender();
      way.observes = true;
      run = new PipelineRun(way, true);
      run.openTransaction();
      queue("get", "a");
      queue("get", "b");
      run.closeTransaction();
      run.start();
      answerAll(sent(), "OK", ...replies);
      return run.outcome.catch((error: Error) => error);
    };
    const wrong = new ReplyError("WRONGTYPE no");
    expect(await transaction("QUEUED", "QUEUED", ["1", wrong])).to.deep.equal([[null, "1"], [wrong]]);
    expect(way.told.map(([word]) => word)).to.deep.equal(["around", "fulfilled"]);
    expect(way.told[0], "MULTI and EXEC are not counted").to.deep.equal(["around", 2]);
    expect(await transaction("QUEUED", "QUEUED", null)).to.equal(null);
    const aborted = (await transaction(
      new ReplyError("ERR no"),
      "QUEUED",
      new ReplyError("EXECABORT discarded"),
    )) as ReplyError;
    expect(aborted.message).to.equal("EXECABORT discarded");
    expect(aborted.previousErrors?.map(({ message }) => message)).to.deep.equal(["ERR no"]);
    expect(way.told.at(-1)).to.deep.equal(["failed", "EXECABORT discarded"]);
  });

  it("rejects only when no command found a node of the cluster", async () => {
    const unavailable = (): Error => Object.assign(new Error("no node"), { code: "CLUSTER_UNAVAILABLE" });
    for (const others of [unavailable(), "1"]) {
      way = new ScriptedSender();
      run = new PipelineRun(way, false);
      queue("get", "a");
      queue("get", "b");
      run.start();
      answerAll(sent(), unavailable(), others);
      expect((await failure()).message).to.equal(others === "1" ? "it was fulfilled" : "no node");
    }
  });

  it("tells callbacks the row of their command, in a later run", async () => {
    const heard: unknown[][] = [];
    queue("get", "a", (...words: unknown[]) => heard.push(words));
    queue("get", "b");
    run.start();
    expect(sent().map(({ args }) => args[0])).to.deep.equal(["a", "b"]);
    answerAll(sent(), "1", "2");
    expect(heard).to.deep.equal([]);
    await run.outcome;
    expect(heard).to.deep.equal([[null, "1"]]);
  });

  it("tells the outcome of a command built by hand in its row and by its own promise", async () => {
    const own = new Command(specOf("get"), ["a"], false, new PromiseCompletion());
    queue("get", "before");
    run.queueCommand(own);
    const settled = new Command(specOf("get"), ["b"], false, new PromiseCompletion());
    settled.fulfil("done", SHAPE);
    run.queueCommand(settled);
    run.start();
    answerAll(sent(), "0", "1");
    const rows = (await run.outcome) ?? [];
    expect(rows.slice(0, 2)).to.deep.equal([
      [null, "0"],
      [null, "1"],
    ]);
    expect(rows[2]?.[0]?.message).to.contain("already settled");
    expect([await own.promise, await settled.promise, own.pipelineIndex]).to.deep.equal(["1", "done", 1]);
  });

  it("fails a command built by hand that cannot be sent, by its row and by its own promise", async () => {
    const own = new Command(specOf("client"), ["reply", "off"], false, new PromiseCompletion());
    const ended = own.promise.catch((error: Error) => error);
    run.queueCommand(own);
    run.start();
    expect(way.batches).to.deep.equal([]);
    expect((await run.outcome)?.[0]?.[0]).to.equal(await ended);
  });

  it("queues scripts, which know their batch, and a script that cannot be sent as an error", async () => {
    const made: unknown[][] = [];
    const script = {
      makeCommand: (...words: unknown[]) => {
        const [args, wantsBuffers, completion] = words as [string[], boolean, PipelineRun];
        made.push(args);
        if (args.length === 0) throw new Error("no number of keys");
        return new Command(specOf("evalsha"), ["sha", ...args], wantsBuffers, completion);
      },
    } as unknown as Script;
    run.queue(specOf("evalsha"), ["0"], false, script);
    run.queue(specOf("evalsha"), [], false, script);
    run.start();
    const [command] = sent() as [Command];
    expect(sent().length).to.equal(1);
    expect(command.extra?.scriptBatch).to.equal(command.batch);
    answerAll([command], "done");
    const rows = (await run.outcome) ?? [];
    expect([rows[0]?.[1], rows[1]?.[0]?.message]).to.deep.equal(["done", "no number of keys"]);
    expect(made).to.deep.equal([["0"], []]);
  });

  it("passes each command through a replaced send, those before it excepted", () => {
    queue("get", "before");
    const seen: (number | undefined)[] = [];
    const sendCommand = (command: Command): void => {
      seen.push(command.pipelineIndex);
      if (command.args[0] !== "kept back") run.queueCommand(command);
    };
    run.carrier = { sendCommand };
    for (const key of ["a", "kept back", "b"]) queue("get", key);
    expect(seen).to.deep.equal([1, 2, 2]);
    run.start();
    expect(sent().map(({ args }) => args[0])).to.deep.equal(["before", "a", "b"]);
  });

  it("maps the reply of an EXEC whose MULTI was sent before it", async () => {
    queue("lpush", "a", "1");
    queue("exec");
    run.start();
    answerAll(sent(), "QUEUED", [1]);
    expect(await run.outcome).to.deep.equal([
      [null, "QUEUED"],
      [null, [1]],
    ]);
  });

  it("tells who traces it how it went, with what was sent inside", async () => {
    way.traces = true;
    queue("get", "a");
    run.start();
    answerAll(sent(), "1");
    await run.outcome;
    expect(way.told).to.deep.equal([["traced"], ["end", 1, 0, null]]);
    expect([run.kind, run.length]).to.deep.equal(["pipeline", 1]);
  });

  it("shows its first commands, with credentials masked", () => {
    queue("auth", "secret-word");
    queue("get", "a");
    queue("get", "b");
    expect(run.describe(2)).to.deep.equal([
      ["auth", "***"],
      ["get", "a"],
    ]);
    expect(run.nameAt(2)).to.equal("get");
  });
});
