/** The public class of a pipeline: what it takes and when, what `exec()` does at each point of its life, and who sees its commands. */

import { expect } from "chai";
import { LegacyCommand } from "../../../src/client/legacy-command";
import type { Command } from "../../../src/command/command";
import type { Script } from "../../../src/command/script";
import { PipelineUsedError, ReplyError } from "../../../src/errors";
import { addToPipeline, defineInPipeline, methodOf, Pipeline } from "../../../src/pipeline/pipeline";
import { PIPELINE_CLASS, type PipelineHost } from "../../../src/pipeline/pipeline-run";
import { failureOf } from "../../support/outcome";
import { ScriptedSender } from "../../support/scripted-sender";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("Pipeline", () => {
  let way: ScriptedSender;
  let host: PipelineHost;
  let pipeline: Pipeline;

  beforeEach(() => {
    way = new ScriptedSender({ keyPrefix: "p:" });
    host = way;
    pipeline = new Pipeline(host);
  });
  afterEach(() => {
    for (const one of way.batches.flat()) one.fail(new Error("the test is over"));
  });

  type Loose = Record<string, (...args: unknown[]) => Pipeline>;
  const loose = (one: unknown = pipeline): Loose => one as Loose;

  const sent = (): string[] => way.batches.flat().map(({ name, args }) => [name, ...args].join(" "));

  function answer(...replies: unknown[]): void {
    replies.forEach((reply, index) => {
      const command = way.batches.flat()[index] as Command;
      if (reply instanceof Error) command.fail(reply);
      else command.fulfil(reply, SHAPE);
    });
  }

  function exec(one: Pipeline = pipeline): Promise<unknown> {
    const outcome = one.exec() as Promise<unknown>;
    outcome.catch(() => {});
    return outcome;
  }

  it("takes commands by methods, by name, in lists and built by hand, in order", async () => {
    const own = new LegacyCommand("get", ["hand"], { replyEncoding: "utf8" });
    pipeline.get("a").call("GET", "b").callBuffer("get", "c");
    pipeline.send_command("get", "d");
    pipeline.sendCommand(own).addBatch([
      ["get", "e"],
      ["getBuffer", "f"],
    ]);
    expect(pipeline).to.include({ length: 7, isPipeline: true, isCluster: false, options: host.options });
    const outcome = exec();
    expect(sent()).to.deep.equal([
      ...["get p:a", "GET p:b", "get p:c", "get p:d"],
      ...["get hand", "get p:e", "get p:f"],
    ]);
    expect(way.batches.flat().map(({ wantsBuffers }) => wantsBuffers)).to.deep.equal([
      ...[false, false, true, false],
      ...[false, false, true],
    ]);
    answer("1", "2", "3", "4", "5", "6", "7");
    expect(((await outcome) as unknown[][]).map(([, value]) => value)).to.deep.equal([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
      "7",
    ]);
    expect(await own.promise).to.equal("5");
  });

  it("takes what is more than a command in a list, methods of its own among it", () => {
    const seen: unknown[] = [];
    loose()["ping"] = (...args) => {
      seen.push(...args);
      return pipeline;
    };
    pipeline.addBatch([["multi"], ["get", "a"], ["ping", "own"], ["exec"], ["get", "b"]]);
    exec();
    expect([sent(), seen]).to.deep.equal([["multi", "get p:a", "exec", "get p:b"], ["own"]]);
    expect(new Pipeline({ ...host, isCluster: true }).isCluster).to.equal(true);
  });

  it("gives what has no name the row of an error", async () => {
    for (const name of [undefined, 5]) loose()["call"]?.(name, "a");
    pipeline.get("a");
    const outcome = exec() as Promise<[Error | null, unknown][]>;
    answer("1");
    expect((await outcome).map(([error, value]) => error?.name ?? value)).to.deep.equal([
      "ArgumentError",
      "ArgumentError",
      "1",
    ]);
  });

  it("stops at what is unknown in a list, and has what came before it", () => {
    for (const name of ["no-such-command", "constructor", "toString", undefined]) {
      expect(() => pipeline.addBatch([["get", "a"], [name as string], ["get", "b"]])).to.throw(
        TypeError,
        "in a batch",
      );
    }
    expect(pipeline.length).to.equal(4);
    expect(() => methodOf(pipeline, "auth secret-word"))
      .to.throw(TypeError)
      .and.not.match(/secret-word/);
  });

  it("is sent once", async () => {
    pipeline.get("a");
    const outcome = exec();
    const heard: unknown[] = [];
    const again = await failureOf(pipeline.exec((error) => heard.push(error)));
    expect(again).to.be.instanceOf(PipelineUsedError);
    expect(heard).to.deep.equal([again]);
    answer("1");
    expect([await outcome, await pipeline.promise]).to.deep.equal([[[null, "1"]], [[null, "1"]]]);
    expect(way.batches.length).to.equal(1);
  });

  it("takes its callback and its options in either place", async () => {
    const heard: unknown[] = [];
    const callback = (_error: Error | null | undefined, rows: unknown): void => void heard.push(rows);
    for (const args of [[callback], [{ batchSize: 1 }, callback], [undefined, callback]]) {
      way.batches.length = 0;
      const one = new Pipeline(host);
      one.get("a").get("b");
      const outcome = (one.exec as (...args: unknown[]) => Promise<unknown>).apply(one, args);
      for (let index = 0; index < way.batches.length; index++) {
        for (const command of way.batches[index] ?? []) command.fulfil("1", SHAPE);
        await new Promise(setImmediate);
      }
      await outcome;
      expect(way.batches.length).to.equal(args.length === 2 && args[0] !== undefined ? 2 : 1);
    }
    expect(heard.length).to.equal(3);
  });

  it("refuses parts of no size, and may be sent then", async () => {
    pipeline.get("a");
    for (const batchSize of [0, -1, Number.NaN]) {
      expect((await failureOf(pipeline.exec({ batchSize }) as Promise<unknown>)).message).to.contain(
        '"batchSize" must be at least 1',
      );
    }
    exec();
    expect(sent()).to.deep.equal(["get p:a"]);
  });

  it("closes an open transaction with the first exec(), and is sent with the next", async () => {
    const inside = pipeline.get("a").multi().get("b");
    expect(inside.exec()).to.equal(pipeline);
    expect(way.batches).to.deep.equal([]);
    exec();
    expect(sent()).to.deep.equal(["get p:a", "multi", "get p:b", "exec"]);
  });

  it("that is one transaction is closed and sent at once", async () => {
    const one = new Pipeline(host, true);
    one.get("a");
    const outcome = exec(one);
    expect(sent()).to.deep.equal(["multi", "get p:a", "exec"]);
    answer("OK", "QUEUED", ["1"]);
    expect(await outcome).to.deep.equal([[null, "1"]]);
    const nested = new Pipeline(host, true);
    nested.multi();
    nested.get("a");
    expect(nested.exec(), "closes the inner one").to.equal(nested);
    expect(exec(nested)).to.be.instanceOf(Promise);
  });

  it("reads EXEC as bytes where a member wants bytes", () => {
    pipeline.multi().get("a").getBuffer("b").exec();
    pipeline.multi().get("c").exec();
    exec();
    const ends = way.batches.flat().filter(({ name }) => name === "exec");
    expect(ends.map(({ wantsBuffers }) => wantsBuffers)).to.deep.equal([true, false]);
  });

  it("queues a bare EXEC by execBuffer() outside of a transaction", async () => {
    const { emitWarning } = process;
    let warnings = 0;
    process.emitWarning = (() => warnings++) as typeof emitWarning;
    try {
      expect(pipeline.execBuffer()).to.equal(pipeline);
      pipeline.multi().get("a");
      expect(pipeline.execBuffer()).to.equal(pipeline);
    } finally {
      process.emitWarning = emitWarning;
    }
    expect(warnings).to.be.at.most(1);
    exec();
    expect(sent()).to.deep.equal(["exec", "multi", "get p:a", "exec"]);
    expect(way.batches.flat().map(({ wantsBuffers }) => wantsBuffers)).to.deep.equal([
      true,
      false,
      false,
      false,
    ]);
  });

  describe("a replaced sendCommand", () => {
    let seen: string[];

    function seeing(this: Pipeline, command: Command): Pipeline {
      seen.push([command.name, ...command.args].join(" "));
      return Pipeline.prototype.sendCommand.call(this, command);
    }

    beforeEach(() => {
      seen = [];
    });

    it("of one pipeline sees what is queued from then on", () => {
      pipeline.get("before");
      pipeline.sendCommand = seeing;
      pipeline.get("a");
      pipeline.addBatch([["get", "b"]]);
      pipeline.multi().get("c").exec();
      exec();
      expect(seen).to.deep.equal(["get p:a", "get p:b", "multi", "get p:c", "exec"]);
      expect(sent()).to.deep.equal(["get p:before", ...seen]);
    });

    it("sees what comes first, whatever that is, and an EXEC alone", () => {
      const firsts: [(one: Pipeline) => unknown, string[]][] = [
        [(one) => one.addBatch([["get", "a"]]), ["get p:a"]],
        [(one) => one.multi(), ["multi"]],
        [(one) => one.call("get", "a"), ["get p:a"]],
      ];
      for (const [first, words] of firsts) {
        seen = [];
        const one = new Pipeline(host);
        one.sendCommand = seeing;
        first(one);
        expect(seen).to.deep.equal(words);
      }
      seen = [];
      pipeline.multi().get("a");
      pipeline.sendCommand = seeing;
      pipeline.exec();
      class Seeing extends Pipeline {
        override sendCommand(command: Command): this {
          return seeing.call(this, command) as this;
        }
      }
      expect(new Seeing(host, true).length).to.equal(1);
      expect(seen).to.deep.equal(["exec", "multi"]);
    });

    it("of a class sees all, and may be put back", () => {
      class Seeing extends Pipeline {
        override sendCommand = seeing as never;
      }
      const one = new Seeing(host);
      one.get("a");
      expect(seen).to.deep.equal(["get p:a"]);
      const { sendCommand } = Pipeline.prototype;
      const other = new Pipeline(host);
      Pipeline.prototype.sendCommand = function (command) {
        seen.push("all");
        return sendCommand.call(this, command);
      };
      try {
        other.get("a");
      } finally {
        Pipeline.prototype.sendCommand = sendCommand;
      }
      other.get("b");
      exec(other);
      expect([seen, sent()]).to.deep.equal([
        ["get p:a", "all"],
        ["get p:a", "get p:b"],
      ]);
    });

    it("keeps back what it does not hand on", () => {
      pipeline.sendCommand = function (this: Pipeline, command: Command) {
        return command.args[0] === "p:b" ? this : Pipeline.prototype.sendCommand.call(this, command);
      };
      pipeline.get("a").get("b").get("c");
      exec();
      expect(sent()).to.deep.equal(["get p:a", "get p:c"]);
    });
  });

  describe("methods of its own", () => {
    const lua = "return 1";

    it("are those of scripts and commands that it alone was given", () => {
      pipeline.defineCommand("mine", { lua, numberOfKeys: 1 });
      pipeline.addBuiltinCommand("mod.test-pipeline");
      loose()["mine"]?.("k");
      loose()["mineBuffer"]?.("k");
      loose()["mod.test-pipeline"]?.("a");
      expect(loose(new Pipeline(host))["mine"]).to.equal(undefined);
      exec();
      expect(sent().map((words) => words.replace(/\b[0-9a-f]{40}\b/, "sha"))).to.deep.equal([
        ...["evalsha sha 1 p:k", "evalsha sha 1 p:k"],
        "mod.test-pipeline a",
      ]);
      expect(way.batches.flat().map(({ wantsBuffers }) => wantsBuffers)).to.deep.equal([false, true, false]);
    });

    it("are those of its client where it was made by hand, or of another class", () => {
      class ClientsOwn extends Pipeline {}
      addToPipeline(ClientsOwn.prototype, "mod.test-clients-own");
      defineInPipeline(ClientsOwn.prototype, "clients", {
        makeCommand: () => {
          throw new Error("made");
        },
      } as unknown as Script);
      const owner = { ...host, [PIPELINE_CLASS]: () => ClientsOwn } as unknown as PipelineHost;
      class Users extends Pipeline {}
      for (const One of [Pipeline, Users, ClientsOwn]) {
        const one = new One(owner);
        expect(loose(one)["mod.test-clients-own"], One.name).to.be.a("function");
        expect(Object.hasOwn(one, "clients"), One.name).to.equal(One !== ClientsOwn);
        expect(one.constructor).to.equal(One);
      }
    });

    it("are made as functions for whatever pipeline they are called on", () => {
      const { string, buffer } = pipeline.createBuiltinCommand("get");
      const other = new Pipeline(host);
      expect(string.call(other as never, "a")).to.equal(other);
      buffer.call(other as never, "b");
      exec(other);
      expect([sent(), pipeline.length]).to.deep.equal([["get p:a", "get p:b"], 0]);
      expect(way.batches.flat().map(({ wantsBuffers }) => wantsBuffers)).to.deep.equal([false, true]);
    });

    it("are named in a list", () => {
      const names = pipeline.getBuiltinCommands();
      names.length = 0;
      expect(pipeline.getBuiltinCommands()).to.include("get");
    });
  });

  it("rejects what is one transaction with the error of EXEC, which has those of its members", async () => {
    const one = new Pipeline(host, true);
    one.get("a");
    const outcome = exec(one);
    answer("OK", new ReplyError("ERR no"), new ReplyError("EXECABORT"));
    const error = (await failureOf(outcome)) as unknown as ReplyError;
    expect([error.message, error.previousErrors?.length]).to.deep.equal(["EXECABORT", 1]);
  });
});
