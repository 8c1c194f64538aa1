/** Auto-pipelining: what joins, what does not, and in which order things happen. */

import { NO_REPLY } from "../../support/fake-server";
import { group, messageOf, pause } from "../behaviour";

export const autoPipelining = group("auto-pipelining", (add) => {
  const on = { autoPipelining: true } as const;

  add(
    "commands of a turn leave together",
    async (stage) => {
      const redis = await stage.redis();
      const work = [redis.set("a", "1"), redis.get("a")];
      const gathered = redis.autoPipelineQueueSize;
      process.nextTick(() => work.push(redis.get("a")));
      await Promise.resolve().then(() => work.push(redis.get("a")));
      await new Promise((resolve) => setImmediate(resolve));
      return [gathered, redis.autoPipelineQueueSize, await Promise.all(work)];
    },
    [2, 0, ["OK", "1", "1", "1"]],
    on,
  );

  add(
    "callbacks, Buffers, call, scripts, prefix, transformers",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      redis.defineCommand("echo2", { lua: "return {KEYS[1], ARGV[1]}", numberOfKeys: 1 });
      const heard: unknown[] = [];
      return [
        await Promise.all([
          redis.set("a", "1", (...args) => heard.push(args)),
          redis.getBuffer("a"),
          redis.call("get", "a"),
          redis.hset("h", { f: 1 }),
          redis.hgetall("h"),
          (redis as unknown as { echo2(...args: string[]): Promise<unknown> }).echo2("k", "v"),
        ]),
        heard,
      ];
    },
    [["OK", Buffer.from("1"), "1", 1, { f: "1" }, ["p:k", "v"]], [[null, "OK"]]],
    on,
  );

  add(
    "an error fails its own command",
    async (stage) => {
      const redis = await stage.redis();
      const results = await Promise.allSettled([redis.set("a", "1"), redis.lpush("a", 1), redis.get("a")]);
      return results.map((one) =>
        one.status === "fulfilled" ? one.value : (one.reason as Error).message.slice(0, 9),
      );
    },
    ["OK", "WRONGTYPE", "1"],
    on,
  );

  add(
    "what changes the connection is sent in the order of issue",
    async (stage) => {
      const redis = await stage.redis();
      await stage.admin("SET", "k", "in 0");
      const results = await Promise.all([
        redis.get("k"),
        redis.select(1),
        redis.get("k"),
        redis.select(0),
        redis.get("k"),
      ]);
      return results;
    },
    ["in 0", "OK", null, "OK", "in 0"],
    { ...on, differs: "order with auto-pipelining" },
  );

  add(
    "explicit batches keep their place",
    async (stage) => {
      const redis = await stage.redis();
      const results = await Promise.all([
        redis.incr("n"),
        redis.multi().incr("n").exec(),
        redis.incr("n"),
        redis.pipeline().incr("n").exec(),
        redis.incr("n"),
      ]);
      return results;
    },
    [1, [[null, 2]], 3, [[null, 4]], 5],
    { ...on, differs: "order with auto-pipelining" },
  );

  add(
    "hand-made commands keep their place",
    async (stage) => {
      const redis = await stage.redis();
      const made = new stage.Client.Command("incr", ["n"]);
      const gathered = redis.incr("n");
      return [await redis.sendCommand(made), await gathered];
    },
    [2, 1],
    { ...on, differs: "order with auto-pipelining" },
  );

  for (const leave of ["quit", "disconnect"] as const) {
    add(
      `what was gathered before ${leave}() is written`,
      async (stage) => {
        const redis = await stage.redis();
        const set = redis.set("a", "1").catch(({ message }: Error) => message);
        await redis[leave]();
        return [await set, await stage.admin("GET", "a")];
      },
      ["OK", "1"],
      { ...on, differs: "closing with auto-pipelining" },
    );
  }

  add(
    "callBuffer takes its first argument for the name of the command",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("a", "1");
      return redis.callBuffer("get", "a");
    },
    Buffer.from("1"),
    { ...on, differs: "`callBuffer` with auto-pipelining" },
  );

  add(
    "an exec() without a MULTI rejects, and nothing waits for it",
    async (stage) => {
      const redis = await stage.redis();
      return [await messageOf(redis.exec()), await redis.incr("n")];
    },
    ["ERR EXEC without MULTI", 1],
    { ...on, differs: "manual transactions with auto-pipelining" },
  );

  add(
    "ignored commands go out alone, in any letter case and as Buffer",
    async (stage) => {
      const redis = await stage.redis({ autoPipeliningIgnoredCommands: ["incr"] });
      void redis.incr("n");
      void redis.call("INCR", "n");
      void redis.incrBuffer("n");
      void redis.get("n");
      return [redis.autoPipelineQueueSize, await redis.get("n")];
    },
    [1, "3"],
    { ...on, differs: "commands excluded from batches" },
  );

  add(
    "commands that may wait are never gathered",
    async (stage) => {
      const redis = await stage.redis();
      const sizes: number[] = [];
      const note = (work: Promise<unknown>): Promise<unknown> => {
        sizes.push(redis.autoPipelineQueueSize);
        return work;
      };
      await note(redis.blpop("none", 0.01));
      await note(redis.watch("a"));
      await note(redis.unwatch());
      await note(redis.call("SELECT", 0));
      await note(redis.call("INFO", "server"));
      await note(redis.client("GETNAME"));
      await note(redis.xread("BLOCK", 1, "STREAMS", "none", "$"));
      await note(redis.xread("STREAMS", "none", "0"));
      return sizes;
    },
    [0, 0, 0, 0, 0, 0, 0, 1],
    { ...on, differs: "commands excluded from batches" },
  );

  add(
    "while a batch is out, commands gather; the next leaves with its last reply",
    async (stage) => {
      const fake = await stage.fake((words, { socket }) => {
        if (words[0] === "get") return "v";
        if (words[0] !== "slow") return undefined;
        setTimeout(() => socket.write("+done\r\n"), 300);
        return NO_REPLY;
      });
      const redis = stage.bare({ port: fake.port });
      await new Promise((resolve) => redis.once("ready", resolve));
      const slow = redis.call("slow");
      await pause(5);
      const waiting = [redis.get("a"), redis.get("b")];
      await pause(5);
      const held = [redis.autoPipelineQueueSize, fake.received.filter(([word]) => word === "get").length];
      return [held, await slow, await Promise.all(waiting)];
    },
    [[2, 0], "done", ["v", "v"]],
    { ...on, isAlone: true },
  );

  add(
    "each command settles on its own reply",
    async (stage) => {
      const fake = await stage.fake((words, { socket }) => {
        if (words[0] === "get") return "v";
        if (words[0] !== "slow") return undefined;
        setTimeout(() => socket.write("+done\r\n"), 400);
        return NO_REPLY;
      });
      const redis = stage.bare({ port: fake.port });
      await new Promise((resolve) => redis.once("ready", resolve));
      const order: string[] = [];
      await Promise.all([
        redis.get("a").then(() => order.push("get")),
        redis.call("slow").then(() => order.push("slow")),
        pause(200).then(() => order.push("200 ms")),
      ]);
      return order;
    },
    ["get", "200 ms", "slow"],
    { ...on, isAlone: true, differs: "settling at its own reply" },
  );

  add(
    "a callback that throws disturbs nobody",
    async (stage) => {
      const redis = await stage.redis();
      const thrown: string[] = [];
      const listeners = process.listeners("uncaughtException");
      process.removeAllListeners("uncaughtException");
      process.once("uncaughtException", (error) => thrown.push(error.message));
      try {
        const first = redis.get("a", () => {
          throw new Error("mine");
        });
        const second = redis.get("b");
        const both = await Promise.all([first, second]);
        await pause(5);
        return [both, thrown];
      } finally {
        for (const listener of listeners) process.on("uncaughtException", listener);
      }
    },
    [[null, null], ["mine"]],
  );

  add(
    "before ready commands wait in the offline queue, after the end they fail",
    async (stage) => {
      const redis = stage.make();
      const early = redis.set("a", "1");
      const reply = await early;
      redis.disconnect();
      await new Promise((resolve) => redis.once("end", resolve));
      return [reply, await messageOf(redis.get("a"))];
    },
    ["OK", "Connection is closed."],
    on,
  );

  add(
    "hand-made commands are not gathered",
    async (stage) => {
      const redis = await stage.redis();
      const sent = redis.sendCommand(new stage.Client.Command("ping", [], { replyEncoding: "utf8" }));
      const { string } = redis.createBuiltinCommand("ping");
      const made = string.call(redis);
      return [redis.autoPipelineQueueSize, await sent, await made];
    },
    [0, "PONG", "PONG"],
    on,
  );
});
