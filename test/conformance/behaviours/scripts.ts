/** Lua scripts as commands. */

import { errorOf, group, messageOf, pause, plainRows } from "../behaviour";

type Scripted = Record<string, (...args: unknown[]) => Promise<unknown>>;

const ECHO = { lua: "return {KEYS[1], ARGV[1]}", numberOfKeys: 1 };

export const scripts = group("scripts", (add) => {
  add(
    "become methods, with a Buffer twin, callbacks and arrays",
    async (stage) => {
      const redis = await stage.redis();
      const nothing = redis.defineCommand("echo2", ECHO);
      const client = redis as unknown as Scripted;
      const heard = await new Promise((resolve) => {
        void client["echo2"]?.("k", "a", (error: unknown, reply: unknown) => resolve([error, reply]));
      });
      return [
        nothing,
        await client["echo2"]?.("k", "a"),
        await client["echo2Buffer"]?.("k", "a"),
        await client["echo2"]?.(["k", "a"]),
        heard,
      ];
    },
    [undefined, ["k", "a"], [Buffer.from("k"), Buffer.from("a")], ["k", "a"], [null, ["k", "a"]]],
  );

  add(
    "odd names, dynamic key counts, shadowed commands",
    async (stage) => {
      const redis = await stage.redis();
      redis.defineCommand("addJob:6.7.0", ECHO);
      redis.defineCommand("dyn", { lua: "return #KEYS" });
      redis.defineCommand("get", { lua: "return 'mine'", numberOfKeys: 1 });
      const client = redis as unknown as Scripted;
      return [
        await client["addJob:6.7.0"]?.("k", "v"),
        await client["dyn"]?.(2, "a", "b"),
        (await messageOf(client["dyn"]?.() as Promise<unknown>)).startsWith(
          "ERR wrong number of arguments for 'eval",
        ),
        await redis.get("x"),
      ];
    },
    [["k", "v"], 2, true, "mine"],
  );

  add(
    "a number of keys that is no number leaves it to the call",
    async (stage) => {
      const redis = await stage.redis();
      redis.defineCommand("texts", { lua: "return {KEYS, ARGV}", numberOfKeys: "1" as never });
      const client = redis as unknown as Scripted;
      return [await client["texts"]?.(2, "a", "b", "c"), await client["texts"]?.("0", "a")];
    },
    [
      [["a", "b"], ["c"]],
      [[], ["a"]],
    ],
  );

  add(
    "from the scripts option, copied by duplicate; those defined later are not",
    async (stage) => {
      const redis = await stage.redis({ scripts: { one: { lua: "return 1", numberOfKeys: 0 } } });
      redis.defineCommand("two", { lua: "return 2", numberOfKeys: 0 });
      const copy = redis.duplicate();
      try {
        return [await (copy as unknown as Scripted)["one"]?.(), typeof (copy as unknown as Scripted)["two"]];
      } finally {
        copy.disconnect();
      }
    },
    [1, "undefined"],
  );

  add(
    "go out as text once for each connection, then by hash",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0]?.startsWith("eval") ? "x" : undefined));
      const redis = stage.bare({ port: fake.port, retryStrategy: () => 1 });
      redis.defineCommand("s", { lua: "return 1", numberOfKeys: 0 });
      const client = redis as unknown as Scripted;
      await client["s"]?.();
      await client["s"]?.();
      fake.dropConnections();
      await pause(30);
      await client["s"]?.();
      return fake.received.filter(([word]) => word?.startsWith("eval")).map((words) => words.slice(0, 2));
    },
    [
      ["eval", "return 1"],
      ["evalsha", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"],
      ["eval", "return 1"],
    ],
    { isAlone: true },
  );

  add(
    "a forgotten script heals unseen",
    async (stage) => {
      const redis = await stage.redis();
      redis.defineCommand("echo2", ECHO);
      const client = redis as unknown as Scripted;
      await client["echo2"]?.("k", "1");
      await stage.admin("SCRIPT", "FLUSH");
      const alone = await client["echo2"]?.("k", "2");
      await stage.admin("SCRIPT", "FLUSH");
      const pipeline = redis.pipeline() as unknown as Record<
        string,
        (...args: unknown[]) => typeof pipeline
      > & {
        exec(): Promise<unknown[][]>;
      };
      pipeline["set"]?.("a", "1");
      pipeline["echo2"]?.("k", "3");
      pipeline["get"]?.("a");
      return [alone, await pipeline.exec()];
    },
    [
      ["k", "2"],
      [
        [null, "OK"],
        [null, ["k", "3"]],
        [null, "1"],
      ],
    ],
  );

  add(
    "a forgotten script heals inside a transaction too",
    async (stage) => {
      const redis = await stage.redis();
      redis.defineCommand("echo2", ECHO);
      const client = redis as unknown as Scripted;
      await client["echo2"]?.("k", "1");
      await stage.admin("SCRIPT", "FLUSH");
      const multi = redis.multi() as unknown as {
        echo2(...args: string[]): { exec(): Promise<unknown[][]> };
      };
      return plainRows(await multi.echo2("k", "2").exec());
    },
    [[null, ["k", "2"]]],
    { differs: "scripts in transactions" },
  );

  add(
    "keys are prefixed with the prefix that was set at definition",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:" });
      redis.defineCommand("echo2", ECHO);
      redis.defineCommand("dyn", { lua: "return KEYS" });
      const client = redis as unknown as Scripted;
      return [await client["echo2"]?.("k", "a"), await client["dyn"]?.(2, "a", "b", "c")];
    },
    [
      ["p:k", "a"],
      ["p:a", "p:b"],
    ],
  );

  add(
    "errors show the command that was sent",
    async (stage) => {
      const redis = await stage.redis();
      redis.defineCommand("bad", { lua: "return redis.error_reply('ERR mine')", numberOfKeys: 0 });
      const error = (await errorOf(
        (redis as unknown as Scripted)["bad"]?.("x") as Promise<unknown>,
      )) as Error & {
        command: { name: string; args: string[] };
      };
      return [error.message.startsWith("ERR mine"), error.command.name, error.command.args];
    },
    [true, "eval", ["return redis.error_reply('ERR mine')", "0", "x"]],
  );

  add(
    "pipelines know the scripts that were defined before them",
    async (stage) => {
      const redis = await stage.redis();
      const before = redis.pipeline() as unknown as Record<string, unknown>;
      redis.defineCommand("late", ECHO);
      const after = redis.pipeline([["late", "k", "v"]]);
      return [typeof before["late"], await after.exec(), await redis.multi([["late", "k", "w"]]).exec()];
    },
    ["undefined", [[null, ["k", "v"]]], [[null, ["k", "w"]]]],
  );

  add(
    "scriptsSet tells about them",
    async (stage) => {
      const redis = stage.bare({ lazyConnect: true });
      redis.defineCommand("s", { lua: "return 1", numberOfKeys: 0 });
      const { sha, lua, numberOfKeys } = redis.scriptsSet["s"] as {
        sha: string;
        lua: string;
        numberOfKeys: number;
      };
      return [sha, lua, numberOfKeys];
    },
    ["e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "return 1", 0],
    { isAlone: true },
  );
});
