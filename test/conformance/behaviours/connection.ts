/** The life of a connection: status words, events and their order, connect, disconnect, quit. */

import { EventEmitter } from "node:events";
import type { Redis } from "../../../src/client/redis";
import { NO_REPLY, RawReply } from "../../support/fake-server";
import { errorOf, group, messageOf, next, pause, recordEvents, type Stage } from "../behaviour";

const CLOSED = "Connection is closed.";
/** Nothing listens there. */
const NOWHERE = { port: 1, host: "127.0.0.1" };

/** A client that is between two attempts. */
async function reconnecting(stage: Stage): Promise<Redis> {
  const redis = stage.bare({ ...NOWHERE, retryStrategy: () => 60_000 });
  redis.on("error", () => {});
  await next(redis, "reconnecting");
  return redis;
}

export const connection = group("connection", (add) => {
  const alone = { isAlone: true } as const;

  add(
    "class, statics and instance",
    async (stage) => {
      const { Client } = stage;
      const redis = stage.bare({ lazyConnect: true });
      const made = Client.createClient({ lazyConnect: true, port: 1234 });
      let withoutNew = "";
      try {
        (Client as unknown as () => void)();
      } catch (error) {
        withoutNew = (error as Error).name;
      }
      return [
        withoutNew,
        made instanceof Client,
        made.options.port,
        Client.Redis === Client,
        Client.default === Client,
        [
          "Command",
          "Pipeline",
          "ScanStream",
          "ReplyError",
          "AbstractConnector",
          "SentinelConnector",
          "SentinelIterator",
          "print",
        ].every((name) => typeof (Client as unknown as Record<string, unknown>)[name] === "function"),
        typeof Client.defaultOptions,
        redis.isCluster,
        redis.mode,
        redis.status,
        redis.autoPipelineQueueSize,
        redis.commandQueue.length,
        (redis as unknown as { offlineQueue: { length: number } }).offlineQueue.length,
        Object.isFrozen(redis),
      ];
    },
    ["TypeError", true, 1234, true, true, true, "object", false, "normal", "wait", 0, 0, 0, false],
    alone,
  );

  add(
    "an instance is an EventEmitter with the name of its class",
    async (stage) => {
      const redis = stage.bare({ lazyConnect: true });
      return [redis instanceof EventEmitter, redis.constructor.name];
    },
    [true, "Redis"],
    { ...alone, differs: "instances are event emitters" },
  );

  add(
    "emitter methods chain",
    async (stage) => {
      const redis = stage.bare({ lazyConnect: true });
      const listener = (): void => {};
      return [
        redis.on("x", listener) === redis,
        redis.off("x", listener).off("y", listener) === redis,
        redis.setMaxListeners(20) === redis,
        redis.getMaxListeners(),
        redis.addListener("z", listener).listenerCount("z"),
        redis.removeAllListeners("z").listenerCount("z"),
      ];
    },
    [true, true, true, 20, 1, 0],
    alone,
  );

  add(
    "statuses and events of a first connect",
    async (stage) => {
      const redis = stage.make();
      const seen = recordEvents(redis);
      const first = redis.status;
      const statuses: string[] = [];
      for (const name of ["connecting", "connect", "ready"])
        redis.on(name, () => statuses.push(redis.status));
      await next(redis, "ready");
      return [first, seen, statuses.at(-1), redis.status];
    },
    ["connecting", ["connecting", "connect", "ready"], "ready", "ready"],
  );

  add(
    "lazyConnect waits for the first command",
    async (stage) => {
      const redis = stage.make({ lazyConnect: true });
      const seen = recordEvents(redis);
      await pause(5);
      const before = [redis.status, [...seen]];
      const reply = await redis.ping();
      return [before, reply, seen];
    },
    [["wait", ["wait"]], "PONG", ["wait", "connecting", "connect", "ready"]],
  );

  add(
    "connect() of a lazy client, with promise and callback",
    async (stage) => {
      const one = stage.make({ lazyConnect: true });
      const two = stage.make({ lazyConnect: true });
      const order: string[] = [];
      one.on("ready", () => order.push("ready"));
      const resolved = await one.connect();
      order.push("resolved");
      const heard = await new Promise((resolve) => {
        void two.connect((...args: unknown[]) => resolve(args.length));
      });
      return [resolved, order, heard, two.status];
    },
    [undefined, ["ready", "resolved"], 1, "ready"],
  );

  add(
    "connect() while connecting or connected is refused",
    async (stage) => {
      const redis = stage.make();
      const early = await messageOf(redis.connect());
      await next(redis, "ready");
      return [early, await messageOf(redis.connect())];
    },
    ["Redis is already connecting/connected", "Redis is already connecting/connected"],
  );

  add(
    "disconnect() ends, connect() begins again, also from the end handler",
    async (stage) => {
      const redis = await stage.redis();
      const seen = recordEvents(redis);
      redis.disconnect();
      const during = redis.status;
      await next(redis, "end");
      const refused = await messageOf(redis.ping());
      await redis.connect();
      const reply = await redis.ping();
      const again = new Promise((resolve) =>
        redis.once("end", () => resolve(redis.connect().then(() => redis.ping()))),
      );
      redis.disconnect();
      return [during, refused, reply, await again, seen];
    },
    [
      "ready",
      CLOSED,
      "PONG",
      "PONG",
      ["close", "end", "connecting", "connect", "ready", "close", "end", "connecting", "connect", "ready"],
    ],
  );

  add(
    "a dropped connection comes back",
    async (stage) => {
      const redis = await stage.redis({ retryStrategy: () => 7 });
      const seen = recordEvents(redis);
      const inside: string[] = [];
      redis.once("close", () => inside.push(redis.status));
      const ready = next(redis, "ready");
      await stage.admin("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await ready;
      return [seen, inside, await redis.ping()];
    },
    [["close", "reconnecting 7", "connecting", "connect", "ready"], ["reconnecting"], "PONG"],
  );

  add(
    "refused and given up",
    async (stage) => {
      const redis = stage.bare({ ...NOWHERE, retryStrategy: (times: number) => (times < 2 ? 1 : null) });
      const seen = recordEvents(redis);
      const queued = messageOf(redis.get("a"));
      await next(redis, "end");
      return [seen, await queued, await messageOf(redis.get("b"))];
    },
    [
      [
        "connecting",
        "error connect ECONNREFUSED 127.0.0.1:1",
        "close",
        "reconnecting 1",
        "connecting",
        "error connect ECONNREFUSED 127.0.0.1:1",
        "close",
        "end",
      ],
      CLOSED,
      CLOSED,
    ],
    alone,
  );

  add(
    "connect() rejects at the first close although retrying goes on",
    async (stage) => {
      const redis = stage.bare({ ...NOWHERE, lazyConnect: true, retryStrategy: () => 60_000 });
      redis.on("error", () => {});
      return [await messageOf(redis.connect()), redis.status];
    },
    [CLOSED, "reconnecting"],
    alone,
  );

  for (const [what, value, isRetry] of [
    ["zero", 0, true],
    ["a negative number", -5, true],
    ["NaN", Number.NaN, true],
    ["undefined", undefined, false],
    ["null", null, false],
    ["a string", "5", false],
  ] as const) {
    add(
      `retryStrategy returns ${what}`,
      async (stage) => {
        const redis = stage.bare({
          ...NOWHERE,
          retryStrategy: (times: number) => (times > 1 ? null : value),
        });
        redis.on("error", () => {});
        const seen = recordEvents(redis, ["reconnecting", "end"]);
        await next(redis, "end");
        return seen.length;
      },
      isRetry ? 2 : 1,
      alone,
    );
  }

  add(
    "retryStrategy null ends at once",
    async (stage) => {
      const redis = stage.bare({ ...NOWHERE, retryStrategy: null });
      redis.on("error", () => {});
      const seen = recordEvents(redis, ["close", "reconnecting", "end"]);
      await next(redis, "end");
      return seen;
    },
    ["close", "end"],
    alone,
  );

  add(
    "retryStrategy is told how often, from 1, since the last ready",
    async (stage) => {
      const times: number[] = [];
      const redis = await stage.redis({
        retryStrategy: (n: number) => {
          times.push(n);
          return 100;
        },
      });
      for (let round = 0; round < 2; round++) {
        const ready = next(redis, "ready");
        await stage.admin("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        await ready;
      }
      return times;
    },
    // The second connection lived for less than a few of its delays, so the count goes on.
    [1, 2],
    { differs: "retryStrategy after a short connection" },
  );

  // --- disconnect in every status ----------------------------------------------------------

  add(
    "disconnect() while waiting",
    async (stage) => {
      const redis = stage.make({ lazyConnect: true });
      const seen = recordEvents(redis);
      redis.disconnect();
      const status = redis.status;
      await next(redis, "end");
      redis.disconnect();
      return [status, seen, redis.status];
    },
    ["end", ["wait", "close", "end"], "end"],
  );

  add(
    "disconnect() in the tick of the construction",
    async (stage) => {
      const redis = stage.make();
      const seen = recordEvents(redis);
      const queued = messageOf(redis.get("a"));
      redis.disconnect();
      await next(redis, "end");
      return [seen, await queued];
    },
    [["connecting", "end"], CLOSED],
    { autoPipelining: false },
  );

  add(
    "disconnect() while the socket connects",
    async (stage) => {
      const fake = await stage.fake(() => NO_REPLY);
      const redis = stage.bare({ port: fake.port, host: fake.host });
      const seen = recordEvents(redis);
      const queued = messageOf(redis.get("a"));
      await next(redis, "connecting");
      redis.disconnect();
      await next(redis, "end");
      return [seen.at(-1), await queued, redis.status];
    },
    ["end", CLOSED, "end"],
    { ...alone, autoPipelining: false },
  );

  add(
    "disconnect() during the handshake",
    async (stage) => {
      const fake = await stage.fake(() => NO_REPLY);
      const redis = stage.bare({ port: fake.port, host: fake.host, lazyConnect: true });
      const seen = recordEvents(redis);
      const connecting = messageOf(redis.connect());
      const queued = messageOf(redis.get("a"));
      await next(redis, "connect");
      redis.disconnect();
      await next(redis, "end");
      return [seen, await connecting, await queued];
    },
    [["wait", "connecting", "connect", "close", "end"], CLOSED, CLOSED],
    alone,
  );

  add(
    "disconnect() with commands unanswered",
    async (stage) => {
      const redis = await stage.redis();
      const blocked = messageOf(redis.blpop("none", 0));
      await pause(5);
      redis.disconnect();
      const late = messageOf(redis.get("a"));
      return [await blocked, await late];
    },
    [CLOSED, CLOSED],
  );

  add(
    "disconnect() while waiting to reconnect",
    async (stage) => {
      const redis = await reconnecting(stage);
      const seen = recordEvents(redis);
      const queued = messageOf(redis.get("a"));
      const batch = redis.pipeline().get("a").exec();
      redis.disconnect();
      await next(redis, "end");
      return [
        seen,
        await queued,
        (await batch)?.[0]?.[0]?.message,
        redis.status,
        await messageOf(redis.get("b")),
      ];
    },
    [["end"], CLOSED, CLOSED, "end", CLOSED],
    { ...alone, differs: "disconnect() while waiting to reconnect" },
  );

  add(
    "quit() while waiting to reconnect",
    async (stage) => {
      const redis = await reconnecting(stage);
      const reply = await redis.quit();
      if (redis.status !== "end") await next(redis, "end");
      return [reply, redis.status, await messageOf(redis.get("b"))];
    },
    ["OK", "end", CLOSED],
    { ...alone, differs: "disconnect() while waiting to reconnect" },
  );

  add(
    "disconnect(true) keeps commands and reconnects",
    async (stage) => {
      const redis = await stage.redis({ retryStrategy: () => 3 });
      const seen = recordEvents(redis);
      redis.disconnect(true);
      const kept = redis.set("a", "1");
      return [await kept, seen];
    },
    ["OK", ["close", "reconnecting 3", "connecting", "connect", "ready"]],
  );

  add(
    "disconnect() is patient for disconnectTimeout with a peer that does not close",
    async (stage) => {
      const proxy = await stage.proxy();
      const redis = await stage.redis({ port: proxy.port, disconnectTimeout: 60 });
      proxy.fallSilent();
      const startedAt = performance.now();
      redis.disconnect();
      await next(redis, "end");
      const tookMs = performance.now() - startedAt;
      return tookMs > 50 && tookMs < 1000;
    },
    true,
  );

  // --- quit ---------------------------------------------------------------------------------

  add(
    "quit() answers after everything before it; later commands are refused",
    async (stage) => {
      const redis = await stage.redis();
      const seen = recordEvents(redis);
      const before = redis.set("a", "1");
      const quit = redis.quit();
      const later = messageOf(redis.get("a"));
      const twice = messageOf(redis.quit());
      const all = [await before, await quit, await later, await twice];
      if (redis.status !== "end") await next(redis, "end");
      return [all, seen];
    },
    [
      ["OK", "OK", CLOSED, CLOSED],
      ["close", "end"],
    ],
    { autoPipelining: false, isOursAlone: true },
  );

  add(
    "quitBuffer() and callbacks",
    async (stage) => {
      const one = await stage.redis();
      const two = await stage.redis();
      const bytes = await one.quitBuffer();
      const heard = await new Promise((resolve) => {
        void two.quit((...args: unknown[]) => resolve(args));
      });
      return [bytes, heard];
    },
    [Buffer.from("OK"), [null, "OK"]],
  );

  add(
    "quit() of a lazy client",
    async (stage) => {
      const redis = stage.make({ lazyConnect: true });
      const seen = recordEvents(redis);
      const reply = await redis.quit();
      if (redis.status !== "end") await next(redis, "end");
      await pause(2);
      return [reply, seen];
    },
    ["OK", ["wait", "connecting", "end"]],
  );

  add(
    "quit() before ready runs behind what is queued",
    async (stage) => {
      const redis = stage.make();
      const set = redis.set("a", "1");
      const quit = redis.quit();
      const done = [await set, await quit];
      if (redis.status !== "end") await next(redis, "end");
      return done;
    },
    ["OK", "OK"],
    { autoPipelining: false },
  );

  add(
    "quit() before ready with nothing queued",
    async (stage) => {
      const redis = stage.make();
      const reply = await redis.quit();
      if (redis.status !== "end") await next(redis, "end");
      return [reply, redis.status];
    },
    ["OK", "end"],
  );

  add(
    "quit() that the server refuses leaves the client open",
    async (stage) => {
      const fake = await stage.fake((words) =>
        words[0]?.toLowerCase() === "quit" ? new Error("ERR unknown command") : undefined,
      );
      const redis = stage.bare({ port: fake.port, host: fake.host });
      await next(redis, "ready");
      const refused = await messageOf(redis.quit());
      return [refused, await redis.ping(), redis.status];
    },
    ["ERR unknown command", "PONG", "ready"],
    alone,
  );

  add(
    "quit() right behind disconnect()",
    async (stage) => {
      const ready = await stage.redis();
      ready.disconnect();
      const connecting = stage.make();
      connecting.disconnect();
      const heard = new Promise((resolve) => {
        connecting.quit((...args: unknown[]) => resolve(args)).catch(() => {});
      });
      const all = [await ready.quit(), await heard];
      for (const redis of [ready, connecting]) if (redis.status !== "end") await next(redis, "end");
      return all;
    },
    ["OK", [null, "OK"]],
  );

  add(
    "quit() after disconnect() has ended the client",
    async (stage) => {
      const redis = await stage.redis();
      redis.disconnect();
      await next(redis, "end");
      const idle = stage.make({ lazyConnect: true });
      idle.disconnect();
      return [
        await redis.quit(),
        await redis.quitBuffer(),
        await idle.quit(),
        await messageOf(redis.get("a")),
      ];
    },
    ["OK", Buffer.from("OK"), "OK", CLOSED],
    { differs: "quit() after disconnect()" },
  );

  add(
    "disconnect(true) of a lazy client starts connecting",
    async (stage) => {
      const redis = stage.make({ lazyConnect: true, retryStrategy: () => 3 });
      const seen = recordEvents(redis);
      redis.disconnect(true);
      await next(redis, "ready");
      const never = stage.make({ lazyConnect: true, retryStrategy: null });
      const unseen = recordEvents(never);
      never.disconnect(true);
      await next(never, "end");
      return [seen, unseen];
    },
    [
      ["wait", "close", "reconnecting 3", "connecting", "connect", "ready"],
      ["wait", "close", "end"],
    ],
  );

  add(
    "end() is an alias of disconnect()",
    async (stage) => {
      const redis = await stage.redis();
      redis.end();
      await next(redis, "end");
      return redis.status;
    },
    "end",
  );

  add(
    "await using closes the client",
    async (stage) => {
      const redis = await stage.redis();
      const ended = next(redis, "end");
      await redis[Symbol.asyncDispose]();
      await ended;
      return redis.status;
    },
    "end",
    { isOursAlone: true },
  );

  // --- errors -------------------------------------------------------------------------------

  add(
    "connectTimeout covers a server that never answers the handshake",
    async (stage) => {
      const fake = await stage.fake(() => NO_REPLY);
      const redis = stage.bare({ port: fake.port, host: fake.host, connectTimeout: 50, retryStrategy: null });
      const [error] = (await next(redis, "error")) as [NodeJS.ErrnoException & { errorno: string }];
      await next(redis, "end");
      const text = error.message.replace(/ \(the port is open but .*\)$/, "");
      return [text, error.code, error.errno, error.errorno, error.syscall];
    },
    ["connect ETIMEDOUT", "ETIMEDOUT", "ETIMEDOUT", "ETIMEDOUT", "connect"],
    { ...alone, differs: "connectTimeout and the handshake" },
  );

  add(
    "an error that nobody hears is printed, not thrown",
    async (stage) => {
      const printed: unknown[] = [];
      const original = console.error;
      console.error = (...args: unknown[]) => printed.push(args);
      try {
        const redis = stage.bare({ ...NOWHERE, retryStrategy: null });
        await next(redis, "end");
      } finally {
        console.error = original;
      }
      const [[prefix, stack] = []] = printed as string[][];
      return [printed.length, prefix, stack?.includes("ECONNREFUSED")];
    },
    [1, "[sluice] Unhandled error event:", true],
    { ...alone, differs: "names" },
  );

  add(
    "error events of connecting carry the cause",
    async (stage) => {
      const redis = stage.bare({ ...NOWHERE, retryStrategy: null, lazyConnect: true });
      redis.on("error", () => {});
      const error = await errorOf(redis.connect());
      return (error.cause as NodeJS.ErrnoException).code;
    },
    "ECONNREFUSED",
    { ...alone, isOursAlone: true },
  );

  add(
    "garbage ends the connection, fails what was pending, and reconnects",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "get" ? NO_REPLY : undefined));
      const redis = stage.bare({ port: fake.port, host: fake.host, retryStrategy: () => 1 });
      await next(redis, "ready");
      const seen = recordEvents(redis);
      const pending = messageOf(redis.get("a"));
      await pause(5);
      fake.broadcast(new RawReply("hello\r\n"));
      const message = await pending;
      await next(redis, "ready");
      return [message, seen];
    },
    [
      'Unknown RESP type 104 "h". Please report this.',
      [
        'error Unknown RESP type 104 "h". Please report this.',
        "close",
        "reconnecting 1",
        "connecting",
        "connect",
        "ready",
      ],
    ],
    { ...alone, isOursAlone: true },
  );

  // --- ways to the server -------------------------------------------------------------------

  add(
    "a unix socket",
    async (stage) => {
      const redis = await stage.redis({ path: stage.server.unixSocketPath });
      return [await redis.ping(), redis.options.port === stage.server.port];
    },
    ["PONG", true],
  );

  add(
    "a custom Connector",
    async (stage) => {
      const { AbstractConnector } = stage.Client;
      const { host, port } = stage.server;
      const { connect } = await import("node:net");
      const made: unknown[] = [];
      class Tunnel extends AbstractConnector {
        constructor(options: { disconnectTimeout?: number; tunnel?: string }) {
          super(options.disconnectTimeout ?? 0);
          made.push(options.tunnel);
        }
        override async connect() {
          const socket = connect({ host, port });
          this.stream = socket;
          return socket;
        }
      }
      const redis = await stage.redis({
        Connector: Tunnel,
        tunnel: "mine",
        host: "nowhere.invalid",
      } as never);
      return [await redis.ping(), made, redis.connector instanceof Tunnel];
    },
    ["PONG", ["mine"], true],
  );

  add(
    "a Connector that fails ends the client",
    async (stage) => {
      const { AbstractConnector } = stage.Client;
      class Broken extends AbstractConnector {
        override async connect(): Promise<never> {
          throw new Error("no way");
        }
      }
      const redis = stage.bare({ Connector: Broken, lazyConnect: true } as never);
      const seen = recordEvents(redis);
      const [connecting, queued] = await Promise.all([messageOf(redis.connect()), messageOf(redis.get("a"))]);
      await pause(2);
      return [connecting, queued, seen];
    },
    ["no way", "no way", ["error no way", "wait", "connecting", "end"]],
    { ...alone, autoPipelining: false },
  );

  add(
    "a Connector whose socket was destroyed before it was handed over",
    async (stage) => {
      const { AbstractConnector } = stage.Client;
      const { connect } = await import("node:net");
      const heard: string[][] = [];
      for (const isTold of [true, false]) {
        class Tunnel extends AbstractConnector {
          override async connect() {
            const socket = connect(stage.server);
            await new Promise((resolve) => socket.once("connect", resolve));
            socket.once("error", (error) => {
              this.firstError = error;
            });
            socket.destroy(isTold ? new Error("tunnel refused") : undefined);
            await new Promise((resolve) => socket.once("close", resolve));
            this.stream = socket;
            return socket;
          }
        }
        const redis = stage.bare({ Connector: Tunnel, retryStrategy: null } as never);
        heard.push(recordEvents(redis));
        await next(redis, "end");
      }
      return heard;
    },
    [
      ["connecting", "error tunnel refused", "close", "end"],
      ["connecting", "close", "end"],
    ],
  );

  add(
    "family and keepAlive and noDelay reach the socket",
    async (stage) => {
      const redis = await stage.redis({ family: 4, keepAlive: 1234, noDelay: true });
      return (redis.stream as unknown as { remoteFamily: string }).remoteFamily;
    },
    "IPv4",
  );

  add(
    "duplicate takes the options with changes, not scripts or commands added later",
    async (stage) => {
      const redis = await stage.redis({ keyPrefix: "p:", connectionName: "one" });
      redis.addBuiltinCommand("nosuch");
      const copy = redis.duplicate({ lazyConnect: true, connectionName: "two" });
      return [
        copy.options.keyPrefix,
        copy.options.connectionName,
        redis.options.connectionName,
        typeof (copy as unknown as Record<string, unknown>)["nosuch"],
        copy.status,
      ];
    },
    ["p:", "two", "one", "undefined", "wait"],
  );

  add(
    "connectionName may be changed between connections",
    async (stage) => {
      const redis = await stage.redis({ connectionName: "first", retryStrategy: () => 1 });
      const before = await redis.client("GETNAME");
      redis.options.connectionName = "second";
      redis.disconnect(true);
      await next(redis, "ready");
      return [before, await redis.client("GETNAME")];
    },
    ["first", "second"],
  );

  add(
    "status can be written, as some packages do after closing",
    async (stage) => {
      const redis = await stage.redis();
      await redis.quit();
      redis.status = "end";
      return redis.status;
    },
    "end",
  );

  add(
    "quit() ends a client that connects, with and without an offline queue",
    async (stage) => {
      const outcomes: unknown[] = [];
      for (const enableOfflineQueue of [true, false]) {
        const redis = stage.make({ enableOfflineQueue });
        outcomes.push(await redis.quit());
        if (redis.status !== "end") await next(redis, "end");
      }
      return outcomes;
    },
    ["OK", "OK"],
    { differs: "quit() without an offline queue" },
  );
});
