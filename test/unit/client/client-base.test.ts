/** The common part of the clients over a scripted chain: calls, views, replaced `sendCommand`, batches, scripts and added commands. */

import { expect } from "chai";
import {
  CHAIN,
  ClientBase,
  type ClientOptions,
  INITIALIZE,
  LIMITS,
  SOURCE,
} from "../../../src/client/client-base";
import { LegacyCommand } from "../../../src/client/legacy-command";
import { StreamingClient } from "../../../src/client/streaming/streaming-client";
import { IS_SUBSCRIBED } from "../../../src/client/streaming/streams";
import type { Command } from "../../../src/command/command";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { CALLS } from "../../../src/command/promise-completion";
import { ReplyError, ReservedNameError } from "../../../src/errors";
import { hooks } from "../../../src/observability/hooks";
import { type ClientSummary, SUMMARY } from "../../../src/observability/redact";
import type { Pipeline } from "../../../src/pipeline/pipeline";
import { copyLarge, lendCopy } from "../../../src/protocol/large-copies";
import { LARGE_BYTES } from "../../../src/protocol/limits";
import { codeOf, failureOf } from "../../support/outcome";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

/** Keeps what it is given: single commands and batches. */
class Bottom implements Dispatcher {
  readonly singles: Command[] = [];
  readonly batches: (readonly Command[])[] = [];
  /** In the order in which they came. */
  readonly words: string[] = [];

  dispatch(command: Command): void {
    this.singles.push(command);
    this.words.push(wordsOf(command));
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.batches.push(commands);
    this.words.push(...commands.map(wordsOf));
  }

  end(): void {
    for (const one of [...this.singles, ...this.batches.flat()]) one.fail(new Error("the test is over"));
  }
}

/** Cannot be sent. */
const NO_TEXT: unknown = Object.create(null);

const wordsOf = ({ name, args }: Command): string => [name, ...args].join(" ");

class TestClient extends StreamingClient {
  readonly isCluster = false;
  readonly bottom = new Bottom();
  readonly [CHAIN] = this.bottom;
  readonly [LIMITS] = {
    isWritable: true,
    isRelaxed: false,
    positionOf: () => ({ commandsAhead: 0, bytesAhead: 0, server: "server:1" }),
  };
  readonly [SOURCE] = { isLogging: false } as never;

  constructor(readonly options: ClientOptions = {}) {
    super();
    this[INITIALIZE]();
  }

  [IS_SUBSCRIBED](): boolean {
    return false;
  }

  [SUMMARY](): ClientSummary {
    return {} as ClientSummary;
  }
}

type Loose = Record<string, (...args: unknown[]) => Promise<unknown> & Pipeline>;

describe("ClientBase", () => {
  let client: TestClient;
  let bottom: Bottom;

  beforeEach(() => open());
  afterEach(() => bottom.end());

  function open(options: ClientOptions = {}): TestClient {
    client = new TestClient(options);
    ({ bottom } = client);
    return client;
  }

  /** Methods that the types do not know. */
  const loose = (one: unknown = client): Loose => one as Loose;

  /** Answers the last single command. */
  const answer = (reply: unknown): void => bottom.singles.at(-1)?.fulfil(reply, SHAPE);

  const quietly = <T>(call: Promise<T>): Promise<T> => {
    call.catch(() => {});
    return call;
  };

  describe("a call", () => {
    it("goes down the chain and is counted when it ends", async () => {
      const call = client.get("a");
      expect([client[CALLS].issued, client[CALLS].fulfilled]).to.deep.equal([1, 0]);
      answer("1");
      expect(await call).to.equal("1");
      const failing = client.get("a");
      bottom.singles[1]?.fail(new ReplyError("WRONGTYPE no"));
      expect((await failureOf(failing)).message).to.equal("WRONGTYPE no");
      const { issued, fulfilled, failed } = client[CALLS];
      expect([issued, fulfilled, failed, bottom.words]).to.deep.equal([2, 1, 1, ["get a", "get a"]]);
    });

    it("that cannot be sent fails, and neither throws nor counts", async () => {
      const error = await failureOf(client.set("a", NO_TEXT as never));
      expect([error.name, bottom.words, client[CALLS].issued]).to.deep.equal(["ArgumentError", [], 0]);
      open({ strictArguments: true });
      expect((await failureOf(client.set("a", undefined as never))).name).to.equal("ArgumentError");
      open();
      quietly(client.set("a", undefined as never));
      expect(bottom.words).to.deep.equal(["set a "]);
    });

    it("tells its callback, and its promise as well", async () => {
      const heard: unknown[] = [];
      const call = client.get("a", (error, value) => heard.push(error, value));
      answer("1");
      expect(await call).to.equal("1");
      await Promise.resolve();
      expect(heard).to.deep.equal([null, "1"]);
      expect(bottom.words).to.deep.equal(["get a"]);
    });

    it("is told to the instrumentation, if it is there, which hears how it ends", async () => {
      const told: unknown[] = [];
      hooks.call = (name, args, source) => {
        told.push(name, args, source === client[SOURCE]);
        return { onFulfilled: () => told.push("fulfilled"), onFailed: () => told.push("failed") };
      };
      try {
        const call = client.get("a");
        answer("1");
        await call;
      } finally {
        hooks.call = null;
      }
      expect(told).to.deep.equal(["get", ["a"], true, "fulfilled"]);
    });

    it("gets the prefix that the options have now", () => {
      const options: ClientOptions = { keyPrefix: "p:" };
      open(options);
      quietly(client.get("a"));
      options.keyPrefix = "";
      quietly(client.get("a"));
      options.keyPrefix = Buffer.from("q:");
      quietly(client.get("a"));
      expect(bottom.words).to.deep.equal(["get p:a", "get a", "get q:a"]);
    });

    it("gives the memory of its large bytes back, unless an application may have its hands on them", () => {
      for (const isIntercepted of [false, true]) {
        open();
        if (isIntercepted)
          client.sendCommand = (command) => ClientBase.prototype.sendCommand.call(client, command);
        quietly(client.set("k", Buffer.alloc(LARGE_BYTES)));
        const [command] = bottom.singles as [Command];
        command.fulfil("OK", SHAPE);
        const next = copyLarge(Buffer.alloc(LARGE_BYTES));
        lendCopy(next, Number.POSITIVE_INFINITY);
        expect(next.buffer === (command.args[1] as Buffer).buffer).to.equal(!isIntercepted);
      }
    });

    it("by name goes out as given, in whatever form it comes", async () => {
      const forms: [unknown[], string][] = [
        [["GET", "a"], "GET a"],
        [["MGET", ["a", "b"]], "MGET a b"],
        [[["SET", "a", "1"]], "SET a 1"],
        [[["PING"]], "PING"],
        [[["SET", "a"], "1"], "SET a 1"],
      ];
      for (const method of ["call", "callBuffer", "send_command"]) {
        open();
        for (const [args] of forms) quietly(loose()[method]?.(...args) as Promise<unknown>);
        expect(bottom.words, method).to.deep.equal(forms.map(([, words]) => words));
        expect(
          bottom.singles.every(({ wantsBuffers }) => wantsBuffers === (method === "callBuffer")),
        ).to.equal(true);
        bottom.end();
      }
      const heard: unknown[] = [];
      for (const wrong of [undefined, 5, [], [5]]) {
        const call = loose()["call"]?.(wrong, (error: Error) => heard.push(error.name)) as Promise<unknown>;
        expect((await failureOf(call)).message).to.contain("the name of a command must be a string");
      }
      expect(heard).to.deep.equal(Array.from({ length: 4 }, () => "ArgumentError"));
    });
  });

  describe("options that change", () => {
    it("have held from the beginning", async () => {
      open({ commandTimeout: 1 });
      expect(await codeOf(client.get("a"))).to.equal("COMMAND_TIMEOUT");
    });

    it("limit the calls from then on, and let go of them again", async () => {
      const { options } = open();
      for (const [name, value] of [
        ["commandTimeout", 1],
        ["commandTimeout", undefined],
      ] as const) {
        (options as Record<string, unknown>)[name] = value;
        const call = client.get("a");
        const isLimited = bottom.singles.at(-1)?.extra !== null;
        expect(isLimited).to.equal(value === 1);
        if (isLimited) expect(await codeOf(call)).to.equal("COMMAND_TIMEOUT");
        else answer("1");
        await call.catch(() => {});
      }
    });

    it("limit what blocks from then on", () => {
      const { options } = open();
      for (const blockingTimeout of [1e6, 0, 1e6]) {
        Object.assign(options, { blockingTimeout });
        quietly(client.blpop("k", 1));
        const isLimited = bottom.singles.at(-1)?.extra !== null;
        expect(isLimited, String(blockingTimeout)).to.equal(blockingTimeout > 0);
      }
    });

    it("hold for the commands of a pipeline while they are set", async () => {
      const { options } = open();
      const counts: number[][] = [];
      for (const wanted of [{}, { commandTimeout: 1e6 }, { commandTimeout: undefined }]) {
        Object.assign(options, wanted);
        quietly(client.pipeline().get("a").exec());
        counts.push(bottom.batches.flat().map(({ extra }) => (extra === null ? 0 : 1)));
      }
      expect(counts).to.deep.equal([[0], [0, 1], [0, 1, 0]]);
      options.showFriendlyErrorStack = true;
      quietly(client.pipeline().get("a").exec());
      quietly(client.get("b"));
      for (const one of [bottom.batches.at(-1)?.[0], bottom.singles[0]]) {
        expect(one?.extra?.callSite).to.be.an("object");
      }
    });
  });

  describe("a view", () => {
    it("has the settings of each with() that led to it, the later one's first", () => {
      const view = client
        .with({ timeout: 1000, retry: "reads-only" })
        .with({ retry: "at-most-once", cache: 50 });
      quietly(view.get("a"));
      const { extra } = bottom.singles[0] as Command;
      expect([extra?.retryPolicy, extra?.cacheTtlMs]).to.deep.equal(["at-most-once", 50]);
      quietly(client.get("b"));
      expect(bottom.singles[1]?.extra, "those of its client have none").to.equal(null);
    });

    it("is a client of the same kind, over the same chain, counted with it", async () => {
      const view = client.with({ timeout: 1000 });
      expect(view).to.be.instanceOf(TestClient);
      const call = view.get("a");
      answer("1");
      expect(await call).to.equal("1");
      expect([client[CALLS].issued, client[CALLS].fulfilled]).to.deep.equal([1, 1]);
      expect(view.options).to.equal(client.options);
    });

    it("limits each command of its batches", () => {
      const view = client.with({ retry: "at-most-once" });
      quietly(view.pipeline().get("a").set("b", 1).exec());
      quietly(view.multi().get("c").exec());
      expect(bottom.batches.map((batch) => batch.map(({ extra }) => extra?.retryPolicy))).to.deep.equal([
        ["at-most-once", "at-most-once"],
        Array.from({ length: 3 }, () => "at-most-once"),
      ]);
      expect(bottom.batches.flat().some(({ extra }) => extra?.callSite)).to.equal(false);
      quietly(client.pipeline().get("d").exec());
      expect(bottom.batches.at(-1)?.map(({ extra }) => extra)).to.deep.equal([null]);
    });

    it("sends nothing once its signal is aborted", async () => {
      const view = client.with({ signal: AbortSignal.abort() });
      expect(await codeOf(view.get("a"))).to.equal("ABORTED_BY_SIGNAL");
      const rows = (await view.pipeline().get("a").set("b", 1).exec()) ?? [];
      expect(rows.map(([error]) => (error as { code?: string } | null)?.code)).to.deep.equal([
        "ABORTED_BY_SIGNAL",
        "ABORTED_BY_SIGNAL",
      ]);
      expect(bottom.words).to.deep.equal([]);
    });

    it("leaves to its client what is the client's", () => {
      const view = client.with({ timeout: 1000 });
      const heard: unknown[] = [];
      expect(view.on("x", (word) => heard.push(word))).to.equal(view);
      client.emit("x", 1);
      expect(client.listenerCount("x")).to.equal(1);
      view.defineCommand("mine", { lua: "return 1", numberOfKeys: 0 });
      expect(loose()["mine"]).to.be.a("function");
      expect([heard, Object.keys(client.scriptsSet)]).to.deep.equal([[1], ["mine"]]);
    });

    it("has the options of its client as they change", async () => {
      const view = client.with({ retry: "reads-only" });
      (client.options as { commandTimeout?: number }).commandTimeout = 1;
      expect(await codeOf(view.get("a"))).to.equal("COMMAND_TIMEOUT");
    });
  });

  describe("a replaced sendCommand", () => {
    let seen: string[];
    const own = ClientBase.prototype.sendCommand;

    function replace(before: (command: Command) => void = () => {}): void {
      seen = [];
      client.sendCommand = function (this: TestClient, command: Command) {
        seen.push(wordsOf(command));
        before(command);
        return own.call(this, command);
      } as never;
    }

    it("sees each command once, in order, and what it hands on goes together", () => {
      replace();
      quietly(client.get("a"));
      quietly(client.pipeline().get("b").get("c").exec());
      quietly(client.multi().get("d").exec());
      expect(seen).to.deep.equal(["get a", "get b", "get c", "multi", "get d", "exec"]);
      expect(bottom.words).to.deep.equal(seen);
      expect(bottom.batches.map(({ length }) => length)).to.deep.equal([2, 3]);
    });

    it("knows the place of each command in its batch", () => {
      const places: unknown[][] = [];
      replace(({ pipelineIndex, inTransaction }) => places.push([pipelineIndex, inTransaction]));
      quietly(client.get("a"));
      quietly(client.pipeline().get("b").multi().get("c").exec().get("d").exec() as Promise<unknown>);
      expect(places).to.deep.equal([
        [undefined, false],
        [0, false],
        [1, true],
        [2, true],
        [3, false],
        [4, false],
      ]);
    });

    it("sees the commands of views as well", () => {
      replace();
      const view = client.with({ retry: "at-most-once" });
      quietly(view.get("a"));
      quietly(view.pipeline().get("b").get("c").exec());
      expect(seen).to.deep.equal(["get a", "get b", "get c"]);
      expect([bottom.words, bottom.batches.length]).to.deep.equal([seen, 1]);
    });

    it("keeps commands back that it does not hand on", () => {
      client.sendCommand = function (this: TestClient, command: Command) {
        return command.args[0] === "b" ? command.promise : own.call(this, command);
      } as never;
      quietly(client.pipeline().get("a").get("b").get("c").exec());
      expect(bottom.words).to.deep.equal(["get a", "get c"]);
    });

    it("does not make another batch out of order by sending one of its own meanwhile", () => {
      replace(({ args }) => {
        if (args[0] === "b") quietly(client.pipeline().get("own").exec());
      });
      quietly(client.pipeline().get("a").get("b").get("c").exec());
      expect(bottom.words.filter((words) => words !== "get own")).to.deep.equal(["get a", "get b", "get c"]);
    });

    it("that makes a call of its own puts it into no transaction", async () => {
      replace(({ args }) => {
        if (args[0] === "b") quietly(client.incr("own"));
      });
      const outcome = client.multi().get("a").get("b").get("c").exec();
      const sent = bottom.batches.flat();
      expect(sent.map(wordsOf)).to.deep.equal(["multi", "get a", "get b", "get c", "exec"]);
      expect(bottom.singles.map(wordsOf)).to.deep.equal(["incr own"]);
      const replies = ["OK", "QUEUED", "QUEUED", "QUEUED", ["1", "2", "3"]];
      sent.forEach((one, index) => {
        one.fulfil(replies[index], SHAPE);
      });
      expect((await outcome)?.map(([, value]) => value)).to.deep.equal(["1", "2", "3"]);
    });

    it("that throws fails its command, and the others go on", async () => {
      replace(({ args }) => {
        if (args[0] === "b") throw new Error("the tracer broke");
      });
      const outcome = client.pipeline().get("a").get("b").get("c").exec();
      expect(bottom.words).to.deep.equal(["get a", "get c"]);
      for (const one of bottom.batches[0] ?? []) one.fulfil("1", SHAPE);
      const rows = (await outcome) ?? [];
      expect(rows.map(([error, value]) => error?.message ?? value)).to.deep.equal([
        "1",
        "the tracer broke",
        "1",
      ]);
      quietly(client.get("d"));
      expect(bottom.words.at(-1)).to.equal("get d");
    });
  });

  describe("a command built by hand", () => {
    it("goes past what is gathered, behind it, and is counted", async () => {
      const command = new LegacyCommand("get", ["a"], { replyEncoding: "utf8" });
      const sent = client.sendCommand(command);
      expect(bottom.batches).to.deep.equal([[command]]);
      command.fulfil("1", SHAPE);
      expect(await sent).to.equal("1");
      expect([client[CALLS].issued, client[CALLS].fulfilled]).to.deep.equal([1, 1]);
    });

    it("must be a Command: node-redis takes a list here", async () => {
      const list = ["GET", "a"] as unknown as Command;
      expect(await codeOf(client.sendCommand(list))).to.equal("INVALID_ARGUMENT");
      expect(bottom.words).to.deep.equal([]);
    });

    it("is refused when it would put the connection out of step, or cannot be sent by now", async () => {
      const off = new LegacyCommand("client", ["reply", "off"]);
      expect(await codeOf(client.sendCommand(off))).to.equal("UNANSWERED_COMMAND");
      expect([bottom.words, client[CALLS].issued]).to.deep.equal([[], 0]);
    });

    it("has the limits of the view that sends it", async () => {
      const aborted = client.with({ signal: AbortSignal.abort() });
      expect(await codeOf(aborted.sendCommand(new LegacyCommand("get", ["a"])))).to.equal(
        "ABORTED_BY_SIGNAL",
      );
      quietly(client.with({ retry: "at-most-once" }).sendCommand(new LegacyCommand("get", ["a"])));
      expect(bottom.batches.map(([one]) => one?.extra?.retryPolicy)).to.deep.equal(["at-most-once"]);
    });
  });

  describe("a transaction", () => {
    it("is collected, or opened at once on the connection", async () => {
      quietly(client.multi([["get", "a"]]).exec());
      expect(bottom.batches.map((batch) => batch.map(wordsOf))).to.deep.equal([["multi", "get a", "exec"]]);
      quietly(client.multi({ pipeline: false }));
      quietly(client.multi([["get", "x"]], { pipeline: false }));
      expect(bottom.singles.map(wordsOf)).to.deep.equal(["multi", "multi"]);
      expect(bottom.singles.some(({ wantsBuffers }) => wantsBuffers)).to.equal(false);
      expect(client.multi({ pipeline: true })).to.have.property("isPipeline", true);
    });

    it("that was opened by hand ends with rows, or null", async () => {
      const wrong = new ReplyError("WRONGTYPE no");
      const heard: unknown[] = [];
      for (const [reply, rows] of [
        [
          ["1", wrong],
          [[null, "1"], [wrong]],
        ],
        [null, null],
      ] as const) {
        const exec = client.exec((error, value) => heard.push(error, value));
        answer(reply);
        expect(await exec).to.deep.equal(rows);
        expect(heard.splice(0)).to.deep.equal([null, rows]);
      }
      expect(bottom.words).to.deep.equal(["exec", "exec"]);
      const exec = client.exec();
      bottom.singles.at(-1)?.fail(new ReplyError("ERR EXEC without MULTI"));
      expect((await failureOf(exec)).message).to.equal("ERR EXEC without MULTI");
    });
  });

  describe("a script", () => {
    const lua = "return 1";

    it("becomes a method of the client and of pipelines that are made from then on", () => {
      const before = client.pipeline();
      client.defineCommand("mine", { lua, numberOfKeys: 1 });
      expect(loose(before)["mine"]).to.equal(undefined);
      expect(client.pipeline().constructor.name).to.equal("Pipeline");
      quietly(loose()["mine"]?.("k") as Promise<unknown>);
      quietly(loose()["mineBuffer"]?.("k") as Promise<unknown>);
      expect(
        bottom.singles.map(({ wantsBuffers, extra, args }) => [wantsBuffers, extra?.script?.lua, args[2]]),
      ).to.deep.equal([
        [false, lua, "k"],
        [true, lua, "k"],
      ]);
      const pipeline = loose(client.pipeline());
      pipeline["mine"]?.("k");
      expect(Object.keys(client)).to.include.members(["mine", "mineBuffer"]);
      expect(Object.keys(client.scriptsSet)).to.deep.equal(["mine"]);
    });

    it("takes the place of an earlier one of its name, and comes with the options", () => {
      open({ scripts: { mine: { lua, numberOfKeys: 0 } } });
      client.defineCommand("mine", { lua: "return 2", numberOfKeys: 0 });
      quietly(loose()["mine"]?.() as Promise<unknown>);
      const pipeline = client.pipeline();
      loose(pipeline)["mine"]?.();
      quietly(pipeline.exec());
      const all = [...bottom.singles, ...bottom.batches.flat()];
      expect(all.map(({ extra }) => extra?.script?.lua)).to.deep.equal(["return 2", "return 2"]);
    });

    it("has no name that the client needs", () => {
      for (const name of ["pipeline", "on", "options"]) {
        expect(() => client.defineCommand(name, { lua })).to.throw(ReservedNameError, name);
        expect(() => client.addBuiltinCommand(name)).to.throw(ReservedNameError, name);
      }
      expect([Object.keys(client.scriptsSet), client.addedBuiltinSet.size]).to.deep.equal([[], 0]);
    });

    it("is looked at as other calls are", async () => {
      open({ strictArguments: true, scripts: { mine: { lua, numberOfKeys: 0 } } });
      const heard: unknown[] = [];
      const call = loose()["mine"]?.({}, (error: Error) => heard.push(error.name)) as Promise<unknown>;
      const error = await failureOf(call);
      expect(error.name).to.equal("ArgumentError");
      expect(heard).to.deep.equal(["ArgumentError"]);
      expect([bottom.words, client[CALLS].issued]).to.deep.equal([[], 0]);
    });
  });

  describe("an added command", () => {
    it("becomes a method of the client and of its pipelines, and of no other client", () => {
      client.addBuiltinCommand("mod.test-client-base");
      quietly(loose()["mod.test-client-base"]?.("a") as Promise<unknown>);
      const pipeline = client.pipeline() as unknown as Loose;
      pipeline["mod.test-client-baseBuffer"]?.("b");
      quietly((pipeline as unknown as Pipeline).exec());
      expect(bottom.words).to.deep.equal(["mod.test-client-base a", "mod.test-client-base b"]);
      expect(bottom.batches[0]?.map(({ wantsBuffers }) => wantsBuffers)).to.deep.equal([true]);
      expect([...client.addedBuiltinSet]).to.deep.equal(["mod.test-client-base"]);
      const other = loose(new TestClient());
      expect(other["mod.test-client-base"]).to.equal(undefined);
    });

    it("knows its keys for all clients, if it is told them", () => {
      client.addBuiltinCommand("mod.test-client-keys", { keys: { first: 2 } });
      open({ keyPrefix: "p:" });
      quietly(client.call("mod.test-client-keys", "a", "b"));
      expect(bottom.words).to.deep.equal(["mod.test-client-keys a p:b"]);
      expect(() => client.addBuiltinCommand("mod.x", { keys: { first: 2, last: 1 } })).to.throw(
        "whole numbers",
      );
      expect(client.addedBuiltinSet.size).to.equal(0);
    });

    it("made as a function is sent for whom it is called on, past what is gathered", async () => {
      const { string, buffer } = client.createBuiltinCommand("get");
      const other = new TestClient({ keyPrefix: "p:" });
      quietly(string.call(client, "a") as Promise<unknown>);
      const heard: unknown[] = [];
      const call = buffer.call(other, "b", (_error: Error, value: unknown) => heard.push(value));
      expect([bottom.words, other.bottom.words]).to.deep.equal([["get a"], ["get p:b"]]);
      const [[one]] = other.bottom.batches as unknown as [[Command]];
      expect([bottom.batches[0]?.[0]?.wantsBuffers, one.wantsBuffers]).to.deep.equal([false, true]);
      one.fulfil(Buffer.from("1"), SHAPE);
      expect(String(await call)).to.equal("1");
      expect([heard.map(String), client[CALLS].issued, other[CALLS].issued]).to.deep.equal([["1"], 1, 1]);
      expect((await failureOf(string.call(client, NO_TEXT) as Promise<unknown>)).name).to.equal(
        "ArgumentError",
      );
    });

    it("is none of the built-in ones", () => {
      const names = client.getBuiltinCommands();
      expect(names).to.include.members(["get", "set"]);
      names.length = 0;
      expect(client.getBuiltinCommands().length).to.be.above(100);
    });
  });

  describe("a pipeline", () => {
    it("goes as one batch of commands about which nothing is special", () => {
      quietly(
        client
          .pipeline([
            ["get", "a"],
            ["get", "b"],
          ])
          .exec(),
      );
      expect(bottom.batches.map((batch) => batch.map(({ extra }) => extra))).to.deep.equal([[null, null]]);
    });

    it("is strict where its client is", async () => {
      open({ strictArguments: true });
      const rows =
        (await client
          .pipeline()
          .set("a", undefined as never)
          .exec()) ?? [];
      expect(rows[0]?.[0]?.name).to.equal("ArgumentError");
    });
  });

  it("opens streams of each kind of scan, with their key and options", async () => {
    const streams = [
      ["sscanStream", "sscan", false],
      ["sscanBufferStream", "sscan", true],
      ["hscanStream", "hscan", false],
      ["hscanBufferStream", "hscan", true],
      ["zscanStream", "zscan", false],
      ["zscanBufferStream", "zscan", true],
    ] as const;
    for (const [method, name, wantsBuffers] of streams) {
      open();
      const stream = client[method]("k", { match: "a*" });
      const over = (async () => {
        for await (const page of stream) expect(page).to.deep.equal([]);
      })();
      while (bottom.singles.length === 0) await new Promise((resolve) => setImmediate(resolve));
      expect([bottom.words, bottom.singles[0]?.wantsBuffers]).to.deep.equal([
        [`${name} k 0 MATCH a*`],
        wantsBuffers,
      ]);
      answer(["0", []]);
      await over;
    }
  });
});
