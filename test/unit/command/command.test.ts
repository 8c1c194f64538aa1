/** A command settles once and tells everybody the same, whoever has put what in the place of its `resolve` and `reject`. */

import { inspect } from "node:util";
import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import {
  Command,
  CommandState,
  issuedBy,
  markAnswered,
  nameCommand,
  Origin,
} from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { ReplyForm } from "../../../src/command/reply-form";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import { MAX_DEPTH } from "../../../src/protocol/limits";
import { Decode } from "../../../src/protocol/resp-types";
import { fixedRuns } from "../../support/properties";
import { uncaughtDuring } from "../../support/uncaught";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

const RESP3_SHAPE = { protocol: 3, replyMapping: "resp3" } as const;

type Step =
  | "hook"
  | "look at the promise"
  | "pass resolve on"
  | "change the reply"
  | "swallow the reply"
  | "pass reject on"
  | "make it a reply"
  | "swallow the error"
  | "fulfil"
  | "fail"
  | "know it";

const programs = fc.array(
  fc.constantFrom<Step>(
    ...(["hook", "hook", "look at the promise", "fulfil", "fail", "know it"] as const),
    ...(["pass resolve on", "change the reply", "swallow the reply"] as const),
    ...(["pass reject on", "make it a reply", "swallow the error"] as const),
  ),
  { maxLength: 8 },
);

describe("Command", () => {
  const made: Command[] = [];
  afterEach(() => {
    for (const one of made.splice(0)) end(one);
  });

  /** Whatever has been put in the place of its `reject`. */
  function end(one: Command): void {
    if (one.extra !== null) one.extra.reject = null;
    one.fail(new Error("the test is over"));
  }

  function make(name = "get", args: (string | Buffer)[] = ["k"], wantsBuffers = false): Command {
    const one = new Command(specOf(name), args, wantsBuffers, new PromiseCompletion());
    one.promise.catch(() => {});
    made.push(one);
    return one;
  }

  it("settles once, and all hear the same", () => {
    return fc.assert(
      fc.asyncProperty(programs, fc.boolean(), async (program, hasPromise) => {
        const told: string[] = [];
        const completion = new PromiseCompletion();
        completion.promise.catch(() => {});
        const tell = (value: unknown): void => void told.push(String(value));
        const command = new Command(specOf("get"), ["k"], false, {
          ...(hasPromise ? { promise: completion.promise } : {}),
          fulfil: (one, value) => {
            tell(value);
            completion.fulfil(one, value);
          },
          reject: (one, error) => {
            tell(error.message);
            completion.reject(one, error);
          },
        });
        let done = 0;
        const batch = new Batch(BatchKind.Pipeline, 0, () => void done++);
        batch.add(command);
        const heard: string[][] = [];
        const looks: Promise<unknown>[] = [];
        let expected: string | null = null;
        const resolves: ("changed" | "swallowed")[] = [];
        const rejects: ("reply" | "swallowed")[] = [];
        const settle = (value: string): void => {
          expected ??= value;
        };
        /** The last one who has replaced it sees it first. */
        const reply = (value: string): void => {
          let present = value;
          for (const what of [...resolves].reverse()) {
            if (what === "swallowed") return;
            present = what;
          }
          settle(present);
        };
        for (const [index, step] of program.entries()) {
          const { resolve, reject } = command;
          switch (step) {
            case "hook": {
              if (command.isSettled) break;
              const mine: string[] = [];
              heard.push(mine);
              command.ensureExtra().addHook({
                onSettled: (error, value) => mine.push(error === null ? String(value) : error.message),
              });
              break;
            }
            case "look at the promise":
              if (!command.isSettled) looks.push(command.promise);
              break;
            case "pass resolve on":
              command.resolve = (value) => resolve(value);
              break;
            case "change the reply":
              command.resolve = () => resolve("changed");
              resolves.push("changed");
              break;
            case "swallow the reply":
              command.resolve = () => {};
              resolves.push("swallowed");
              break;
            case "pass reject on":
              command.reject = (error) => reject(error);
              break;
            case "make it a reply":
              command.reject = () => resolve("a reply");
              rejects.push("reply");
              break;
            case "swallow the error":
              command.reject = () => {};
              rejects.push("swallowed");
          }
          if (step === "fulfil") {
            reply(`reply ${index}`);
            const areBuffers = command.decodingOn(0) === Decode.Buffers;
            command.fulfil(areBuffers ? Buffer.from(`reply ${index}`) : `reply ${index}`, SHAPE);
          }
          if (step === "know it") {
            settle(`known ${index}`);
            command.fulfilMapped(`known ${index}`);
          }
          if (step === "fail") {
            command.fail(new Error(`error ${index}`));
            const stop = rejects.at(-1);
            if (stop === undefined) settle(`error ${index}`);
            else if (stop === "reply" && command.isSettled) settle(told[0] as string);
          }
        }
        const isSettled = expected !== null;
        expect([command.isSettled, done]).to.deep.equal([isSettled, isSettled ? 1 : 0]);
        expect(told).to.deep.equal(isSettled ? [expected] : []);
        expect(heard).to.deep.equal(heard.map(() => told));
        if (!isSettled) end(command);
        for (const outcome of await Promise.allSettled(looks)) {
          const seen = outcome.status === "fulfilled" ? outcome.value : (outcome.reason as Error).message;
          expect(seen).to.equal(told[0]);
        }
      }),
      fixedRuns(500),
    );
  });

  it("is settled with what it had when a replacement throws, whose error comes later", async () => {
    const outcomes: unknown[] = [];
    const thrown = await uncaughtDuring(async () => {
      for (const ends of ["fulfil", "fail"]) {
        const command = make();
        command.resolve = () => {
          throw new Error("resolve broke");
        };
        command.reject = () => {
          throw new Error("reject broke");
        };
        if (ends === "fulfil") command.fulfil(Buffer.from("1"), SHAPE);
        else command.fail(new Error("no"));
        outcomes.push(await command.promise.catch(({ message }: Error) => message));
      }
    });
    expect([outcomes, thrown]).to.deep.equal([
      ["1", "no"],
      ["reject broke", "resolve broke"],
    ]);
  });

  it("gives texts where its caller wants texts, at any depth, and leaves the list that a tracer has seen as it was", async () => {
    const bytes = (text: string): Buffer => Buffer.from(text);
    for (const wantsBuffers of [false, true]) {
      const command = make("lrange", ["k", "0", "-1"], wantsBuffers);
      let seen: unknown;
      const { resolve } = command;
      command.resolve = (value) => {
        seen = value;
        resolve(value);
      };
      const raw = ["a", [1, [bytes("b")]], null, bytes("c")];
      command.fulfil(raw, SHAPE);
      const texts = ["a", [1, ["b"]], null, "c"];
      expect(await command.promise).to.deep.equal(wantsBuffers ? raw : texts);
      expect(seen, "who has replaced it has its own").to.equal(raw);
      expect(raw).to.deep.equal(["a", [1, [bytes("b")]], null, bytes("c")]);
    }
  });

  it("gives texts in time for the deepest reply", async () => {
    let raw: unknown[] = [Buffer.from("deep")];
    for (let depth = 1; depth < MAX_DEPTH; depth++) raw = [raw];
    const command = make("get", ["k"]);
    const { resolve } = command;
    command.resolve = (value) => resolve(value);
    command.fulfil(raw, SHAPE);
    expect([await command.promise].flat(Number.POSITIVE_INFINITY)).to.deep.equal(["deep"]);
  });

  it("maps its reply and tells the shape in which it came, through a replaced resolve too", async () => {
    const shapes: unknown[] = [];
    for (const isReplaced of [false, true]) {
      const command = make("hgetall", ["h"]);
      const { completion } = command;
      const { fulfil } = completion;
      completion.fulfil = (one, value, shape) => {
        shapes.push(shape);
        fulfil.call(completion, one, value, shape);
      };
      const { resolve } = command;
      if (isReplaced) command.resolve = (value) => resolve(value);
      command.fulfil({ f: "1" } as never, RESP3_SHAPE);
      expect(await command.promise).to.deep.equal({ f: "1" });
    }
    expect(shapes).to.deep.equal([RESP3_SHAPE, RESP3_SHAPE]);
    const command = make("hgetall", ["h"]);
    command.fulfil(["f", "1"], SHAPE);
    expect(await command.promise).to.deep.equal({ f: "1" });
  });

  it("fails when its reply cannot be mapped", async () => {
    const command = make();
    command.spec = {
      ...command.spec,
      replyMapper: () => {
        throw new TypeError("the mapper broke");
      },
    };
    command.fulfil("1", SHAPE);
    expect(await command.promise.catch(({ message }: Error) => message)).to.equal("the mapper broke");
  });

  it("notes itself on errors that are its own, with credentials masked", async () => {
    const mine = new ConnectionClosedError();
    make("auth", ["secret-word"]).fail(mine);
    expect(mine.command).to.deep.equal({ name: "auth", args: ["***"] });
    make("get", ["other"]).fail(mine);
    expect(mine.command?.name, "the first one's").to.equal("auth");
    const reply = new ReplyError("ERR no");
    nameCommand(reply, "get", ["k"]);
    expect(reply.command).to.deep.equal({ name: "get", args: ["k"] });
    const users: Error & { command?: unknown } = new Error("the user's");
    make().fail(users);
    expect(users.command).to.equal(undefined);
  });

  it("counts the losses of its connections, and whether it may have run, apart", () => {
    const command = make();
    expect([command.losses, command.mayHaveRun]).to.deep.equal([0, false]);
    command.losses++;
    expect([command.losses, command.mayHaveRun]).to.deep.equal([1, false]);
    for (let n = 0; n < 2; n++) command.mayHaveRun = true;
    command.losses++;
    expect([command.losses, command.mayHaveRun]).to.deep.equal([2, true]);
  });

  it("shares its fate with the transaction that it was issued into, otherwise with its batch", () => {
    const [batch, group] = [0, 1].map(() => new Batch(BatchKind.Pipeline, 0, null)) as [Batch, Batch];
    const [alone, inBatch, inGroup] = [make(), make(), make()];
    for (const one of [inBatch, inGroup]) batch.add(one);
    inGroup.ensureExtra().group = group;
    expect([alone.group, inBatch.group, inGroup.group]).to.deep.equal([null, batch, group]);
    markAnswered(alone);
    expect([batch.isAnswered, group.isAnswered]).to.deep.equal([false, false]);
    markAnswered(inGroup);
    expect([batch.isAnswered, group.isAnswered]).to.deep.equal([true, true]);
    let told = 0;
    batch.trace = { onStarted() {}, onAnswered: () => void told++ };
    markAnswered(inBatch);
    expect(told, "once").to.equal(0);
  });

  it("becomes another one of the same arguments", () => {
    const command = make("evalsha", ["sha", "0"]);
    command.become(specOf("eval"), "lua");
    expect([command.name, command.args]).to.deep.equal(["eval", ["lua", "0"]]);
  });

  it("is a user's unless it is said to be another's, and new", () => {
    expect(make()).to.include({ origin: Origin.User, state: CommandState.Created });
    expect(issuedBy(Origin.Client, make()).origin).to.equal(Origin.Client);
  });

  it("decides how its reply is decoded: its caller, a form, and a replaced resolve", () => {
    const { Buffers, BigInts, Maps, Resp3Shapes, StringNumbers } = Decode;
    const connection = Resp3Shapes | StringNumbers;
    const plain = make();
    const bytes = make("get", ["k"], true);
    const formed = make();
    formed.ensureExtra().form = new ReplyForm({ map: "map", number: "bigint" });
    const traced = make();
    traced.ensureExtra();
    expect([plain, bytes, formed, traced].map((one) => one.decodingOn(connection))).to.deep.equal([
      connection,
      connection | Buffers,
      Resp3Shapes | Maps | BigInts,
      connection,
    ]);
    for (const command of [formed, traced]) command.resolve = () => {};
    expect([formed.decodingOn(0), traced.decodingOn(0)]).to.deep.equal([Maps | BigInts | Buffers, Buffers]);
  });

  it("knows its place only where it was told", () => {
    const command = make();
    expect([command.pipelineIndex, command.inTransaction, command.extra]).to.deep.equal([
      undefined,
      false,
      null,
    ]);
    command.pipelineIndex = 3;
    command.inTransaction = true;
    expect([command.pipelineIndex, command.inTransaction]).to.deep.equal([3, true]);
  });

  it("shows itself without credentials", () => {
    expect(inspect(make("auth", ["secret-word"])))
      .to.match(/^Command /)
      .and.not.match(/secret-word/);
  });
});
