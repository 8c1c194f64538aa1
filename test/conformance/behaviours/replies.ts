/** Shapes of replies under both mappings. */

import { RawReply } from "../../support/fake-server";
import { group } from "../behaviour";

interface Shape {
  readonly protocol: 2 | 3;
  readonly replyMapping: "legacy" | "resp3";
}

const byMapping =
  (legacy: unknown, resp3: unknown) =>
  ({ replyMapping }: Shape): unknown =>
    replyMapping === "resp3" ? resp3 : legacy;

export const replies = group("reply shapes", (add) => {
  add(
    "hgetall is an object in all modes, whatever the names",
    async (stage) => {
      const redis = await stage.redis();
      await redis.hset("h", "f", "1", "__proto__", "2", "constructor", "3");
      const hash = await redis.hgetall("h");
      return [
        Object.entries(hash),
        Object.getPrototypeOf(hash) === Object.prototype,
        await redis.hgetall("none"),
      ];
    },
    [
      [
        ["f", "1"],
        ["__proto__", "2"],
        ["constructor", "3"],
      ],
      true,
      {},
    ],
  );

  add(
    "hgetallBuffer has string names and Buffer values",
    async (stage) => {
      const redis = await stage.redis();
      await redis.hset("h", "f", "1");
      return redis.hgetallBuffer("h");
    },
    { f: Buffer.from("1") },
  );

  add(
    "the exact word decides: HGETALL in upper case is flat under the legacy mapping",
    async (stage) => {
      const redis = await stage.redis();
      await redis.hset("h", "f", "1");
      return [await redis.call("HGETALL", "h"), await redis.call("hgetall", "h")];
    },
    byMapping([["f", "1"], { f: "1" }], [{ f: "1" }, { f: "1" }]),
  );

  add(
    "scores beside members",
    async (stage) => {
      const redis = await stage.redis();
      await redis.zadd("z", 1, "a", 2.5, "b", "inf", "c");
      return [
        await redis.zrange("z", 0, -1, "WITHSCORES"),
        await redis.zrangebyscore("z", 0, 2, "WITHSCORES"),
        await redis.zscore("z", "b"),
        await redis.zscoreBuffer("z", "b"),
        await redis.zmscore("z", "a", "none"),
        await redis.zincrby("z", 1, "a"),
        await redis.zpopmin("z"),
        await redis.zpopmax("z", 2),
      ];
    },
    byMapping(
      [
        ["a", "1", "b", "2.5", "c", "inf"],
        ["a", "1"],
        "2.5",
        Buffer.from("2.5"),
        ["1", null],
        "2",
        ["a", "2"],
        ["c", "inf", "b", "2.5"],
      ],
      [
        [
          ["a", 1],
          ["b", 2.5],
          ["c", Number.POSITIVE_INFINITY],
        ],
        [["a", 1]],
        2.5,
        2.5,
        [1, null],
        2,
        ["a", 2],
        [
          ["c", Number.POSITIVE_INFINITY],
          ["b", 2.5],
        ],
      ],
    ),
  );

  add(
    "maps",
    async (stage) => {
      const redis = await stage.redis();
      await redis.xadd("s", "1-1", "f", "v");
      return [
        await redis.config("GET", "maxmemory"),
        await redis.xread("STREAMS", "s", "0"),
        await redis.call("xread", "STREAMS", "s", "$"),
        await redis.geopos("none", "x"),
      ];
    },
    byMapping(
      [["maxmemory", "0"], [["s", [["1-1", ["f", "v"]]]]], null, [null]],
      [{ maxmemory: "0" }, { s: [["1-1", ["f", "v"]]] }, null, [null]],
    ),
  );

  add(
    "booleans, doubles and big numbers of scripts",
    async (stage) => {
      const redis = await stage.redis();
      const run = (lua: string): Promise<unknown> => redis.eval(`redis.setresp(3) return ${lua}`, 0);
      return [
        await run("true"),
        await run("{double=1.5}"),
        await run("{big_number='123456789012345678901'}"),
      ];
    },
    ({ protocol, replyMapping }: Shape) =>
      protocol === 2
        ? [1, "1.5", "123456789012345678901"]
        : replyMapping === "legacy"
          ? [1, "1.5", "123456789012345678901"]
          : [true, 1.5, "123456789012345678901"],
  );

  add(
    "verbatim text loses its tag",
    async (stage) => {
      const redis = await stage.redis();
      return [
        String(await redis.eval("redis.setresp(3) return {verbatim_string={format='txt',string='hi'}}", 0)),
        (await redis.info("server")).startsWith("# Server"),
      ];
    },
    ["hi", true],
    { protocol: 3 },
  );

  add(
    "errors inside a reply are elements",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("k", "v");
      await redis.multi({ pipeline: false });
      void redis.lpush("k", "x").catch(() => {});
      void redis.get("k");
      const rows = await redis.exec();
      return [rows?.length, rows?.[0]?.[0]?.message.startsWith("WRONGTYPE"), rows?.[1]];
    },
    [2, true, [null, "v"]],
    { autoPipelining: false },
  );

  add(
    "bytes that are no UTF-8 become U+FFFD in strings and stay in Buffers",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("k", Buffer.from([0x61, 0xff]));
      return [await redis.get("k"), await redis.getBuffer("k")];
    },
    ["a\ufffd", Buffer.from([0x61, 0xff])],
  );

  add(
    "numbers as strings",
    async (stage) => {
      const redis = await stage.redis({ stringNumbers: true });
      await redis.zadd("z", 1.5, "a");
      return [await redis.incr("n"), await redis.zscore("z", "a"), await redis.zscoreBuffer("z", "a")];
    },
    ({ protocol }: Shape) => ["1", "1.5", protocol === 3 ? "1.5" : Buffer.from("1.5")],
  );

  add(
    "legacy and resp3 shapes inside pipelines and transactions",
    async (stage) => {
      const redis = await stage.redis();
      await redis.zadd("z", 1.5, "a");
      const read = await redis.pipeline().zrange("z", 0, -1, "WITHSCORES").config("GET", "maxmemory").exec();
      const inside = await redis.multi().zrange("z", 0, -1, "WITHSCORES").zscore("z", "a").exec();
      return [read, inside];
    },
    byMapping(
      [
        [
          [null, ["a", "1.5"]],
          [null, ["maxmemory", "0"]],
        ],
        [
          [null, ["a", "1.5"]],
          [null, "1.5"],
        ],
      ],
      [
        [
          [null, [["a", 1.5]]],
          [null, { maxmemory: "0" }],
        ],
        [
          [null, [["a", 1.5]]],
          [null, 1.5],
        ],
      ],
    ),
  );

  add(
    "attributes are skipped",
    async (stage) => {
      const fake = await stage.fake((words) =>
        words[0] === "get" ? new RawReply("|1\r\n+ttl\r\n:9\r\n$1\r\nv\r\n") : undefined,
      );
      return stage.bare({ host: fake.host, port: fake.port, retryStrategy: () => null }).get("k");
    },
    "v",
    { isAlone: true, differs: "attributes under resp3" },
  );
});
