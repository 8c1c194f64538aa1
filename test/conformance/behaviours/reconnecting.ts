/** Commands and the session when the connection is lost. */

import type { Redis } from "../../../src/client/redis";
import { NO_REPLY, status } from "../../support/fake-server";
import { errorOf, group, messageOf, next, pause, plainRows, recordEvents, type Stage } from "../behaviour";

const ABORTED = "Command aborted due to connection close";
const TOO_OFTEN =
  'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.';

function kill(stage: Stage): Promise<unknown> {
  return stage.admin("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
}

/** Cuts the client and waits for an event that follows. */
async function killUntil(stage: Stage, redis: Redis, event: string): Promise<void> {
  const seen = next(redis, event);
  await kill(stage);
  await seen;
}

/** A client of a server that is cut once it got the given number of commands of the kind. */
async function cutAfter(stage: Stage, word: string, count: number, options: object = {}): Promise<Redis> {
  let seen = 0;
  const fake = await stage.fake((words, { socket, number }) => {
    if (words[0] === "get") return `${words[1]}@${number}`;
    if (words[0] !== word) return words[0] === "set" ? status("OK") : undefined;
    if (++seen !== count) return number === 1 ? NO_REPLY : `${words[1]}@${number}`;
    socket.destroy();
    return NO_REPLY;
  });
  const redis = stage.bare({ port: fake.port, host: fake.host, retryStrategy: () => 1, ...options });
  await next(redis, "ready");
  return redis;
}

/** A client whose LPUSH on a text fails, and goes again after a reconnect, when the text is gone. */
async function goingAgain(stage: Stage): Promise<{ redis: Redis; tries(): number }> {
  let tries = 0;
  const redis = await stage.redis({
    retryStrategy: () => 1,
    reconnectOnError: () => {
      if (++tries > 1) return false;
      void stage.admin("DEL", "k");
      return 2;
    },
  });
  await redis.set("k", "text");
  return { redis, tries: () => tries };
}

export const reconnecting = group("reconnecting", (add) => {
  const alone = { isAlone: true } as const;

  add(
    "unanswered commands go again, in order",
    async (stage) => {
      const redis = await cutAfter(stage, "x", 3);
      return Promise.all([redis.call("x", "a"), redis.call("x", "b"), redis.call("x", "c"), redis.get("d")]);
    },
    ["a@2", "b@2", "c@2", "d@2"],
    alone,
  );

  add(
    "autoResendUnfulfilledCommands: false fails what was written",
    async (stage) => {
      const redis = await cutAfter(stage, "x", 1, { autoResendUnfulfilledCommands: false });
      const error = (await errorOf(redis.call("x", "a"))) as Error & { code: string };
      return [error.name, error.code, await redis.get("b")];
    },
    ["AbortError", "OUTCOME_UNKNOWN", "b@2"],
    { ...alone, differs: "autoResendUnfulfilledCommands: false" },
  );

  add(
    "a command that always kills its connection is given up",
    async (stage) => {
      const fake = await stage.fake((words, { socket }) => {
        if (words[0] !== "poison") return words[0] === "get" ? "v" : undefined;
        socket.destroy();
        return NO_REPLY;
      });
      const redis = stage.bare({ port: fake.port, host: fake.host, retryStrategy: () => 1 });
      await next(redis, "ready");
      const error = (await errorOf(redis.call("poison"))) as Error & { code: string };
      return [
        error.name,
        error.code,
        fake.received.filter(([word]) => word === "poison").length,
        await redis.get("a"),
      ];
    },
    ["AbortError", "COMMAND_LOST", 3, "v"],
    { ...alone, differs: "commands that kill their connection" },
  );

  add(
    "retry policy reads-only: reads go again, writes say that they may have run",
    async (stage) => {
      const fake = await stage.fake((words, { socket, number }) => {
        if (number > 1 && words[0] === "get") return "read again";
        if (words[0] === "cut") socket.destroy();
        return words[0] === "set" || words[0] === "get" || words[0] === "cut" ? NO_REPLY : undefined;
      });
      const redis = stage.bare({
        port: fake.port,
        host: fake.host,
        retryPolicy: "reads-only",
        retryStrategy: () => 1,
      });
      await next(redis, "ready");
      const write = errorOf(redis.set("a", "1"));
      const read = redis.get("a");
      redis.call("cut").catch(() => {});
      return [((await write) as Error & { code: string }).code, await read];
    },
    ["OUTCOME_UNKNOWN", "read again"],
    { ...alone, isOursAlone: true },
  );

  add(
    "a pipeline without any reply goes again as a whole",
    async (stage) => {
      const redis = await cutAfter(stage, "x", 2);
      return redis.pipeline().call("x", "a").call("x", "b").get("c").exec();
    },
    [
      [null, "a@2"],
      [null, "b@2"],
      [null, "c@2"],
    ],
    alone,
  );

  add(
    "a pipeline with a reply keeps it, the rest is aborted",
    async (stage) => {
      const redis = await cutAfter(stage, "x", 2);
      const rows = await redis.pipeline().get("a").call("x", "b").call("x", "c").get("d").exec();
      const error = rows?.[1]?.[0] as unknown as { name: string; command: unknown };
      return [plainRows(rows), error.name, error.command];
    },
    [[[null, "a@1"], [ABORTED], [ABORTED], [ABORTED]], "AbortError", { name: "x", args: ["b"] }],
    alone,
  );

  add(
    "single commands around a cut pipeline go again",
    async (stage) => {
      const redis = await cutAfter(stage, "x", 2);
      const before = redis.call("x", "a");
      const rows = redis.pipeline().call("x", "b").get("c").exec();
      const after = redis.get("d");
      return [await before, plainRows(await rows), await after];
    },
    [
      "a@2",
      [
        [null, "b@2"],
        [null, "c@2"],
      ],
      "d@2",
    ],
    { ...alone, autoPipelining: false },
  );

  add(
    "a transaction without any reply goes again, one with a reply rejects",
    async (stage) => {
      const run = async (isMultiAnswered: boolean): Promise<unknown> => {
        const fake = await stage.fake((words, { socket, number }) => {
          if (words[0] === "multi") return number === 1 && !isMultiAnswered ? NO_REPLY : status("OK");
          if (words[0] === "get") return number === 1 ? NO_REPLY : status("QUEUED");
          if (words[0] !== "exec") return undefined;
          if (number > 1) return ["v"];
          socket.destroy();
          return NO_REPLY;
        });
        const redis = stage.bare({ port: fake.port, host: fake.host, retryStrategy: () => 1 });
        await next(redis, "ready");
        return redis
          .multi()
          .get("a")
          .exec()
          .catch((error: Error & { previousErrors: Error[]; command: unknown }) => [
            error.name,
            error.message,
            error.command,
            error.previousErrors.map(({ message }) => message),
          ]);
      };
      return [await run(false), await run(true)];
    },
    [[[null, "v"]], ["AbortError", ABORTED, { name: "exec", args: [] }, [ABORTED]]],
    alone,
  );

  add(
    "maxRetriesPerRequest: what waits fails at each multiple, reconnecting goes on",
    async (stage) => {
      const redis = stage.bare({
        port: 1,
        host: "127.0.0.1",
        maxRetriesPerRequest: 0,
        retryStrategy: () => 1,
      });
      redis.on("error", () => {});
      const error = await errorOf(redis.get("a"));
      const rows = plainRows(await redis.pipeline().get("b").exec());
      const multi = await messageOf(redis.multi().get("c").exec());
      await next(redis, "reconnecting");
      return [error.name, error.message, rows, multi, redis.status];
    },
    ["MaxRetriesPerRequestError", TOO_OFTEN, [[TOO_OFTEN]], TOO_OFTEN, "reconnecting"],
    { ...alone, autoPipelining: false },
  );

  for (const limit of [null, -1] as const) {
    add(
      `maxRetriesPerRequest: ${limit} never gives up`,
      async (stage) => {
        const redis = stage.bare({
          port: 1,
          host: "127.0.0.1",
          maxRetriesPerRequest: limit,
          retryStrategy: () => 1,
        });
        redis.on("error", () => {});
        let isSettled = false;
        const work = redis.get("a").catch(() => {
          isSettled = true;
        });
        for (let round = 0; round < 5; round++) await next(redis, "reconnecting");
        const before = isSettled;
        redis.disconnect();
        if (redis.status !== "end") await next(redis, "end");
        await work;
        return before;
      },
      false,
      { ...alone, isOursAlone: true },
    );
  }

  add(
    "the selected database is restored",
    async (stage) => {
      const redis = await stage.redis({ db: 1, retryStrategy: () => 1 });
      const selected: unknown[] = [];
      redis.on("select", (db: number) => selected.push(db));
      await redis.select(2);
      await redis.set("k", "in 2");
      await killUntil(stage, redis, "ready");
      return [await redis.get("k"), selected, redis.options.db, redis.condition?.select];
    },
    ["in 2", [2, 2], 1, 2],
  );

  add(
    "commands that wait run on the database they were issued for",
    async (stage) => {
      await stage.admin("SET", "k", "in 0");
      const redis = stage.make();
      const zero = redis.get("k");
      const set = redis.select(1).then(() => redis.set("k", "in 1"));
      const one = redis.get("k");
      const back = redis.select(0);
      const again = redis.get("k");
      return [await zero, await set, await one, await back, await again];
    },
    ["in 0", "OK", null, "OK", "in 0"],
    { autoPipelining: false },
  );

  add(
    "select counts from the call on, and a failing one counts for nothing",
    async (stage) => {
      const redis = await stage.redis();
      const seen: unknown[] = [];
      redis.on("select", (db: number) => seen.push(db));
      const work = redis.select(3);
      const early = redis.condition?.select;
      await work;
      await redis.call("select", "nonsense").catch(() => {});
      return [early, seen, redis.condition?.select];
    },
    [3, [3], 3],
    { autoPipelining: false },
  );

  add(
    "subscriptions and database come back with connect() after disconnect()",
    async (stage) => {
      const redis = await stage.redis();
      await redis.select(1);
      await redis.subscribe("ch");
      redis.disconnect();
      await next(redis, "end");
      await redis.connect();
      const heard = next(redis, "message");
      await pause(5);
      await stage.admin("PUBLISH", "ch", "hi");
      const message = await heard;
      await redis.unsubscribe("ch");
      return [message, redis.condition?.select];
    },
    [["ch", "hi"], 1],
  );

  add(
    "a subscription is restored, or not with autoResubscribe: false",
    async (stage) => {
      const again = await stage.redis({ retryStrategy: () => 1 });
      const not = await stage.redis({ retryStrategy: () => 1, autoResubscribe: false });
      await again.subscribe("a", "b");
      await again.psubscribe("p*");
      await not.subscribe("a");
      const ready = [next(again, "ready"), next(not, "ready")];
      await stage.admin("CLIENT", "KILL", "TYPE", "pubsub");
      await Promise.all(ready);
      await pause(10);
      const counts = await stage.admin("PUBSUB", "NUMSUB", "a", "b");
      return [counts, await stage.admin("PUBSUB", "NUMPAT"), not.mode];
    },
    [["a", 1, "b", 1], 1, "normal"],
  );

  // --- reconnectOnError ---------------------------------------------------------------------

  for (const verdict of [true, 1] as const) {
    add(
      `reconnectOnError ${verdict}: reconnects, the command fails`,
      async (stage) => {
        const errors: unknown[] = [];
        const redis = await stage.redis({
          retryStrategy: () => 1,
          reconnectOnError: (error: Error) => {
            errors.push([error.name, (error as Error & { command: { name: string } }).command.name]);
            return verdict;
          },
        });
        const seen = recordEvents(redis);
        const message = await messageOf(redis.call("nosuch"));
        await next(redis, "ready");
        return [message.slice(0, 19), seen, errors];
      },
      [
        "ERR unknown command",
        ["close", "reconnecting 1", "connecting", "connect", "ready"],
        [["ReplyError", "nosuch"]],
      ],
    );
  }

  add(
    "reconnectOnError 2: the command goes again after the reconnect",
    async (stage) => {
      const { redis, tries } = await goingAgain(stage);
      return [await redis.lpush("k", "a"), tries()];
    },
    [1, 1],
  );

  add(
    "reconnectOnError 2: the command goes again also before a quit() while the old connection is being left",
    async (stage) => {
      const { redis, tries } = await goingAgain(stage);
      const again = redis.lpush("k", "a").catch(({ message }: Error) => message);
      const quit = redis.get("other").then(() => redis.quit());
      return [await again, await quit, tries(), await stage.admin("LLEN", "k")];
    },
    [1, "OK", 1, 1],
  );

  add(
    "reconnectOnError 2 in a pipeline: only the command that failed goes again",
    async (stage) => {
      const { redis } = await goingAgain(stage);
      return plainRows(await redis.pipeline().incr("n").lpush("k", "a").incr("n").exec());
    },
    [
      [null, 1],
      [null, 1],
      [null, 2],
    ],
  );

  add(
    "reconnectOnError is not asked about CLIENT, nor about members of EXEC",
    async (stage) => {
      let asked = 0;
      const redis = await stage.redis({
        reconnectOnError: () => {
          asked++;
          return false;
        },
      });
      await redis.set("k", "text");
      await messageOf(redis.client("NOSUCH" as "ID"));
      await redis.multi().lpush("k", 1).exec();
      const before = asked;
      await messageOf(redis.lpush("k", 1));
      return [before, asked];
    },
    [0, 1],
  );

  add(
    "anything else from reconnectOnError does nothing",
    async (stage) => {
      const redis = await stage.redis({ reconnectOnError: (() => "yes") as never });
      await messageOf(redis.call("nosuch"));
      await redis.ping();
      return redis.status;
    },
    "ready",
  );

  // --- watch and transactions ---------------------------------------------------------------

  add(
    "EXEC is refused when the WATCH was lost with the connection",
    async (stage) => {
      const redis = await stage.redis({ retryStrategy: () => 1 });
      await redis.watch("k");
      await killUntil(stage, redis, "ready");
      const error = (await errorOf(redis.multi().set("k", "mine").exec())) as Error & { code: string };
      await redis.watch("k");
      return [error.code, await redis.exists("k"), await redis.multi().set("k", "mine").exec()];
    },
    ["WATCH_LOST", 0, [[null, "OK"]]],
    { differs: "transactions after a lost WATCH" },
  );

  add(
    "a transaction opened by hand is not finished on another connection",
    async (stage) => {
      const redis = await stage.redis({ retryStrategy: () => 1 });
      await redis.multi({ pipeline: false });
      await redis.set("a", "1");
      await killUntil(stage, redis, "close");
      const member = messageOf(redis.set("b", "1"));
      const exec = messageOf(redis.exec());
      const after = redis.set("c", "1");
      return [await member, await exec, await after, await redis.exists("a", "b")];
    },
    [ABORTED, ABORTED, "OK", 0],
    { isOursAlone: true },
  );

  add(
    "the event select tells of each database once, when it is selected",
    async (stage) => {
      const redis = stage.make();
      const seen: unknown[] = [];
      redis.on("select", (db: number) => seen.push([redis.status, db]));
      await Promise.all([redis.set("k", "1"), redis.select(1)]);
      return seen;
    },
    [["ready", 1]],
    { differs: "the event `select`" },
  );

  add(
    "a database that was selected in capitals is selected again",
    async (stage) => {
      const redis = await stage.redis({ retryStrategy: () => 1 });
      await redis.call("SELECT", "1");
      await killUntil(stage, redis, "ready");
      return / db=(\d+)/.exec(String(await redis.client("INFO")))?.[1];
    },
    "1",
    { differs: "SELECT in capitals" },
  );
});
