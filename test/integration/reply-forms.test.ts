/** The JavaScript types of the replies to one call: `with({ replies })`. */

import { expect } from "chai";
import { Command, Redis } from "../../src/index";
import { type MatrixContext, matrix } from "../support/matrix";
import { codeOf } from "../support/outcome";

const ALL = { replyMappings: ["legacy", "resp3"] } as const;
const PAIR = { ...ALL, autoPipelining: [false] } as const;
const LARGE = "9007199254740993";
const FORMS = { bulk: "buffer", map: "map", number: "bigint" } as const;

const bytes = (text: string): Buffer => Buffer.from(text);

async function fill(redis: Redis): Promise<void> {
  await redis.set("n", LARGE);
  await redis.hset("h", "2", "two", "1", "one");
  await redis.zadd("z", 1.5, "a");
}

/** Maps arrive as such over RESP3 only. */
function mapOver<Value>({ protocol }: Pick<MatrixContext, "protocol">, key: string, value: Value): unknown {
  return protocol === 3 ? new Map([[key, value]]) : [[key, value]];
}

describe("replies of with()", () => {
  matrix("have the chosen forms, and the next call has not", ALL, async ({ redis }) => {
    await fill(redis);
    const view = redis.with({ replies: FORMS });
    const [map, count, object, text, length] = await Promise.all([
      view.hgetall("h"),
      view.incrby("n", 2),
      redis.hgetall("h"),
      view.get("n"),
      redis.hlen("h"),
    ]);
    expect([...map]).to.deep.equal([
      ["2", bytes("two")],
      ["1", bytes("one")],
    ]);
    expect([count, text]).to.deep.equal([BigInt(LARGE) + 2n, bytes("9007199254740995")]);
    expect([object, length]).to.deep.equal([{ 1: "one", 2: "two" }, 2]);
    expect(await view.hgetall("none")).to.deep.equal(new Map());
    expect(await view.get("none")).to.equal(null);
  });

  matrix("apply to pipelines, transactions and scripts", ALL, async ({ redis }) => {
    await fill(redis);
    redis.defineCommand("both", { numberOfKeys: 1, lua: "return { redis.call('INCR', KEYS[1]), ARGV[1] }" });
    const view = redis.with({ replies: FORMS });
    for (const batch of [view.pipeline(), view.multi()]) {
      await redis.set("n", LARGE);
      const rows = await batch.incr("n").hgetall("h").mget("n", "none").exec();
      expect(rows).to.deep.equal([
        [null, BigInt(LARGE) + 1n],
        [
          null,
          new Map([
            ["2", bytes("two")],
            ["1", bytes("one")],
          ]),
        ],
        [null, [bytes("9007199254740994"), null]],
      ]);
    }
    const { both } = view as unknown as Record<"both", (...args: string[]) => Promise<unknown>>;
    expect(await Reflect.apply(both, view, ["m", "text"])).to.deep.equal([1n, bytes("text")]);
    // EXEC decides about a transaction opened by hand.
    await redis.multi({ pipeline: false });
    expect(await view.incr("n")).to.deep.equal(bytes("QUEUED"));
    expect(await redis.exec()).to.deep.equal([[null, Number(BigInt(LARGE) + 2n)]]);
  });

  matrix("name the types separately", PAIR, async (context) => {
    const { redis, replyMapping } = context;
    await fill(redis);
    await redis.xadd("s", "1-1", "f", "v");
    const entries = [["1-1", ["f", "v"]]];
    const maps = redis.with({ replies: { map: "map" } });
    expect(await maps.xread("STREAMS", "s", "0")).to.deep.equal(mapOver(context, "s", entries));
    expect(await maps.incr("m")).to.equal(1);
    const score = replyMapping === "resp3" ? 1.5 : "1.5";
    expect(await maps.zscore("z", "a")).to.equal(score);
    const objects = redis.with({ replies: { map: "object" } });
    expect(await objects.hgetall("h")).to.deep.equal({ 1: "one", 2: "two" });
    expect(await objects.xread("STREAMS", "s", "0")).to.deep.equal(
      context.protocol === 3 ? { s: entries } : [["s", entries]],
    );
    const texts = redis.with({ replies: { number: "string" } });
    expect([await texts.incr("n"), await texts.zscore("z", "a")]).to.deep.equal(["9007199254740994", "1.5"]);
    const buffers = redis.with({ replies: { bulk: "buffer" } });
    expect([await buffers.get("m"), await buffers.incr("m")]).to.deep.equal([bytes("1"), 2]);
    expect(await buffers.with({ replies: { bulk: "string" } }).get("m")).to.equal("2");
    expect(await buffers.with({ timeout: 5000 }).get("m")).to.deep.equal(bytes("2"));
    expect(await buffers.with({ replies: { bulk: "string" } }).getBuffer("m")).to.deep.equal(bytes("2"));
  });

  matrix("outweigh stringNumbers", PAIR, async ({ connect }) => {
    const redis = connect({ stringNumbers: true });
    await redis.set("n", LARGE);
    const of = (number: "bigint" | "string" | "number") => redis.with({ replies: { number } });
    expect(await of("bigint").incr("n")).to.equal(BigInt(LARGE) + 1n);
    expect(await of("number").strlen("n")).to.equal(16);
    expect(await redis.strlen("n")).to.equal("16");
    expect(await of("bigint").publish("nobody", "hears")).to.equal(0n);
  });

  matrix("reach callbacks, replaced methods and subscriptions", PAIR, async ({ connect, protocol }) => {
    const redis = connect();
    await fill(redis);
    const view = redis.with({ replies: FORMS });
    const reply = await new Promise((resolve) => view.incr("n", (_error, count) => resolve(count)));
    expect(reply).to.equal(BigInt(LARGE) + 1n);
    const seen: unknown[] = [];
    const send = redis.sendCommand;
    redis.sendCommand = function (command, ...rest) {
      const { resolve } = command;
      command.resolve = (value) => {
        seen.push(value);
        resolve(value);
      };
      return send.call(this, command, ...rest);
    };
    const texts = redis.with({ replies: { map: "map", number: "bigint" } });
    expect(await texts.hgetall("h")).to.deep.equal(
      new Map([
        ["2", "two"],
        ["1", "one"],
      ]),
    );
    // A tracer sees bytes, in the forms of the call.
    const pairs = [bytes("2"), bytes("two"), bytes("1"), bytes("one")];
    const map = new Map([
      ["2", "two"],
      ["1", "one"],
    ]);
    if (protocol === 2) expect(seen).to.deep.equal([pairs]);
    else expect(seen).to.deep.equal([map]);
    expect(await view.subscribe("news")).to.equal(1n);
    expect(await view.unsubscribe("news")).to.equal(0n);
  });

  matrix("are not taken from merged commands", PAIR, async ({ redis }) => {
    await redis.mset("a", "1", "b", "2");
    await redis.rpush("l", "x");
    for (const replies of [{ bulk: "buffer" }, { number: "bigint" }] as const) {
      const pipeline = redis.with({ replies }).pipeline({ merge: ["get", "rpush"] });
      for (let round = 0; round < 3; round++) pipeline.get("a").get("b").rpush("l", "y").rpush("l", "z");
      const rows = await pipeline.exec();
      const kinds = rows?.map(([, value]) => (Buffer.isBuffer(value) ? "buffer" : typeof value));
      const one =
        replies.bulk === "buffer"
          ? ["buffer", "buffer", "number", "number"]
          : ["string", "string", "bigint", "bigint"];
      expect(kinds).to.deep.equal([...one, ...one, ...one]);
    }
  });

  const CACHED = { ...PAIR, protocols: [3], options: { cache: true } } as const;

  matrix("are not taken from the cache, and not stored in it", CACHED, async ({ redis }) => {
    await fill(redis);
    expect([await redis.strlen("n"), await redis.strlen("n")]).to.deep.equal([16, 16]);
    const view = redis.with({ replies: FORMS });
    expect([await view.strlen("n"), await view.strlen("n"), await redis.strlen("n")]).to.deep.equal([
      16n,
      16n,
      16,
    ]);
    expect(await view.hgetall("h")).to.be.instanceOf(Map);
    expect(await redis.hgetall("h")).to.deep.equal({ 1: "one", 2: "two" });
    const bulk = redis.with({ replies: { bulk: "buffer" } });
    const before = redis.stats().cache?.hits;
    expect([await bulk.get("n"), await bulk.get("n"), await redis.get("n")]).to.deep.equal([
      bytes(LARGE),
      bytes(LARGE),
      LARGE,
    ]);
    // Bytes are cached as with getBuffer().
    expect(redis.stats().cache?.hits).to.equal((before ?? 0) + 1);
  });

  matrix("leave reply transformers the replies that they know", PAIR, async ({ redis }) => {
    await fill(redis);
    Command.setReplyTransformer(
      "hvals",
      (values: unknown) => `${(values as string[]).length} ${typeof (values as string[])[0]}`,
    );
    try {
      expect(await redis.with({ replies: FORMS }).hvals("h")).to.equal("2 string");
    } finally {
      Command.setReplyTransformer("hvals", undefined as never);
    }
  });

  it("refuse unknown settings", async () => {
    const redis = new Redis({ lazyConnect: true });
    const make = (replies: unknown) => async () => redis.with({ replies } as never);
    for (const replies of [null, "buffer", { number: "int" }, { set: "array" }]) {
      expect(await codeOf(make(replies)())).to.equal("INVALID_OPTION");
    }
    redis.disconnect();
  });
});
