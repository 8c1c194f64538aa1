/** Arguments on the wire, and the argument transformers. */

import { group, messageOf, pause, type Stage } from "../behaviour";

/** Arguments that a server receives for a command, in order. */
async function sent(stage: Stage, args: readonly unknown[]): Promise<string[]> {
  const fake = await stage.fake((words) => (words[0] === "x" ? "y" : undefined));
  const redis = stage.bare({ port: fake.port, host: fake.host });
  await redis.call("x", ...(args as string[]));
  return (fake.received.find(([name]) => name === "x") ?? []).slice(1);
}

/** Takes a transformer of a test away again. */
function forget(stage: Stage, kind: "argument" | "reply", name: string): void {
  const tables = (
    stage.Client.Command as unknown as { _transformer: Record<string, Record<string, unknown>> }
  )._transformer;
  delete tables[kind]?.[name];
}

export const arguments_ = group("arguments", (add) => {
  add(
    "scalars",
    async (stage) =>
      sent(stage, [
        "é",
        Buffer.from([0x61, 0x62]),
        1,
        1.5,
        -0,
        1e21,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        true,
        false,
      ]),
    ["é", "ab", "1", "1.5", "0", "1000000000000000000000", "NaN", "Infinity", "true", "false"],
    { isAlone: true },
  );

  add(
    "null, undefined, bigint, symbol, objects",
    async (stage) => sent(stage, [null, undefined, 12n, Symbol("s"), {}, [["a", "b"], "c"], new Date(0)]),
    ["", "", "12", "Symbol(s)", "[object Object]", "a,b", "c", String(new Date(0))],
    { isAlone: true },
  );

  add(
    "holes of arrays are left out, what is undefined in them is not",
    // biome-ignore lint/suspicious/noSparseArray: what the test is about
    async (stage) => sent(stage, ["k", [, "a", , undefined, "b", ,], [[, "c", ,]]]),
    ["k", "a", "", "b", ",c,"],
    { isAlone: true },
  );

  add(
    "bytes of typed arrays",
    async (stage) => sent(stage, [new Uint8Array([65, 66]), new Uint8Array([67]).buffer]),
    ["AB", "C"],
    { isAlone: true, differs: "typed arrays" },
  );

  add(
    "a byte argument makes no difference to the others",
    async (stage) => {
      const redis = await stage.redis();
      const bytes = Buffer.from([0, 255, 13, 10, 128]);
      await redis.set("ключ", bytes);
      await redis.hset("h", { поле: "значение", bin: bytes });
      return [
        await redis.getBuffer("ключ"),
        await redis.hget("h", "поле"),
        await redis.hgetBuffer("h", "bin"),
      ];
    },
    [Buffer.from([0, 255, 13, 10, 128]), "значение", Buffer.from([0, 255, 13, 10, 128])],
  );

  add(
    "an object that has no text fails its own command only",
    async (stage) => {
      const redis = await stage.redis();
      const bad = { toString: null, valueOf: null } as unknown as string;
      const [failed, fine] = await Promise.all([messageOf(redis.set("k", bad)), redis.set("k", "v")]);
      return [failed.includes("cannot be sent"), fine];
    },
    [true, "OK"],
    { differs: "arguments without a string form" },
  );

  add(
    "mset and msetnx take objects and maps",
    async (stage) => {
      const redis = await stage.redis();
      await redis.mset({ a: 1, b: "two" });
      await redis.mset(
        new Map<string | Buffer | number, string | number>([
          ["c", 3],
          [Buffer.from("d"), "4"],
          [5, "five"],
        ]),
      );
      return [await redis.msetnx({ a: 9, z: 9 }), await redis.mget("a", "b", "c", "d", "5", "z")];
    },
    [0, ["1", "two", "3", "4", "five", null]],
  );

  add(
    "hset and hmset take objects and maps",
    async (stage) => {
      const redis = await stage.redis();
      return [
        await redis.hset("h", { f: "1", g: 2 }),
        await redis.hset("h", new Map([["i", "3"]])),
        await redis.hmset("h", { j: 4 }),
        await redis.hset("h", "k", "5", "l", "6"),
        await redis.call("hset", "h", { m: "7" } as unknown as string),
        await redis.hgetall("h"),
      ];
    },
    [2, 1, "OK", 2, 1, { f: "1", g: "2", i: "3", j: "4", k: "5", l: "6", m: "7" }],
  );

  add(
    "values inside objects are encoded like any other",
    async (stage) => {
      const redis = await stage.redis();
      await redis.hset("h", { a: null, b: [1, 2], c: undefined } as unknown as Record<string, string>);
      return redis.hgetall("h");
    },
    { a: "", b: "1,2", c: "" },
  );

  add(
    "only the exact word transforms",
    async (stage) => {
      const redis = await stage.redis();
      const wrong = "ERR wrong number of arguments for";
      return [
        (await messageOf(redis.call("HSET", "h", { f: "1" } as unknown as string))).startsWith(wrong),
        (await messageOf(redis.hset("h", {}))).startsWith(wrong),
        await redis.hset("h", { f: 1 } as never, "x"),
        await redis.hsetnx("h", { f: 1 } as never, "x"),
        await redis.hget("h", "[object Object]"),
      ];
    },
    [true, true, 1, 0, "x"],
  );

  add(
    "a Buffer in the place of an object is a scalar",
    async (stage) => {
      const redis = await stage.redis();
      return (await messageOf(redis.hset("h", Buffer.from("ab") as never))).startsWith("ERR wrong number");
    },
    true,
    { differs: "hset with a Buffer" },
  );

  add(
    "a pair list is not a map",
    async (stage) => {
      const redis = await stage.redis();
      await redis.mset([
        ["a", "1"],
        ["b", "2"],
      ] as never);
      return redis.get("a,1");
    },
    "b,2",
  );

  add(
    "transformers of the user, by the exact word",
    async (stage) => {
      const redis = await stage.redis();
      const { Command } = stage.Client;
      await redis.set("k", "v");
      Command.setArgumentTransformer("strlen", (args) => args.map((arg) => `${String(arg)}x`));
      Command.setReplyTransformer("strlen", (reply) => ({ reply }));
      try {
        await redis.set("kx", "four");
        return [
          await redis.strlen("k"),
          await redis.strlenBuffer("k"),
          await redis.call("strlen", "k"),
          await redis.call("STRLEN", "k"),
          (await redis.pipeline().strlen("k").exec())?.[0],
          (await redis.multi().strlen("k").exec())?.[0],
        ];
      } finally {
        forget(stage, "argument", "strlen");
        forget(stage, "reply", "strlen");
      }
    },
    [{ reply: 4 }, { reply: 4 }, { reply: 4 }, 1, [null, { reply: 4 }], [null, { reply: 4 }]],
  );

  add(
    "a reply transformer that throws fails its own command",
    async (stage) => {
      const redis = await stage.redis();
      const { Command } = stage.Client;
      Command.setReplyTransformer("strlen", () => {
        throw new Error("no");
      });
      try {
        const rows = await redis.pipeline().set("a", "1").strlen("a").get("a").exec();
        const inner = await redis.multi().strlen("a").get("a").exec();
        return [
          await messageOf(redis.strlen("a")),
          rows?.map((row) => (row[0] as Error | null)?.message ?? row[1]),
          inner?.map((row) => (row[0] as Error | null)?.message ?? row[1]),
        ];
      } finally {
        forget(stage, "reply", "strlen");
      }
    },
    ["no", ["OK", "no", "1"], ["no", "1"]],
  );

  add(
    "a reply transformer may return a promise: the row and the callback wait for it",
    async (stage) => {
      const redis = await stage.redis();
      const { Command } = stage.Client;
      await redis.mset("a", "1", "b", "broken");
      Command.setReplyTransformer("get", async (reply: unknown) => {
        await pause(5);
        if (reply === "broken") throw new Error("no");
        return `${String(reply)}!`;
      });
      try {
        const told = new Promise((resolve) => {
          const hear = (error?: Error | null, reply?: unknown): void => resolve([error, reply]);
          void redis.pipeline().get("a", hear).exec();
        });
        // A command that gathers, one that does not, and one made by hand.
        const byHand = new Command("get", ["a"], { replyEncoding: "utf8" });
        const ofOne = redis.pipeline();
        (ofOne as unknown as { sendCommand(command: unknown): void }).sendCommand(byHand);
        const pipelines = [
          redis.pipeline().get("a").get("b").set("c", "1"),
          redis.pipeline().subscribe().get("a").get("b"),
          ofOne,
        ];
        const rows = await Promise.all(pipelines.map((pipeline) => pipeline.exec()));
        const inTransaction = await redis.multi().get("a").exec();
        return [
          await told,
          rows.map((one) => one?.map((row) => row[0]?.message ?? row[1])),
          await inTransaction?.[0]?.[1],
        ];
      } finally {
        forget(stage, "reply", "get");
      }
    },
    [
      [null, "1!"],
      [["1!", "no", "OK"], ["ERR wrong number of arguments for 'subscribe' command", "1!", "no"], ["1!"]],
      "1!",
    ],
  );

  add(
    "a reply transformer is told the shape",
    async (stage) => {
      const redis = await stage.redis();
      const { Command } = stage.Client;
      const seen: unknown[] = [];
      Command.setReplyTransformer("strlen", (reply, context) => {
        seen.push(context);
        return reply;
      });
      try {
        await redis.strlen("a");
      } finally {
        forget(stage, "reply", "strlen");
      }
      return seen;
    },
    ({ protocol, replyMapping }: { protocol: number; replyMapping: string }) => [
      { commandName: "strlen", protocol, replyMapping },
    ],
  );
});
