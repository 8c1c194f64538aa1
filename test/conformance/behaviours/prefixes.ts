/** The key prefix: what it is put on, and what not. */

import { group, messageOf, type Stage } from "../behaviour";

/** The arguments a server receives for calls of a client with a prefix. */
async function sent(stage: Stage, calls: readonly (readonly [string, ...unknown[]])[]): Promise<string[]> {
  const fake = await stage.fake((words) =>
    ["hello", "info", "client"].includes(words[0] ?? "") ? undefined : "x",
  );
  const redis = stage.bare({ port: fake.port, host: fake.host, keyPrefix: "p:", disableClientInfo: true });
  await Promise.all(calls.map(([name, ...args]) => redis.call(name, ...(args as string[]))));
  return fake.received.map((words) => words.join(" ")).filter((line) => !/^(hello|info)/.test(line));
}

export const prefixes = group("key prefix", (add) => {
  const alone = { isAlone: true } as const;

  add(
    "keys by position, by count, by keyword",
    async (stage) =>
      sent(stage, [
        ["get", "k"],
        ["GET", "k"],
        ["mget", "a", 1, Buffer.from("c")],
        ["mset", { a: 1, b: 2 }],
        ["blpop", "a", "b", 0],
        ["bitop", "AND", "d", "a", "b"],
        ["eval", "return 1", 2, "a", "b", "c"],
        ["eval", "return 1", 0, "a"],
        ["zunionstore", "d", 2, "a", "b", "WEIGHTS", 1, 2],
        ["lmpop", 2, "a", "b", "LEFT"],
        ["bzmpop", 0, 1, "a", "MIN"],
        ["xread", "COUNT", 1, "STREAMS", "a", "b", 0, 0],
        ["sort", "k", "BY", "w_*", "GET", "#", "GET", "o_*", "STORE", "d"],
        ["georadius", "k", 0, 0, 1, "m", "STORE", "d"],
        ["object", "ENCODING", "k"],
        ["memory", "USAGE", "k"],
        ["xinfo", "STREAM", "k"],
        ["migrate", "h", 1, "k", 0, 10],
        ["migrate", "h", 1, "", 0, 10, "KEYS", "a", "b"],
        ["spublish", "ch", "m"],
      ]),
    [
      "get p:k",
      "GET p:k",
      "mget p:a p:1 p:c",
      "mset p:a 1 p:b 2",
      "blpop p:a p:b 0",
      "bitop AND p:d p:a p:b",
      "eval return 1 2 p:a p:b c",
      "eval return 1 0 a",
      "zunionstore p:d 2 p:a p:b WEIGHTS 1 2",
      "lmpop 2 p:a p:b LEFT",
      "bzmpop 0 1 p:a MIN",
      "xread COUNT 1 STREAMS p:a p:b 0 0",
      "sort p:k BY p:w_* GET # GET p:o_* STORE p:d",
      "georadius p:k 0 0 1 m STORE p:d",
      "object ENCODING p:k",
      "memory USAGE p:k",
      "xinfo STREAM p:k",
      "migrate h 1 p:k 0 10",
      "migrate h 1  0 10 KEYS p:a p:b",
      "spublish p:ch m",
    ],
    { ...alone, autoPipelining: false },
  );

  add(
    "neither patterns nor channels nor unknown commands",
    async (stage) =>
      sent(stage, [
        ["keys", "k*"],
        ["scan", 0, "MATCH", "k*"],
        ["sscan", "k", 0, "MATCH", "m*"],
        ["publish", "ch", "m"],
        ["pubsub", "CHANNELS", "c*"],
        ["MINE.GET", "k", "$"],
        ["debug", "OBJECT", "k"],
        ["cluster", "KEYSLOT", "k"],
        ["command", "GETKEYS", "get", "k"],
      ]),
    [
      "keys k*",
      "scan 0 MATCH k*",
      "sscan p:k 0 MATCH m*",
      "publish ch m",
      "pubsub CHANNELS c*",
      "MINE.GET k $",
      "debug OBJECT k",
      "cluster KEYSLOT k",
      "command GETKEYS get k",
    ],
    { ...alone, autoPipelining: false },
  );

  add(
    "keys of the module families",
    async (stage) =>
      sent(stage, [
        ["JSON.GET", "k", "$"],
        ["ts.madd", "a", 1, 1, "b", 1, 1],
        ["ft.search", "index", "query"],
      ]),
    ["JSON.GET p:k $", "ts.madd p:a 1 1 p:b 1 1", "ft.search index query"],
    { ...alone, autoPipelining: false, differs: "key prefix of module commands" },
  );

  add(
    "in pipelines and transactions; a Buffer prefix; replies carry it",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      const bytes = await stage.redis({ keyPrefix: Buffer.from([0x71, 0xff]) as never });
      await redis.pipeline().set("a", "1").call("SET", "b", "2").exec();
      await redis.multi().set("c", "3").exec();
      await bytes.set("k", "4");
      const keys = (await redis.keys("p:*")).sort();
      return [
        keys,
        await redis.get("a"),
        await redis.callBuffer("get", Buffer.from("b")),
        await bytes.get("k"),
      ];
    },
    [["p:a", "p:b", "p:c"], "1", Buffer.from("2"), "4"],
    { differs: "key prefix as Buffer" },
  );

  add(
    "a key that is missing gets no prefix",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      const refused = await messageOf(redis.call("incr"));
      return [refused, await redis.keys("*")];
    },
    ["ERR wrong number of arguments for 'incr' command", []],
    { differs: "key prefix of a missing key" },
  );

  add(
    "subscriptions keep the raw channel",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      const heard = new Promise((resolve) => redis.once("message", (...args) => resolve(args)));
      await redis.subscribe("ch");
      await stage.admin("PUBLISH", "ch", "m");
      const message = await heard;
      await redis.unsubscribe();
      return message;
    },
    ["ch", "m"],
  );
});
