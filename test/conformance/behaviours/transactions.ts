/** Transactions in all their forms. */

import type { ReplyError } from "../../../src/errors";
import { errorOf, group, messageOf, plainRows } from "../behaviour";

const EXECABORT = "EXECABORT Transaction discarded because of previous errors.";

async function described(promise: Promise<unknown>): Promise<unknown> {
  const error = (await errorOf(promise)) as ReplyError;
  const previous = error.previousErrors?.map((one) => [
    one.message.slice(0, 27),
    (one as ReplyError).command?.name ?? null,
  ]);
  return [error.name, error.message, error.command ?? null, previous ?? null];
}

export const transactions = group("transactions", (add) => {
  add(
    "chained, from arrays, with { pipeline: true }",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.multi().set("a", "1").get("a").exec(),
        await redis
          .multi([
            ["set", "b", "2"],
            ["get", "b"],
          ])
          .exec(),
        await redis.multi({ pipeline: true }).get("b").exec(),
        await (redis.multi as (...args: unknown[]) => { exec(): unknown })
          .call(redis, [["get", "a"]], { pipeline: true })
          .exec(),
      ];
    },
    [
      [
        [null, "OK"],
        [null, "1"],
      ],
      [
        [null, "OK"],
        [null, "2"],
      ],
      [[null, "2"]],
      [[null, "1"]],
    ],
  );

  add(
    "length counts MULTI and EXEC; an empty one gives no rows",
    async (stage) => {
      const redis = await stage.redis();
      const multi = redis.multi().get("a").get("b");
      const before = multi.length;
      const rows = multi.exec();
      return [before, multi.length, (await rows)?.length, await redis.multi().exec()];
    },
    [3, 4, 2, []],
  );

  add(
    "replies keep encoding and transformers",
    async (stage) => {
      const redis = await stage.redis();
      await redis.hset("h", "f", "1");
      return redis
        .multi()
        .hgetall("h")
        .getBuffer("none")
        .hgetallBuffer("h")
        .set("k", "v")
        .getBuffer("k")
        .exec();
    },
    [
      [null, { f: "1" }],
      [null, null],
      [null, { f: Buffer.from("1") }],
      [null, "OK"],
      [null, Buffer.from("v")],
    ],
  );

  add(
    "a run-time error is in its row, with its command",
    async (stage) => {
      const redis = await stage.redis();
      const rows = await redis.multi().set("a", "1").lpush("a", "x").get("a").exec();
      return [plainRows(rows), "command" in (rows?.[1]?.[0] ?? {})];
    },
    [
      [[null, "OK"], ["WRONGTYPE Operation against a key holding the wrong kind of value"], [null, "1"]],
      true,
    ],
    { differs: "error.command in transactions" },
  );

  add(
    "a queueing error runs nothing and rejects",
    async (stage) => {
      const redis = await stage.redis();
      const outcome = await described(redis.multi().set("a", "1").call("set", "b").call("nosuch").exec());
      return [outcome, await redis.exists("a")];
    },
    [
      [
        "ReplyError",
        EXECABORT,
        { name: "exec", args: [] },
        [
          ["ERR wrong number of argument", "set"].map((text, i) => (i === 0 ? text.slice(0, 27) : text)),
          ["ERR unknown command 'nosuch", "nosuch"],
        ],
      ],
      0,
    ],
  );

  add(
    "the callback of exec gets the error, those of members QUEUED",
    async (stage) => {
      const redis = await stage.redis();
      const heard: unknown[] = [];
      await redis
        .multi()
        .set("a", "1", (...args) => heard.push(args))
        .exec((error, rows) => heard.push([error, rows]));
      await redis
        .multi()
        .call("set", "b", (error?: Error | null) => heard.push(error?.message.slice(0, 9)))
        .exec((error, rows) => heard.push([error?.message, rows]))
        .catch(() => {});
      return heard;
    },
    [[null, "QUEUED"], [null, [[null, "OK"]]], "ERR wrong", [EXECABORT, undefined]],
  );

  add(
    "a watched key that changed gives null",
    async (stage) => {
      const redis = await stage.redis();
      await redis.watch("k");
      await stage.admin("SET", "k", "changed");
      const broken = await redis.multi().set("k", "mine").exec();
      await redis.watch("k");
      const whole = await redis.multi().set("k", "mine").exec();
      await redis.watch("k");
      await redis.unwatch();
      await stage.admin("SET", "k", "again");
      return [broken, whole, await redis.multi().get("k").exec()];
    },
    [null, [[null, "OK"]], [[null, "again"]]],
  );

  add(
    "discard in it makes EXEC fail",
    async (stage) => {
      const redis = await stage.redis();
      return described(redis.multi().set("a", "1").discard().exec());
    },
    ["ReplyError", "ERR EXEC without MULTI", { name: "exec", args: [] }, []],
  );

  add(
    "opened by hand with { pipeline: false }",
    async (stage) => {
      const redis = await stage.redis();
      const opened = redis.multi({ pipeline: false });
      const queued = [redis.set("a", "1"), redis.get("a"), redis.getBuffer("a")];
      const rows = redis.exec();
      return [await opened, await Promise.all(queued), plainRows(await rows)];
    },
    [
      "OK",
      ["QUEUED", "QUEUED", Buffer.from("QUEUED")],
      [
        [null, "OK"],
        [null, "1"],
        [null, "1"],
      ],
    ],
    { autoPipelining: false },
  );

  add(
    "opened by hand beside auto-pipelining",
    async (stage) => {
      const redis = await stage.redis();
      const before = redis.set("x", "0");
      const opened = redis.multi({ pipeline: false });
      const queued = [redis.set("a", "1"), redis.get("a")];
      const rows = redis.exec();
      const after = redis.get("a");
      return [await before, await opened, await Promise.all(queued), await rows, await after];
    },
    [
      "OK",
      "OK",
      ["QUEUED", "QUEUED"],
      [
        [null, "OK"],
        [null, "1"],
      ],
      "1",
    ],
    { autoPipelining: true, differs: "manual transactions with auto-pipelining" },
  );

  add(
    "commands given with { pipeline: false } are not sent",
    async (stage) => {
      const redis = await stage.redis();
      const opened = await redis.multi([["set", "a", "1"]], { pipeline: false });
      return [opened, await redis.exec()];
    },
    ["OK", []],
    { autoPipelining: false },
  );

  add(
    "exec of the client without a transaction",
    async (stage) => {
      const redis = await stage.redis();
      const heard: unknown[] = [];
      const message = await messageOf(redis.exec((error) => heard.push(error?.message)));
      return [message, heard];
    },
    ["ERR EXEC without MULTI", ["ERR EXEC without MULTI"]],
    { autoPipelining: false },
  );

  add(
    "exec of the client: errors as rows, EXECABORT, null",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("k", "v");
      void redis.multi({ pipeline: false });
      void redis.lpush("k", 1);
      const rows = await redis.exec();
      void redis.multi({ pipeline: false });
      redis.call("nosuch").catch(() => {});
      const aborted = (await errorOf(redis.exec())) as ReplyError;
      await redis.watch("k");
      await stage.admin("SET", "k", "w");
      void redis.multi({ pipeline: false });
      return [plainRows(rows), aborted.message, "previousErrors" in aborted, await redis.exec()];
    },
    [[["WRONGTYPE Operation against a key holding the wrong kind of value"]], EXECABORT, false, null],
    { autoPipelining: false },
  );

  add(
    "inline in a pipeline",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("x", "0");
      return redis.pipeline().get("x").multi().set("x", 1).get("x").exec().get("x").exec();
    },
    [
      [null, "0"],
      [null, "OK"],
      [null, "QUEUED"],
      [null, "QUEUED"],
      [null, ["OK", "1"]],
      [null, "1"],
    ],
  );

  add(
    "inline: one exec for each multi; the first returns the pipeline",
    async (stage) => {
      const redis = await stage.redis();
      const pipeline = redis.pipeline();
      const closed = pipeline.multi().set("a", "1").exec();
      const length = pipeline.length;
      await redis.ping();
      const unsent = await redis.exists("a");
      return [closed === (pipeline as unknown), length, unsent, plainRows(await pipeline.exec())];
    },
    [
      true,
      3,
      0,
      [
        [null, "OK"],
        [null, "QUEUED"],
        [null, ["OK"]],
      ],
    ],
  );

  add(
    "inline: errors stay in their rows",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("k", "v");
      const queueing = await redis.pipeline().multi().call("set", "a").exec().get("k").exec();
      const running = await redis.pipeline().multi().lpush("k", 1).get("k").exec().exec();
      return [queueing?.map((row) => row[0]?.message.slice(0, 9) ?? row[1]), plainRows(running)];
    },
    [
      ["OK", "ERR wrong", "EXECABORT", "v"],
      [
        [null, "OK"],
        [null, "QUEUED"],
        [null, "QUEUED"],
        [null, ["error: WRONGTYPE Operation against a key holding the wrong kind of value", "v"]],
      ],
    ],
  );

  add(
    "inline: a broken watch gives null in the row of EXEC",
    async (stage) => {
      const redis = await stage.redis();
      await redis.watch("k");
      await stage.admin("SET", "k", "w");
      return redis.pipeline().multi().get("k").exec().exec();
    },
    [
      [null, "OK"],
      [null, "QUEUED"],
      [null, null],
    ],
  );

  add(
    "is refused the second time",
    async (stage) => {
      const redis = await stage.redis();
      const multi = redis.multi().incr("n");
      return [
        await multi.exec(),
        (await errorOf(multi.exec())).message.startsWith("Pipeline cannot be used"),
        await redis.get("n"),
      ];
    },
    [[[null, 1]], true, "1"],
    { differs: "exec() called twice" },
  );

  add(
    "an argument that cannot be sent discards the whole",
    async (stage) => {
      const redis = await stage.redis();
      const bad = { toString: null, valueOf: null } as unknown as string;
      const error = (await errorOf(redis.multi().set("a", "1").set("b", bad).exec())) as ReplyError;
      return [error.message, error.previousErrors?.length, await redis.exists("a")];
    },
    [EXECABORT, 3, 0],
    { isOursAlone: true },
  );
});
