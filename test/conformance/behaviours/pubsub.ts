/** Channels, patterns, shard channels: counts, messages, modes. */

import type { Redis } from "../../../src/client/redis";
import { RawReply } from "../../support/fake-server";
import { group, messageOf, next, pause, plainRows } from "../behaviour";

const MODE = "Connection in subscriber mode, only subscriber commands may be used";

/** Everything that arrives, as `event(arguments)`. */
function record(redis: Redis, ...events: string[]): unknown[] {
  const seen: unknown[] = [];
  for (const event of events) redis.on(event, (...args: unknown[]) => seen.push([event, ...args]));
  return seen;
}

export const pubsub = group("pub/sub", (add) => {
  add(
    "counts: channels and patterns together, duplicates once, unknown names change nothing",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.subscribe("a", "b"),
        await redis.subscribe("b"),
        await redis.psubscribe("p*"),
        await redis.subscribe(["c"]),
        await redis.unsubscribe("nope"),
        await redis.unsubscribe("a"),
        await redis.punsubscribe("p*"),
        await redis.unsubscribe("b", "c"),
      ];
    },
    [2, 2, 3, 4, 4, 3, 2, 0],
  );

  add(
    "shard channels have a counter of their own",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.subscribe("a"),
        await redis.ssubscribe("s1", "s2"),
        await redis.sunsubscribe("s1"),
        await redis.sunsubscribe("s2"),
        await redis.unsubscribe("a"),
      ];
    },
    [1, 2, 1, 0, 0],
    { protocol: 3 },
  );

  add(
    "no names: everything of the kind goes",
    async (stage) => {
      const redis = await stage.redis();
      await redis.subscribe("a", "b", "c");
      const first = await redis.unsubscribe();
      const nothing = await redis.unsubscribe();
      await redis.psubscribe("p*", "q*");
      const second = await redis.punsubscribe();
      return [first, nothing, second, await redis.punsubscribe(), await redis.ping()];
    },
    [0, 0, 0, 0, "PONG"],
  );

  add(
    "no names while another kind remains",
    async (stage) => {
      const redis = await stage.redis();
      await redis.subscribe("a", "b");
      await redis.psubscribe("p*");
      const left = await redis.unsubscribe();
      const heard = next(redis, "pmessage");
      await stage.admin("PUBLISH", "pp", "still");
      return [left, await heard, await redis.punsubscribe(), await redis.get("none")];
    },
    [1, ["p*", "pp", "still"], 0, null],
    { differs: "unsubscribe() without names" },
  );

  add(
    "callbacks, Buffers, upper case, strings for numbers",
    async (stage) => {
      const redis = await stage.redis();
      const text = await stage.redis({ stringNumbers: true });
      const heard = await new Promise((resolve) => {
        void redis.subscribe("a", (...args) => resolve(args));
      });
      return [
        heard,
        await redis.call("SUBSCRIBE", "b"),
        await redis.subscribeBuffer("c"),
        await redis.call("UNSUBSCRIBE", "a", "b", "c"),
        await text.subscribe("x"),
      ];
    },
    [[null, 1], 2, 3, 0, "1"],
  );

  add(
    "subscribe() without names is the server's error",
    async (stage) => (await messageOf((await stage.redis()).subscribe())).slice(0, 30),
    "ERR wrong number of arguments ",
  );

  add(
    "messages: string event first, then Buffers",
    async (stage) => {
      const redis = await stage.redis();
      const seen = record(redis, "messageBuffer", "message", "pmessageBuffer", "pmessage");
      await redis.subscribe("ch");
      await redis.psubscribe("c*");
      const done = next(redis, "pmessageBuffer");
      await stage.admin("PUBLISH", "ch", "hi");
      await done;
      return seen;
    },
    [
      ["message", "ch", "hi"],
      ["messageBuffer", Buffer.from("ch"), Buffer.from("hi")],
      ["pmessage", "c*", "ch", "hi"],
      ["pmessageBuffer", "c*", Buffer.from("ch"), Buffer.from("hi")],
    ],
  );

  add(
    "shard messages",
    async (stage) => {
      const redis = await stage.redis();
      const seen = record(redis, "smessage", "smessageBuffer", "message");
      await redis.ssubscribe("ch");
      const done = next(redis, "smessageBuffer");
      await stage.admin("SPUBLISH", "ch", "hi");
      await done;
      return seen;
    },
    [
      ["smessage", "ch", "hi"],
      ["smessageBuffer", Buffer.from("ch"), Buffer.from("hi")],
    ],
  );

  add(
    "bytes and empty payloads",
    async (stage) => {
      const redis = await stage.redis();
      const other = await stage.redis();
      const seen = record(redis, "messageBuffer");
      const channel = Buffer.from([0xff, 0x00]);
      await redis.subscribe(channel, "e");
      const both = new Promise<void>((resolve) => {
        redis.on("messageBuffer", () => {
          if (seen.length === 2) resolve();
        });
      });
      await other.publish(channel as never, Buffer.from([1, 0xfe]));
      await other.publish("e", "");
      await both;
      return seen;
    },
    [
      ["messageBuffer", Buffer.from([0xff, 0x00]), Buffer.from([1, 0xfe])],
      ["messageBuffer", Buffer.from("e"), Buffer.alloc(0)],
    ],
  );

  add(
    "a listener that throws disturbs nobody",
    async (stage) => {
      const redis = await stage.redis();
      const thrown: string[] = [];
      const listeners = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      process.once("uncaughtException", (error) => thrown.push(error.message));
      try {
        redis.once("message", () => {
          throw new Error("mine");
        });
        await redis.subscribe("ch");
        await stage.admin("PUBLISH", "ch", "1");
        await pause(5);
        const heard = next(redis, "message");
        await stage.admin("PUBLISH", "ch", "2");
        return [thrown, await heard];
      } finally {
        for (const listener of listeners) process.on("uncaughtException", listener);
      }
    },
    [["mine"], ["ch", "2"]],
  );

  // --- modes --------------------------------------------------------------------------------

  add(
    "protocol 2: subscriber mode and what it allows",
    async (stage) => {
      const redis = await stage.redis();
      await redis.subscribe("ch");
      const inside = [
        redis.mode,
        Boolean(redis.condition?.subscriber),
        await messageOf(redis.get("a")),
        plainRows(await redis.pipeline().get("a").get("b").exec()),
        await messageOf(redis.multi().get("a").exec()),
        await redis.ping(),
        await redis.ping("hi"),
      ];
      await redis.unsubscribe("ch");
      return [inside, redis.mode, await redis.get("a")];
    },
    [["subscriber", true, MODE, [[MODE], [MODE]], MODE, ["pong", ""], ["pong", "hi"]], "normal", null],
    { protocol: 2 },
  );

  add(
    "protocol 3: nothing is forbidden",
    async (stage) => {
      const redis = await stage.redis();
      await redis.subscribe("ch");
      const heard = next(redis, "message");
      const inside = [
        redis.mode,
        await redis.set("a", "1"),
        await redis.pipeline().get("a").exec(),
        await redis.multi().get("a").exec(),
        await redis.ping(),
        await redis.publish("ch", "to myself"),
      ];
      return [inside, await heard];
    },
    [
      ["normal", "OK", [[null, "1"]], [[null, "1"]], "PONG", 1],
      ["ch", "to myself"],
    ],
    { protocol: 3 },
  );

  add(
    "protocol 2: leaving one kind keeps the mode while another remains",
    async (stage) => {
      const redis = await stage.redis();
      await redis.subscribe("ch");
      await redis.ssubscribe("s");
      await redis.sunsubscribe("s");
      const mode = redis.mode;
      const heard = next(redis, "message");
      await stage.admin("PUBLISH", "ch", "hi");
      return [mode, await heard, await redis.unsubscribe("ch"), redis.mode, await redis.get("none")];
    },
    ["subscriber", ["ch", "hi"], 0, "normal", null],
    { protocol: 2, isOursAlone: true },
  );

  add(
    "protocol 2: a command behind subscribe in the same turn gets the server's word",
    async (stage) => {
      const redis = await stage.redis();
      const work = [redis.subscribe("ch"), messageOf(redis.get("a"))];
      const [count, message] = await Promise.all(work);
      return [count, String(message).slice(0, 24)];
    },
    [1, "ERR Can't execute 'get':"],
    { protocol: 2, autoPipelining: false },
  );

  add(
    "subscribing before ready",
    async (stage) => {
      const redis = stage.make();
      const heard = next(redis, "message");
      const count = await redis.subscribe("ch");
      await stage.admin("PUBLISH", "ch", "hi");
      return [count, await heard];
    },
    [1, ["ch", "hi"]],
  );

  add(
    "quit() and disconnect() of a subscriber",
    async (stage) => {
      const one = await stage.redis();
      const two = await stage.redis();
      await one.subscribe("a");
      await two.subscribe("a");
      const reply = await one.quit();
      if (one.status !== "end") await next(one, "end");
      two.disconnect();
      await next(two, "end");
      return [reply, one.status, two.status];
    },
    ["OK", "end", "end"],
  );

  add(
    "many channels and messages keep their order",
    async (stage) => {
      const redis = await stage.redis();
      const other = await stage.redis();
      const channels = Array.from({ length: 300 }, (_, i) => `ch${i}`);
      const count = await redis.subscribe(...channels);
      const seen: number[] = [];
      const all = new Promise<void>((resolve) => {
        redis.on("message", (_channel: string, message: string) => {
          if (seen.push(Number(message)) === 1000) resolve();
        });
      });
      const pipeline = other.pipeline();
      for (let i = 0; i < 1000; i++) pipeline.publish(`ch${i % 300}`, String(i));
      await pipeline.exec();
      await all;
      return [count, seen.every((value, i) => value === i), await redis.unsubscribe()];
    },
    [300, true, 0],
  );

  add(
    "other pushes are passed over",
    async (stage) => {
      const redis = await stage.redis();
      await redis.client("TRACKING", "ON");
      await redis.get("a");
      await stage.admin("SET", "a", "1");
      await pause(5);
      return redis.get("a");
    },
    "1",
    { protocol: 3 },
  );

  add(
    "shard subscriptions are restored",
    async (stage) => {
      const redis = await stage.redis({ retryStrategy: () => 1 });
      await redis.ssubscribe("s1", "s2");
      const ready = next(redis, "ready");
      await stage.admin("CLIENT", "KILL", "TYPE", "pubsub");
      await ready;
      await pause(10);
      return ((await stage.admin("PUBSUB", "SHARDCHANNELS")) as string[]).sort();
    },
    ["s1", "s2"],
  );

  add(
    "a shard channel that the server ends by itself takes no reply away, and `moved` tells",
    async (stage) => {
      const hello = new RawReply("%1\r\n$5\r\nproto\r\n:3\r\n");
      const push = (kind: string): string => `>3\r\n$${kind.length}\r\n${kind}\r\n$1\r\ns\r\n`;
      const fake = await stage.fake((words) => {
        if (words[0] === "hello") return hello;
        if (words[0] === "ssubscribe") return new RawReply(`${push("ssubscribe")}:1\r\n`);
        return words[0] === "get" ? "v" : undefined;
      });
      const redis = stage.bare({ port: fake.port, host: fake.host });
      const count = await redis.ssubscribe("s");
      const moved = next(redis, "moved");
      fake.broadcast(new RawReply(`${push("sunsubscribe")}:0\r\n`));
      await moved;
      return [count, await redis.get("a")];
    },
    [1, "v"],
    { isAlone: true },
  );

  add(
    "a reply that nobody asked for is an error, and the connection is replaced",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "get" ? "v" : undefined));
      const redis = stage.bare({ port: fake.port, host: fake.host, retryStrategy: () => 1 });
      await next(redis, "ready");
      const error = next(redis, "error");
      const ready = next(redis, "ready");
      fake.broadcast("what?");
      const [first] = (await error) as [Error];
      await ready;
      return [first.message.slice(0, 84), await redis.get("a"), fake.connectionCount];
    },
    ["Command queue state error. If you can reproduce this, please report it. Last reply: ", "v", 2],
    { isAlone: true, differs: "unexpected replies" },
  );

  add(
    "a subscription that a transaction discards does not make a subscriber",
    async (stage) => {
      const redis = await stage.redis();
      const work = [redis.multi({ pipeline: false }), redis.subscribe("ch"), redis.discard()];
      return [await Promise.all(work), redis.mode];
    },
    [["OK", "QUEUED", "OK"], "normal"],
    { differs: "subscribing inside a transaction" },
  );

  add(
    "reset leaves the subscriptions behind",
    async (stage) => {
      const redis = await stage.redis();
      await redis.subscribe("ch");
      const reply = await redis.reset();
      return [reply, redis.mode, await redis.get("none")];
    },
    ["RESET", "normal", null],
    { isOursAlone: true, protocol: 3 },
  );

  add(
    "messages do not count as replies to what is in flight",
    async (stage) => {
      const redis = await stage.redis();
      const other = await stage.redis();
      await redis.subscribe("ch");
      const seen = record(redis, "message");
      const work = Array.from({ length: 50 }, (_, i) => {
        void other.publish("ch", String(i));
        return redis.incr("n");
      });
      const values = await Promise.all(work);
      await pause(20);
      return [values.every((value, i) => value === i + 1), seen.length];
    },
    [true, 50],
    { protocol: 3 },
  );
});
