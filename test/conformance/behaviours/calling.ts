/** Forms in which commands can be called: methods, `call`, arrays, callbacks, hand-made commands. */

import { ReplyError } from "../../../src/errors";
import { errorOf, group, messageOf } from "../behaviour";

type Called = [error: unknown, ...rest: unknown[]];

/** The arguments of a node-style callback. */
function called(call: (callback: (...args: unknown[]) => void) => unknown): Promise<unknown[]> {
  return new Promise((resolve) => void call((...args) => resolve(args)));
}

export const calling = group("calling", (add) => {
  add(
    "methods in lower case and their Buffer twins",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.set("k", "v"),
        await redis.get("k"),
        await redis.getBuffer("k"),
        await redis.setBuffer("k", "w"),
        await redis.get("none"),
        await redis.getBuffer("none"),
        await redis.incrBuffer("n"),
      ];
    },
    ["OK", "v", Buffer.from("v"), Buffer.from("OK"), null, null, 1],
  );

  add(
    "arrays are flattened one level",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.call("set", ["a", "1"]),
        await redis.mset(["b", "2"], "c", "3"),
        await redis.sadd("s", ["x", "y"], "z"),
        await redis.del(["a", "b"]),
        await redis.exists("a", ["b", "c"]),
      ];
    },
    ["OK", "OK", 3, 2, 1],
  );

  add(
    "call sends the name as given and has the same forms",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.call("SET", "a", "b"),
        await redis.call("Get", "a"),
        await redis.call("get", ["a"]),
        await redis.callBuffer("GET", "a"),
        await redis.send_command("get", "a"),
        await messageOf(redis.call("config get", "maxmemory")).then((text) =>
          text.includes("unknown command"),
        ),
      ];
    },
    ["OK", "b", "b", Buffer.from("b"), "b", true],
  );

  add(
    "call with the whole command as one array",
    async (stage) => {
      const redis = await stage.redis();
      return redis.call(["set", "a", "b"] as unknown as string);
    },
    "OK",
    { differs: "call with one array" },
  );

  add(
    "a callback gets the reply",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("k", "v");
      return [
        await called((callback) => redis.get("k", callback)),
        await called((callback) => redis.get("none", callback)),
        await called((callback) => redis.getBuffer("k", callback)),
        await called((callback) => redis.call("get", "k", callback)),
        await called((callback) => redis.del(["k"], callback)),
      ];
    },
    [
      [null, "v"],
      [null, null],
      [null, Buffer.from("v")],
      [null, "v"],
      [null, 1],
    ],
  );

  add(
    "a callback gets the error alone, and counts as handling it",
    async (stage) => {
      const redis = await stage.redis();
      const args = (await called((callback) => redis.call("get", callback))) as Called;
      return [args.length, (args[0] as Error).message];
    },
    [1, "ERR wrong number of arguments for 'get' command"],
  );

  add(
    "a promise is returned beside the callback",
    async (stage) => {
      const redis = await stage.redis();
      let heard: unknown;
      const reply = await redis.set("k", "v", (_error, value) => {
        heard = value;
      });
      return [reply, heard];
    },
    ["OK", "OK"],
  );

  add(
    "a function that is not last is an argument",
    async (stage) => {
      const redis = await stage.redis();
      await redis.call("set", "f", function named() {} as unknown as string, "EX", "100");
      return redis.get("f").then((text) => text?.includes("named"));
    },
    true,
  );

  add(
    "errors of the server",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("k", "v");
      const error = (await errorOf(redis.lpush("k", 1, "two"))) as Error & { command: unknown };
      return [
        error.name,
        error.message,
        error.command,
        error instanceof Error,
        error instanceof stage.Client.ReplyError,
        JSON.stringify(error),
      ];
    },
    [
      "ReplyError",
      "WRONGTYPE Operation against a key holding the wrong kind of value",
      { name: "lpush", args: ["k", "1", "two"] },
      true,
      true,
      '{"code":"REPLY","command":{"name":"lpush","args":["k","1","two"]}}',
    ],
    { differs: "errors show their code" },
  );

  add(
    "ReplyError is the class of the errors",
    async (stage) => [
      (await errorOf((await stage.redis()).call("nosuch"))) instanceof ReplyError,
      stage.Client.ReplyError === (ReplyError as unknown),
    ],
    [true, true],
    { isOursAlone: true },
  );

  add(
    "a hand-made command",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      const { Command } = stage.Client;
      const plain = new Command("set", ["k", "v"], { replyEncoding: "utf8" });
      const sent = await redis.sendCommand(plain);
      const raw = await redis.sendCommand(new Command("get", ["k"]));
      const viaCallback = await called((callback) =>
        redis.sendCommand(new Command("get", ["k"], { replyEncoding: "utf8" }, callback)),
      );
      return [sent, raw, viaCallback, await redis.get("k")];
    },
    ["OK", Buffer.from("v"), [null, "v"], null],
  );

  add(
    "a hand-made command puts its own prefix on",
    async (stage) => {
      const redis = await stage.redis();
      const { Command } = stage.Client;
      await redis.sendCommand(new Command("set", ["k", "v"], { keyPrefix: "own:" }));
      return redis.get("own:k");
    },
    "v",
  );

  add(
    "members of a hand-made command",
    async (stage) => {
      const { Command } = stage.Client;
      const command = new Command("MSET", ["a", 1, "b", Buffer.from("x")]);
      return [
        command.name,
        command.args,
        command.getKeys(),
        new Command("get", ["{x}1"]).getSlot(),
        new Command("ping").getSlot(),
        new Command("nosuch", ["a"]).getKeys(),
        String(command.toWritable(undefined as never)),
        typeof command.promise.then,
        command.isResolved,
        Command.checkFlag("BLOCKING_COMMANDS", "BLPOP"),
        Command.checkFlag("BLOCKING_COMMANDS", "get"),
        command.inTransaction,
      ];
    },
    [
      "MSET",
      ["a", "1", "b", Buffer.from("x")],
      ["a", "b"],
      16287,
      null,
      [],
      "*5\r\n$4\r\nMSET\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\nx\r\n",
      "function",
      false,
      true,
      false,
      false,
    ],
    { isAlone: true },
  );

  add(
    "built-in commands are listed and can be extended",
    async (stage) => {
      const redis = await stage.redis();
      const names = redis.getBuiltinCommands();
      redis.addBuiltinCommand("nosuchcommand");
      const extended = redis as unknown as Record<string, (...args: string[]) => Promise<unknown>>;
      const { string, buffer } = redis.createBuiltinCommand("get");
      await redis.set("k", "v");
      return [
        names.includes("get"),
        names.includes("monitor"),
        names.every((name) => name === name.toLowerCase()),
        (await messageOf(extended["nosuchcommand"]?.("a") as Promise<unknown>)).includes("unknown command"),
        typeof extended["nosuchcommandBuffer"],
        typeof (redis.pipeline() as unknown as typeof extended)["nosuchcommand"],
        typeof (redis.duplicate({ lazyConnect: true }) as unknown as typeof extended)["nosuchcommand"],
        await string.call(redis, "k"),
        await buffer.call(redis, "k"),
      ];
    },
    [true, false, true, true, "function", "function", "undefined", "v", Buffer.from("v")],
  );

  add(
    "no other spellings, no traps for detectors of other clients",
    async (stage) => {
      const redis = stage.bare({ lazyConnect: true }) as unknown as Record<string, unknown>;
      const absent = [
        "GET",
        "hSet",
        "scanIterator",
        "sSubscribe",
        "pSubscribe",
        "masters",
        "isOpen",
        "isReady",
      ];
      return [
        absent.filter((name) => redis[name] !== undefined),
        redis["then"],
        typeof redis["restore-asking"],
        (redis as { getBuiltinCommands?(): string[] }).getBuiltinCommands?.().length,
      ];
    },
    [[], undefined, "function", 301],
    { isAlone: true },
  );

  add(
    "a failing command raises unhandledRejection unless somebody looks",
    async (stage) => {
      const redis = await stage.redis();
      const seen: string[] = [];
      const listeners = process.listeners("unhandledRejection");
      process.removeAllListeners("unhandledRejection");
      const onRejection = (reason: unknown): void => void seen.push((reason as Error).message);
      process.on("unhandledRejection", onRejection);
      try {
        redis.call("get").catch(() => {});
        redis.call("get", () => {});
        void redis.call("nosuch");
        await redis.ping();
        await new Promise((resolve) => setTimeout(resolve, 10));
      } finally {
        process.off("unhandledRejection", onRejection);
        for (const listener of listeners) process.on("unhandledRejection", listener);
      }
      return seen.map((text) => text.slice(0, 27));
    },
    ["ERR unknown command 'nosuch"],
  );

  add(
    "numbers of a reply are numbers, or strings with stringNumbers",
    async (stage) => {
      const plain = await stage.redis();
      const text = await stage.redis({ stringNumbers: true });
      await plain.set("n", "41");
      return [await plain.incr("n"), await text.incr("n"), await text.strlen("n"), await text.lpush("l", 1)];
    },
    [42, "43", "2", "1"],
  );

  add(
    "the largest exact integer arrives exactly",
    async (stage) => {
      const redis = await stage.redis();
      await redis.set("n", "9007199254740990");
      await redis.set("m", "-9007199254740990");
      return [await redis.incr("n"), await redis.decr("m")];
    },
    [9007199254740991, -9007199254740991],
    { differs: "integers near 2^53" },
  );

  add(
    "credentials are masked in the command of an error",
    async (stage) => {
      const redis = await stage.redis();
      const { command } = (await errorOf(redis.auth("nobody", "secret"))) as unknown as { command: unknown };
      return command;
    },
    { name: "auth", args: ["***", "***"] },
    { differs: "errors hide credentials" },
  );
});
