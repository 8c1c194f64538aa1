/** The first words of a connection, and what it makes of the answers. */

import { NO_REPLY, RawReply, status } from "../../support/fake-server";
import { group, messageOf, next, pause, recordEvents, type Stage } from "../behaviour";

const INFO = "# Server\r\nredis_version:7.0.15\r\n";
const HELLO = new RawReply("%1\r\n$5\r\nproto\r\n:3\r\n");

/** A server that knows RESP3. */
function modern(words: readonly string[]): RawReply | string | undefined {
  if (words[0] === "hello") return HELLO;
  return words[0] === "info" ? INFO : undefined;
}

/** The bytes on the wire until the client is ready. */
async function spoken(stage: Stage, options: object, handler = modern): Promise<string[]> {
  const fake = await stage.fake(handler);
  const redis = stage.bare({ port: fake.port, host: fake.host, ...options });
  redis.on("error", () => {});
  await next(redis, "ready");
  return fake.received.map((words) =>
    words
      .join(" ")
      .replace(/LIB-VER \S+/, "LIB-VER x")
      .replace(/ioredis/, "sluice"),
  );
}

async function warnings(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const original = console.warn;
  console.warn = (...args: unknown[]) => seen.push(args.join(" "));
  try {
    await work();
  } finally {
    console.warn = original;
  }
  return seen;
}

export const handshake = group("handshake", (add) => {
  const alone = { isAlone: true } as const;
  const quiet = { disableClientInfo: true } as const;

  add(
    "everything, in order",
    async (stage) =>
      spoken(stage, {
        username: "u",
        password: "p",
        db: 3,
        connectionName: "me",
        readOnly: true,
        clientInfoTag: "tag",
      }),
    [
      "hello 3 AUTH u p",
      "select 3",
      "client setname me",
      "readonly",
      "client SETINFO LIB-VER x",
      "client SETINFO LIB-NAME sluice(tag)",
      "info",
    ],
    alone,
  );

  add(
    "password without user, user without password, neither",
    async (stage) => [
      (await spoken(stage, { ...quiet, password: "p" }))[0],
      (await spoken(stage, { ...quiet, username: "u" }))[0],
      await spoken(stage, { ...quiet, enableReadyCheck: false }),
    ],
    ["hello 3 AUTH default p", "hello 3 AUTH u ", ["hello 3"]],
    alone,
  );

  add(
    "protocol 2",
    async (stage) => [
      await spoken(stage, { ...quiet, protocol: 2, password: "p", db: 1 }),
      (await spoken(stage, { ...quiet, protocol: 2, username: "u", password: "p" }))[0],
      await spoken(stage, { ...quiet, protocol: 2 }),
    ],
    [["auth p", "select 1", "info"], "auth u p", ["info"]],
    alone,
  );

  add(
    "an old server gets the list again in its RESP2 form",
    async (stage) => {
      const fake = await stage.fake();
      const redis = stage.bare({
        port: fake.port,
        host: fake.host,
        ...quiet,
        password: "p",
        enableReadyCheck: false,
      });
      await next(redis, "ready");
      return [
        fake.received.map((words) => words.join(" ")),
        redis.options.protocol,
        redis.condition?.protocol,
      ];
    },
    [["hello 3 AUTH default p", "auth p"], 3, 2],
    alone,
  );

  add(
    "NOPROTO is a reason too, and resp3 shapes are refused with a warning",
    async (stage) =>
      (
        await warnings(() =>
          spoken(stage, { ...quiet, replyMapping: "resp3" }, (words) =>
            words[0] === "hello" ? (new Error("NOPROTO unsupported protocol version") as never) : undefined,
          ),
        )
      ).map((text) => text.slice(0, 81)),
    ['[WARN] replyMapping "resp3" was requested, but the server does not support RESP3.'],
    { ...alone, isOursAlone: true },
  );

  for (const [what, answer, text] of [
    [
      "no password is set",
      "ERR Client sent AUTH, but no password is set",
      "[WARN] Redis server does not require a password, but a password was supplied.",
    ],
    [
      "the default user has none",
      "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
      "[WARN] This Redis server's `default` user does not require a password, but a password was supplied",
    ],
    [
      "the server knows no user names",
      "ERR wrong number of arguments for 'auth' command",
      `[ERROR] The server returned "wrong number of arguments for 'auth' command". You are probably passing both username and password to Redis version 5 or below. You should only pass the 'password' option for Redis version 5 and under.`,
    ],
  ] as const) {
    add(
      `only a warning when ${what}`,
      async (stage) =>
        warnings(() =>
          spoken(stage, { ...quiet, protocol: 2, username: "u", password: "p" }, (words) =>
            words[0] === "auth" ? (new Error(answer) as never) : modern(words),
          ),
        ),
      [text],
      alone,
    );
  }

  for (const protocol of [2, 3] as const) {
    add(
      `bad credentials fail what is queued and are tried again, protocol ${protocol}`,
      async (stage) => {
        const fake = await stage.fake((words) =>
          words[0] === "auth" || words[0] === "hello" ? new Error("WRONGPASS invalid") : modern(words),
        );
        const redis = stage.bare({
          port: fake.port,
          host: fake.host,
          protocol,
          password: "p",
          retryStrategy: (n: number) => (n > 1 ? null : 1),
        });
        const seen = recordEvents(redis);
        const queued = messageOf(redis.get("a"));
        await next(redis, "end");
        return [seen, await queued];
      },
      [
        [
          "connecting",
          "connect",
          "error WRONGPASS invalid",
          "close",
          "reconnecting 1",
          "connecting",
          "connect",
          "error WRONGPASS invalid",
          "close",
          "end",
        ],
        "WRONGPASS invalid",
      ],
      { ...alone, autoPipelining: false },
    );
  }

  add(
    "a failing SELECT fails what is queued and is tried again",
    async (stage) => {
      const fake = await stage.fake((words) =>
        words[0] === "select" ? new Error("ERR DB index is out of range") : modern(words),
      );
      const redis = stage.bare({ port: fake.port, host: fake.host, db: 99, retryStrategy: null });
      const seen = recordEvents(redis);
      const queued = messageOf(redis.get("a"));
      await next(redis, "end");
      return [...seen, await queued].map((word) => word.replace(/ \(.*/, ""));
    },
    [
      "connecting",
      "connect",
      "error ERR DB index is out of range",
      "close",
      "end",
      "ERR DB index is out of range",
    ],
    { ...alone, autoPipelining: false, differs: "a database that cannot be selected" },
  );

  add(
    "errors of SETNAME, READONLY and SETINFO are ignored",
    async (stage) => {
      const fake = await stage.fake((words) =>
        words[0] === "client" || words[0] === "readonly" ? new Error("ERR no") : modern(words),
      );
      const redis = stage.bare({ port: fake.port, host: fake.host, connectionName: "x", readOnly: true });
      const seen = recordEvents(redis);
      await next(redis, "ready");
      return seen;
    },
    ["connecting", "connect", "ready"],
    alone,
  );

  add(
    "a loading server is asked again until it is done",
    async (stage) => {
      let asked = 0;
      const fake = await stage.fake((words) => {
        if (words[0] !== "info") return modern(words);
        return ++asked < 3 ? "loading:1\r\nloading_eta_seconds:0.01\r\n" : "loading:0\r\n";
      });
      const redis = stage.bare({ port: fake.port, host: fake.host });
      await next(redis, "ready");
      return asked;
    },
    3,
    alone,
  );

  add(
    "maxLoadingRetryTime caps the pause",
    async (stage) => {
      let asked = 0;
      const fake = await stage.fake((words) => {
        if (words[0] !== "info") return modern(words);
        return ++asked < 2 ? "loading:1\r\nloading_eta_seconds:1000\r\n" : "loading:0\r\n";
      });
      const startedAt = performance.now();
      const redis = stage.bare({ port: fake.port, host: fake.host, maxLoadingRetryTime: 20 });
      await next(redis, "ready");
      return performance.now() - startedAt < 10_000;
    },
    true,
    alone,
  );

  add(
    "an INFO that may not be asked is a warning",
    async (stage) =>
      warnings(() =>
        spoken(stage, {}, (words) =>
          words[0] === "info" ? (new Error("NOPERM this user has no permissions") as never) : modern(words),
        ),
      ).then((seen) => seen.map((text) => text.slice(0, 56))),
    ['Skipping the ready check because INFO command fails: "NO'],
    alone,
  );

  add(
    "an INFO that fails otherwise fails what is queued",
    async (stage) => {
      const fake = await stage.fake((words) =>
        words[0] === "info" ? new Error("ERR broken") : modern(words),
      );
      const redis = stage.bare({ port: fake.port, host: fake.host, retryStrategy: null });
      const seen = recordEvents(redis);
      const queued = messageOf(redis.get("a"));
      await next(redis, "end");
      return [await queued, seen];
    },
    ["ERR broken", ["connecting", "connect", "error ERR broken", "close", "end"]],
    { ...alone, autoPipelining: false },
  );

  add(
    "some commands pass before ready, the rest waits",
    async (stage) => {
      let answer: (() => void) | undefined;
      const fake = await stage.fake((words, { socket }) => {
        if (words[0] === "ping") return status("PONG");
        if (words[0] !== "info" && words[0] !== "client") return modern(words);
        // Replies keep their order: the one to CLIENT follows that to INFO.
        if (words[0] === "client") answer = () => socket.write("$9\r\nloading:0\r\n$2\r\nme\r\n");
        return NO_REPLY;
      });
      const redis = stage.bare({ port: fake.port, host: fake.host, ...quiet });
      await next(redis, "connect");
      await pause(5);
      const waiting = redis.ping();
      const passing = redis.client("GETNAME");
      await pause(10);
      const received = fake.received.map(([word]) => word);
      answer?.();
      return [received, await waiting, await passing];
    },
    [["hello", "info", "client"], "PONG", "me"],
    { ...alone, autoPipelining: false },
  );

  add(
    "auth by hand is not remembered",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "auth" ? status("OK") : modern(words)));
      const redis = stage.bare({ port: fake.port, host: fake.host, ...quiet, retryStrategy: () => 1 });
      await next(redis, "ready");
      await redis.auth("pw");
      redis.disconnect(true);
      await next(redis, "ready");
      return fake.received.map((words) => words.join(" "));
    },
    ["hello 3", "info", "auth pw", "hello 3", "info"],
    alone,
  );

  add(
    "the server is told who we are",
    async (stage) => {
      const redis = await stage.redis();
      const line = String(await redis.client("LIST"));
      return /lib-name=sluice lib-ver=\d+\.\d+\.\d+/.test(line);
    },
    true,
    { requires: ["client|setinfo"], isOursAlone: true },
  );
});
