/** Options that are seen on the socket, in the constructor or nowhere else. */

import { Socket } from "node:net";
import { NO_REPLY } from "../../support/fake-server";
import { group, next, pause, type Stage } from "../behaviour";

/** The methods that are called on sockets while a client of the options connects. */
async function socketCalls(stage: Stage, options: object): Promise<unknown[]> {
  const fake = await stage.fake();
  const calls: unknown[] = [];
  const { setKeepAlive, setNoDelay } = Socket.prototype;
  Socket.prototype.setKeepAlive = function (...args) {
    if (!("server" in this) || this.server === null) calls.push(["keepAlive", ...args]);
    return setKeepAlive.apply(this, args);
  };
  Socket.prototype.setNoDelay = function (...args) {
    if (!("server" in this) || this.server === null) calls.push(["noDelay", ...args]);
    return setNoDelay.apply(this, args);
  };
  try {
    await next(stage.bare({ port: fake.port, host: fake.host, ...options }), "ready");
  } finally {
    Object.assign(Socket.prototype, { setKeepAlive, setNoDelay });
  }
  return calls.sort();
}

export const options = group("options", (add) => {
  const alone = { isAlone: true } as const;

  add(
    "keepAlive and noDelay",
    async (stage) => [
      await socketCalls(stage, {}),
      await socketCalls(stage, { keepAlive: 0 }),
      await socketCalls(stage, { keepAlive: 1234, noDelay: false }),
      await socketCalls(stage, { keepAlive: "no", noDelay: false }),
    ],
    [
      [
        ["keepAlive", true, 30000],
        ["noDelay", true],
      ],
      [
        ["keepAlive", true, 0],
        ["noDelay", true],
      ],
      [["keepAlive", true, 1234]],
      [],
    ],
    alone,
  );

  add(
    "the default delay before a reconnect",
    async (stage) => {
      const strategy = stage.bare({ lazyConnect: true }).options.retryStrategy as (times: number) => number;
      const base = [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
      return base.every((ms, i) => {
        const delays = Array.from({ length: 50 }, () => strategy(i + 1));
        return delays.every((delay) => delay >= ms && delay < ms + 200);
      });
    },
    true,
    alone,
  );

  add(
    "resp3 shapes need protocol 3",
    async (stage) => {
      try {
        new stage.Client({ protocol: 2, replyMapping: "resp3", lazyConnect: true });
        return "made";
      } catch (error) {
        return (error as Error).message;
      }
    },
    'The "resp3" replyMapping is only supported with protocol 3',
    alone,
  );

  add(
    "what is passed in is neither kept nor changed; unknown keys stay; defaults are filled in",
    async (stage) => {
      const given = Object.freeze({ lazyConnect: true, mine: 1, db: 2 });
      const redis = new stage.Client(given);
      const { options: kept } = redis as unknown as { options: Record<string, unknown> };
      kept["connectionName"] = "changed";
      return [
        kept === given,
        kept["mine"],
        kept["db"],
        ["family", "keyPrefix", "maxRetriesPerRequest", "retryStrategy", "protocol"].every(
          (name) => name in kept,
        ),
        Object.isFrozen(kept),
      ];
    },
    [false, 1, 2, true, false],
    alone,
  );

  add(
    "an argument of another type is refused",
    async (stage) => {
      try {
        new stage.Client(true);
        return "made";
      } catch (error) {
        return (error as Error).message;
      }
    },
    "Invalid argument true",
    alone,
  );

  add(
    "connectTimeout: 0 waits for ever",
    async (stage) => {
      const fake = await stage.fake(() => NO_REPLY);
      const redis = stage.bare({ port: fake.port, host: fake.host, connectTimeout: 0 });
      await next(redis, "connect");
      await pause(60);
      return redis.status;
    },
    "connect",
    alone,
  );

  add(
    "Redis.Promise is the native one, with a warning",
    async (stage) => {
      const seen: string[] = [];
      const original = console.warn;
      console.warn = (text: string) => seen.push(text.replace(/^\S+( v5)?/, "it"));
      try {
        const Client = stage.Client as unknown as { Promise: unknown };
        const isNative = Client.Promise === Promise;
        Client.Promise = class {};
        return [isNative, Client.Promise === Promise, Object.keys(Client).includes("Promise"), seen];
      } finally {
        console.warn = original;
      }
    },
    [
      true,
      true,
      false,
      Array(3).fill(
        "it does not support plugging third-party Promise library anymore. Native Promise will be used.",
      ),
    ],
    alone,
  );

  add(
    "print",
    async (stage) => {
      const lines: unknown[] = [];
      const original = console.log;
      console.log = (...args: unknown[]) => lines.push(args.join(" "));
      try {
        stage.Client.print(null, "OK");
        stage.Client.print(new Error("no"));
      } finally {
        console.log = original;
      }
      return lines;
    },
    ["Reply: OK", "Error: Error: no"],
    alone,
  );

  add(
    "a Buffer, a number or nothing as prefix; readOnly; db as text",
    async (stage) => {
      const redis = await stage.redis({ db: "1" as never, keyPrefix: "" });
      return [redis.options.db, await redis.set("k", "v"), redis.condition?.select];
    },
    [1, "OK", 1],
  );

  /** Host, port, path and database that an address is read as, or why it is refused. */
  function read(stage: Stage, address: string): unknown {
    try {
      const { host, port, path, db } = stage.bare(address, { lazyConnect: true }).options;
      return { host, port, path, db };
    } catch (error) {
      return (error as Error).message;
    }
  }

  add(
    "addresses that are read, with and without a scheme",
    async (stage) =>
      ["redis://u:p@h:1/2", "//h", "h:1", "rediss://h/?db=3", "[::1]:1"].map((one) => read(stage, one)),
    [
      { host: "h", port: 1, path: undefined, db: 2 },
      { host: "h", port: 6379, path: undefined, db: 0 },
      { host: "h", port: 1, path: undefined, db: 0 },
      { host: "h", port: 6379, path: undefined, db: 3 },
      { host: "::1", port: 1, path: undefined, db: 0 },
    ],
    alone,
  );

  add(
    "malformed addresses are refused",
    async (stage) =>
      ["tcp://h:6380", "http://h:6380", "redis://h/abc", "redis://h?db=x"].map((one) => read(stage, one)),
    [
      'Unsupported scheme "tcp:" (use redis:, rediss: or unix:)',
      'Unsupported scheme "http:" (use redis:, rediss: or unix:)',
      'Invalid db "abc": expected a whole number',
      'Invalid db "x": expected a whole number',
    ],
    { ...alone, differs: "malformed addresses" },
  );

  add(
    "a database behind an address without a scheme; valkey: and unix:",
    async (stage) => ["h:6380/2", "valkey://h:6380", "unix:///tmp/s?db=2"].map((one) => read(stage, one)),
    [
      { host: "h", port: 6380, path: undefined, db: 2 },
      { host: "h", port: 6380, path: undefined, db: 0 },
      { host: "localhost", port: 6379, path: "/tmp/s", db: 2 },
    ],
    { ...alone, differs: "more addresses" },
  );

  add(
    "options in the query of an address have their types",
    async (stage) => {
      const redis = stage.bare("redis://h?enableReadyCheck=false&connectTimeout=5000&lazyConnect=true");
      const { enableReadyCheck, connectTimeout, lazyConnect } = redis.options;
      return [enableReadyCheck, connectTimeout, lazyConnect];
    },
    [false, 5000, true],
    { ...alone, differs: "options in addresses" },
  );
});
