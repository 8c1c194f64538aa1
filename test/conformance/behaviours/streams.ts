/** Scan streams and MONITOR. */

import type { Redis } from "../../../src/client/redis";
import type { ScanStream } from "../../../src/streaming/scan-stream";
import { group, messageOf, next, pause } from "../behaviour";

async function collect(stream: ScanStream): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const chunk of stream) all.push(...(chunk as unknown[]));
  return all;
}

async function fill(redis: Redis, count: number): Promise<void> {
  const pipeline = redis.pipeline();
  for (let i = 0; i < count; i++) pipeline.set(`k${i}`, String(i));
  await pipeline.exec();
}

export const streams = group("scan streams and monitor", (add) => {
  add(
    "every key once or more, in chunks",
    async (stage) => {
      const redis = await stage.redis();
      await fill(redis, 500);
      const stream = redis.scanStream({ count: 50 });
      let chunks = 0;
      stream.on("data", () => chunks++);
      const keys = new Set<unknown>();
      stream.on("data", (chunk: string[]) => {
        for (const key of chunk) keys.add(key);
      });
      await new Promise((resolve) => stream.once("end", resolve));
      return [stream instanceof stage.Client.ScanStream, chunks > 5, keys.size];
    },
    [true, true, 500],
  );

  add(
    "options: match, type, count; Buffers; the prefix is not put on the pattern",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      await redis.set("a", "1");
      await redis.lpush("l", "1");
      await stage.admin("SET", "other", "1");
      return [
        (await collect(redis.scanStream({ match: "p:*" }))).sort(),
        await collect(redis.scanStream({ type: "list" })),
        await collect(redis.scanBufferStream({ match: "p:a", count: 100 })),
      ];
    },
    [["p:a", "p:l"], ["p:l"], [Buffer.from("p:a")]],
  );

  add(
    "a stream that has failed is closed",
    async (stage) => {
      const redis = await stage.redis();
      const stream = redis.scanStream({ count: "none" as never });
      const heard: unknown[] = [];
      for (const event of ["error", "end", "close"]) stream.on(event, () => heard.push(event));
      stream.resume();
      await new Promise((resolve) => stream.once("error", resolve));
      await pause(20);
      return [heard, stream.destroyed];
    },
    [["error", "close"], true],
    { differs: "scan streams that fail" },
  );

  add(
    "sets, hashes and sorted sets",
    async (stage) => {
      const redis = await stage.redis();
      await redis.sadd("s", "a");
      await redis.hset("h", "f", "v");
      await redis.zadd("z", 1.5, "m");
      return [
        await collect(redis.sscanStream("s")),
        await collect(redis.sscanBufferStream("s")),
        await collect(redis.hscanStream("h", { match: "f*" })),
        await collect(redis.hscanBufferStream("h")),
        await collect(redis.zscanStream("z")),
        await collect(redis.zscanBufferStream("z")),
        await collect(redis.sscanStream("none")),
      ];
    },
    [
      ["a"],
      [Buffer.from("a")],
      ["f", "v"],
      [Buffer.from("f"), Buffer.from("v")],
      ["m", "1.5"],
      [Buffer.from("m"), Buffer.from("1.5")],
      [],
    ],
  );

  add(
    "noValues asks for fields only",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "hscan" ? ["0", ["f"]] : undefined));
      const redis = stage.bare({ port: fake.port });
      const all = await collect(redis.hscanStream("h", { noValues: true, count: 5, match: "x" }));
      return [all, fake.received.find(([word]) => word === "hscan")];
    },
    [["f"], ["hscan", "h", "0", "MATCH", "x", "COUNT", "5", "NOVALUES"]],
    { isAlone: true },
  );

  add(
    "an error of the server ends it",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("text", "x");
      const stream = redis.sscanStream("text");
      let chunks = 0;
      stream.on("data", () => chunks++);
      const error = await new Promise<Error>((resolve) => stream.once("error", resolve));
      return [error.name, error.message.slice(0, 9), chunks];
    },
    ["ReplyError", "WRONGTYPE", 0],
  );

  add(
    "pause() holds further calls, close() ends early",
    async (stage) => {
      let calls = 0;
      const fake = await stage.fake((words) => (words[0] === "scan" ? [String(++calls), ["k"]] : undefined));
      const redis = stage.bare({ port: fake.port });
      const stream = redis.scanStream({ highWaterMark: 1 } as never);
      await new Promise<void>((resolve) => stream.once("data", () => resolve()));
      stream.pause();
      await pause(10);
      const before = calls;
      await pause(20);
      const held = calls === before && before < 5;
      stream.close();
      stream.resume();
      await new Promise((resolve) => stream.once("end", resolve));
      return [held, calls - before <= 1];
    },
    [true, true],
    { isAlone: true },
  );

  add(
    "leaving the loop early",
    async (stage) => {
      const redis = await stage.redis();
      await fill(redis, 200);
      const stream = redis.scanStream({ count: 10 });
      for await (const keys of stream) if ((keys as string[]).length > 0) break;
      return [stream.destroyed, await redis.ping()];
    },
    [true, "PONG"],
  );

  add(
    "monitor prints what others do and takes no commands",
    async (stage) => {
      const redis = await stage.redis();
      const monitor = await redis.monitor();
      const lines: unknown[][] = [];
      const enough = new Promise<void>((resolve) => {
        monitor.on("monitor", (...line: unknown[]) => {
          if (lines.push(line) === 2) resolve();
        });
      });
      await redis.set('a"b', "x y");
      await redis.select(3).then(() => redis.get("q"));
      await enough;
      const [time, args, source, database] = lines[0] as [string, string[], string, string];
      const refused = [
        await messageOf(monitor.get("x")),
        await messageOf(monitor.quit()),
        (await monitor.pipeline().get("x").exec())?.[0]?.[0]?.message,
      ];
      const state = [monitor === redis, monitor.status, monitor.mode];
      monitor.disconnect();
      await next(monitor, "end");
      return [state, /^\d+\.\d{6}$/.test(time), args, /^127\.0\.0\.1:\d+$/.test(source), database, refused];
    },
    [
      [false, "monitoring", "monitor"],
      true,
      ["set", 'a"b', "x y"],
      true,
      "0",
      Array(3).fill("Connection is in monitoring mode, can't process commands."),
    ],
  );

  add(
    "monitor rejects when it cannot connect, and has a callback form",
    async (stage) => {
      const nowhere = stage.bare({ port: 1, host: "127.0.0.1", lazyConnect: true, retryStrategy: null });
      const redis = await stage.redis();
      const heard = await new Promise<unknown[]>((resolve) => {
        void redis.monitor((error, monitor) => {
          monitor?.disconnect();
          resolve([error, monitor?.mode]);
        });
      });
      return [await messageOf(nowhere.monitor()), heard];
    },
    ["connect ECONNREFUSED 127.0.0.1:1", [null, "monitor"]],
  );
});
