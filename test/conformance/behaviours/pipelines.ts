/** Explicit pipelines. */

import type { ChainableCommander } from "../../../src/command/generated/signatures";
import type { Pipeline } from "../../../src/pipeline/pipeline";
import { errorOf, group, messageOf, pause, plainRows } from "../behaviour";

const USED = "Pipeline cannot be used to send any commands when the `exec()` has been called on it.";

export const pipelines = group("pipelines", (add) => {
  add(
    "rows in the order of the queue, errors in their rows",
    async (stage) => {
      const redis = await stage.redis();
      const rows = await redis.pipeline().set("foo", "bar").get("foo").lpush("foo", "x").get("none").exec();
      return [plainRows(rows), rows?.[2]?.length];
    },
    [
      [
        [null, "OK"],
        [null, "bar"],
        ["WRONGTYPE Operation against a key holding the wrong kind of value"],
        [null, null],
      ],
      1,
    ],
  );

  add(
    "an error row has the command",
    async (stage) => {
      const redis = await stage.redis();
      const rows = await redis.pipeline().set("foo", "bar").lpush("foo", "x").exec();
      const error = rows?.[1]?.[0] as unknown as { name: string; command: unknown };
      return [error.name, error.command];
    },
    ["ReplyError", { name: "lpush", args: ["foo", "x"] }],
  );

  add(
    "filled from arrays, with callbacks",
    async (stage) => {
      const redis = await stage.redis();
      const heard: unknown[] = [];
      const pipeline = redis.pipeline([
        ["set", "foo", "bar"],
        ["get", "foo", (...args: unknown[]) => heard.push(args)],
      ]);
      const length = pipeline.length;
      const rows = await pipeline.exec();
      return [length, rows, heard];
    },
    [
      2,
      [
        [null, "OK"],
        [null, "bar"],
      ],
      [[null, "bar"]],
    ],
  );

  add(
    "addBatch returns the pipeline",
    async (stage) => {
      const redis = await stage.redis();
      const pipeline = redis.pipeline() as unknown as Pipeline;
      return [
        pipeline.addBatch([["set", "a", "1"]]) === (pipeline as unknown),
        (pipeline as unknown as ChainableCommander).get("a") === (pipeline as unknown),
        await pipeline.exec(),
      ];
    },
    [
      true,
      true,
      [
        [null, "OK"],
        [null, "1"],
      ],
    ],
  );

  add(
    "an unknown name in a batch throws while building",
    async (stage) => {
      const redis = await stage.redis();
      try {
        redis.pipeline([["nosuch", "a"]]);
        return "built";
      } catch (error) {
        return error instanceof TypeError;
      }
    },
    true,
  );

  add(
    "its public fields",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      const pipeline = redis.pipeline() as unknown as Record<string, unknown>;
      return [
        pipeline["redis"] === redis,
        (pipeline["options"] as { keyPrefix: string }).keyPrefix,
        pipeline["isPipeline"],
        pipeline["isCluster"],
        pipeline["length"],
        pipeline["then"],
        pipeline["promise"] instanceof Promise,
      ];
    },
    [true, "p:", true, false, 0, undefined, true],
  );

  add(
    "nothing is sent before exec",
    async (stage) => {
      const redis = await stage.redis();
      redis.pipeline().set("a", "1");
      await redis.ping();
      return redis.exists("a");
    },
    0,
  );

  add(
    "callbacks run as replies come, before that of exec",
    async (stage) => {
      const redis = await stage.redis();
      const heard: unknown[] = [];
      await redis
        .pipeline()
        .set("a", "1", (...args) => heard.push(["set", ...args]))
        .call("lpush", "a", "x", (error?: Error | null) => heard.push(["lpush", error?.message.slice(0, 9)]))
        .get("none", (...args) => heard.push(["get", ...args]))
        .exec((...args) => heard.push(["exec", args[0], args[1]?.length]));
      await redis.ping();
      return heard;
    },
    [
      ["set", null, "OK"],
      ["lpush", "WRONGTYPE"],
      ["get", null, null],
      ["exec", null, 3],
    ],
  );

  add(
    "an empty pipeline gives no rows",
    async (stage) => {
      const redis = await stage.redis();
      const heard: unknown[] = [];
      const rows = await redis.pipeline().exec((...args) => heard.push(args));
      return [rows, heard];
    },
    [[], [[null, []]]],
  );

  add(
    "exec is refused the second time",
    async (stage) => {
      const redis = await stage.redis();
      const pipeline = redis.pipeline().incr("n");
      const first = await pipeline.exec();
      const again = await messageOf(pipeline.exec());
      return [
        first,
        again,
        await redis.get("n"),
        await (pipeline as unknown as { promise: unknown }).promise,
      ];
    },
    [[[null, 1]], USED, "1", [[null, 1]]],
    { differs: "exec() called twice" },
  );

  add(
    "each command keeps its encoding; call works",
    async (stage) => {
      const redis = await stage.redis();
      await redis.hset("h", "f", "1");
      return redis
        .pipeline()
        .set("k", "v")
        .get("k")
        .getBuffer("k")
        .call("get", "k")
        .callBuffer("GET", "k")
        .hgetall("h")
        .hgetallBuffer("h")
        .exec();
    },
    [
      [null, "OK"],
      [null, "v"],
      [null, Buffer.from("v")],
      [null, "v"],
      [null, Buffer.from("v")],
      [null, { f: "1" }],
      [null, { f: Buffer.from("1") }],
    ],
  );

  add(
    "an argument that cannot be sent fails its own row",
    async (stage) => {
      const redis = await stage.redis();
      const bad = { toString: null, valueOf: null } as unknown as string;
      const rows = await redis.pipeline().set("a", "1").set("b", bad).get("a").exec();
      return rows?.map((row) => row[0]?.message.includes("cannot be sent") ?? row[1]);
    },
    ["OK", true, "1"],
    { isOursAlone: true },
  );

  add(
    "waits for the connection and stays in order with what was issued before and after",
    async (stage) => {
      const redis = stage.make();
      const before = redis.rpush("l", "1");
      const rows = redis.pipeline().rpush("l", "2").rpush("l", "3").exec();
      const after = redis.rpush("l", "4");
      return [await before, await rows, await after, await redis.lrange("l", 0, -1)];
    },
    [
      1,
      [
        [null, 2],
        [null, 3],
      ],
      4,
      ["1", "2", "3", "4"],
    ],
    { autoPipelining: false },
  );

  add(
    "select moves the connection, subscribe counts",
    async (stage) => {
      const redis = await stage.redis();
      const seen: unknown[] = [];
      redis.on("select", (db: number) => seen.push(db));
      const rows = await redis.pipeline().set("a", "0").select(1).set("a", "1").get("a").exec();
      return [rows, seen, redis.condition?.select, await redis.get("a")];
    },
    [
      [
        [null, "OK"],
        [null, "OK"],
        [null, "OK"],
        [null, "1"],
      ],
      [1],
      1,
      "1",
    ],
  );

  add(
    "subscribe inside a pipeline",
    async (stage) => {
      const redis = await stage.redis();
      return redis.pipeline().subscribe("a", "b").unsubscribe("a").unsubscribe("b").exec();
    },
    [
      [null, 2],
      [null, 1],
      [null, 0],
    ],
    { protocol: 3 },
  );

  add(
    "after the end every row says so",
    async (stage) => {
      const redis = await stage.redis();
      redis.disconnect();
      await new Promise((resolve) => redis.once("end", resolve));
      return plainRows(await redis.pipeline().get("a").get("b").exec());
    },
    [["Connection is closed."], ["Connection is closed."]],
  );

  add(
    "without an offline queue every row says so",
    async (stage) => {
      const redis = stage.make({ enableOfflineQueue: false });
      const rows = plainRows(await redis.pipeline().get("a").get("b").exec());
      const multi = await messageOf(redis.multi().get("a").exec());
      const single = await messageOf(redis.get("a"));
      return [rows, multi, single];
    },
    [
      [
        ["Stream isn't writeable and enableOfflineQueue options is false"],
        ["Stream isn't writeable and enableOfflineQueue options is false"],
      ],
      "Stream isn't writeable and enableOfflineQueue options is false",
      "Stream isn't writeable and enableOfflineQueue options is false",
    ],
    { autoPipelining: false },
  );

  add(
    "commands of others never come between",
    async (stage) => {
      const redis = await stage.redis();
      const other = await stage.redis();
      const seen = new Set<unknown>();
      const work: Promise<unknown>[] = [];
      for (let round = 0; round < 20; round++) {
        const pipeline = redis.pipeline();
        for (let i = 0; i < 50; i++) pipeline.incr("n");
        work.push(
          pipeline.exec().then((rows) => {
            const values = (rows ?? []).map((row) => row[1] as number);
            seen.add(values.every((value, i) => i === 0 || value === (values[i - 1] as number) + 1));
          }),
        );
        work.push(redis.set("x", round), other.get("n"));
      }
      await Promise.all(work);
      return [...seen];
    },
    [true],
  );

  add(
    "ten thousand commands",
    async (stage) => {
      const redis = await stage.redis();
      const pipeline = redis.pipeline();
      for (let i = 0; i < 10_000; i++) pipeline.set(`k${i}`, "x".repeat(100));
      const rows = await pipeline.exec();
      return [rows?.length, rows?.every((row) => row[1] === "OK"), await redis.dbsize()];
    },
    [10_000, true, 10_000],
  );

  add(
    "execBuffer: queues an EXEC in a pipeline, is exec in a transaction",
    async (stage) => {
      const redis = await stage.redis();
      const warnings: string[] = [];
      const onWarning = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);
      process.on("warning", onWarning);
      interface Old {
        execBuffer(): unknown;
        readonly length: number;
      }
      const pipeline = redis.pipeline().set("a", "1") as unknown as Old;
      const returned = pipeline.execBuffer();
      const rows = await (redis.multi().set("b", "2").getBuffer("b") as unknown as Old).execBuffer();
      await pause(1);
      process.off("warning", onWarning);
      const text = "DeprecationWarning: Pipeline#execBuffer: Use Pipeline#exec instead";
      return [returned === pipeline, pipeline.length, rows, warnings.every((one) => one === text)];
    },
    [
      true,
      2,
      [
        [null, "OK"],
        [null, Buffer.from("2")],
      ],
      true,
    ],
  );

  add(
    "commands that are held have a promise of their own",
    async (stage) => {
      const redis = await stage.redis();
      const { Command } = stage.Client;
      const command = new Command("get", ["none"], { replyEncoding: "utf8" });
      const sent = redis.sendCommand(command);
      return [await command.promise, await sent, command.isResolved];
    },
    [null, null, true],
  );

  add(
    "errors keep the call site with showFriendlyErrorStack",
    async (stage) => {
      const redis = await stage.redis({ showFriendlyErrorStack: true });
      async function theCaller(): Promise<Error> {
        return errorOf(redis.call("nosuch"));
      }
      const error = await theCaller();
      const rows = await redis.pipeline().call("nosuch").exec();
      return [
        error.stack?.split("\n")[0]?.startsWith("ReplyError: ERR unknown command"),
        error.stack?.includes("theCaller"),
        rows?.[0]?.[0]?.stack?.includes("pipelines"),
      ];
    },
    [true, true, true],
  );
});
