/** Time limits. */

import { NO_REPLY, status } from "../../support/fake-server";
import { errorOf, group, messageOf, next, pause, recordEvents } from "../behaviour";

export const timeouts = group("timeouts", (add) => {
  const alone = { isAlone: true } as const;

  add(
    "commandTimeout rejects, keeps the connection, and replies stay aligned",
    async (stage) => {
      const fake = await stage.fake(([name], { socket }) => {
        if (name === "set") return status("OK");
        if (name === "get") return "1";
        if (name !== "slow") return undefined;
        setTimeout(() => socket.write("+late\r\n"), 300);
        return NO_REPLY;
      });
      const redis = stage.bare({ port: fake.port, host: fake.host, commandTimeout: 150 });
      await next(redis, "ready");
      const late = messageOf(redis.call("slow"));
      const answers = [await late];
      await pause(300);
      answers.push(await redis.set("a", "1"), (await redis.get("a")) as string);
      return [answers, redis.status];
    },
    [["Command timed out", "OK", "1"], "ready"],
    alone,
  );

  add(
    "commandTimeout counts while offline",
    async (stage) => {
      const redis = stage.bare({ port: 1, host: "127.0.0.1", commandTimeout: 30, retryStrategy: () => 1000 });
      redis.on("error", () => {});
      return messageOf(redis.get("a"));
    },
    "Command timed out",
    alone,
  );

  add(
    "commandTimeout in a pipeline: each row for itself",
    async (stage) => {
      const redis = await stage.redis({ commandTimeout: 150, blockingTimeoutGrace: 5000 });
      const rows = await redis.pipeline().set("a", "1").blpop("none", 0.4).get("a").exec();
      await pause(400);
      return [rows?.map((row) => row[0]?.message ?? row[1]), await redis.get("a")];
    },
    [["OK", null, "Command timed out"], "1"],
    { differs: "`commandTimeout` and blocking commands" },
  );

  add(
    "the error tells where the time went",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "x" ? NO_REPLY : undefined));
      const redis = stage.bare({ port: fake.port, host: fake.host, commandTimeout: 20 });
      await next(redis, "ready");
      const first = errorOf(redis.call("x"));
      const second = errorOf(redis.call("x", "y"));
      await first;
      const error = (await second) as Error & {
        code: string;
        details: Record<string, unknown>;
        command: unknown;
      };
      const { phase, commandsAhead, server } = error.details;
      return [error.code, phase, commandsAhead, server === `${fake.host}:${fake.port}`, error.command];
    },
    ["COMMAND_TIMEOUT", "waiting", 1, true, { name: "x", args: ["y"] }],
    { ...alone, isOursAlone: true },
  );

  add(
    "timers of a hand-made command",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "blpop" ? NO_REPLY : undefined));
      const redis = stage.bare({ port: fake.port, host: fake.host });
      await next(redis, "ready");
      const { Command } = stage.Client;
      const make = (name: string, args: unknown[]) => new Command(name, args, { replyEncoding: "utf8" });
      const slow = make("blpop", ["a", 0]);
      slow.setTimeout(20);
      const patient = make("blpop", ["a", 0]);
      patient.setBlockingTimeout(20);
      return [
        await messageOf(redis.sendCommand(slow)),
        await redis.sendCommand(patient),
        make("blpop", ["a", "b", 1.5]).extractBlockingTimeout(),
        make("bzmpop", [2, 1, "a", "MIN"]).extractBlockingTimeout(),
        make("xread", ["BLOCK", 30, "STREAMS", "s", "$"]).extractBlockingTimeout(),
      ];
    },
    ["Command timed out", null, 1500, 2000, 30],
    alone,
  );

  add(
    "socketTimeout resets a connection that owes replies, and resends",
    async (stage) => {
      const fake = await stage.fake((words, { number }) =>
        words[0] === "x" ? (number === 1 ? NO_REPLY : "late") : undefined,
      );
      const redis = stage.bare({
        port: fake.port,
        host: fake.host,
        socketTimeout: 300,
        retryStrategy: () => 1,
      });
      await next(redis, "ready");
      const seen = recordEvents(redis);
      return [await redis.call("x"), seen];
    },
    [
      "late",
      [
        "error Socket timeout. Expecting data, but didn't receive any in 300ms.",
        "close",
        "reconnecting 1",
        "connecting",
        "connect",
        "ready",
      ],
    ],
    alone,
  );

  add(
    "socketTimeout leaves idle connections alone",
    async (stage) => {
      const redis = await stage.redis({ socketTimeout: 100 });
      const seen = recordEvents(redis, ["error", "close"]);
      await redis.ping();
      await pause(250);
      return [seen, await redis.ping()];
    },
    [[], "PONG"],
  );

  add(
    "blockingTimeout resolves null, with the connection kept",
    async (stage) => {
      const fake = await stage.fake((words) =>
        words[0] === "blpop" || words[0] === "xread" || words[0] === "bzmpop" ? NO_REPLY : undefined,
      );
      const redis = stage.bare({
        port: fake.port,
        host: fake.host,
        blockingTimeout: 40,
        blockingTimeoutGrace: 10,
      });
      await next(redis, "ready");
      return [
        await redis.blpop("a", 0),
        await redis.blpop("a", 0.03),
        await redis.bzmpop(0.03, 1, "a", "MIN"),
        await redis.xread("BLOCK", 30, "STREAMS", "s", "$"),
        redis.status,
      ];
    },
    [null, null, null, null, "ready"],
    alone,
  );

  add(
    "blockingTimeout does not touch a reply in time, nor other commands",
    async (stage) => {
      const redis = await stage.redis({ blockingTimeout: 40, blockingTimeoutGrace: 20 });
      await redis.rpush("l", "a");
      const first = await redis.blpop("l", 0);
      const empty = await redis.blpop("l", 0.05);
      return [first, empty, await redis.ping()];
    },
    [["l", "a"], null, "PONG"],
  );

  add(
    "blockingTimeout counts while offline",
    async (stage) => {
      const redis = stage.bare({
        port: 1,
        host: "127.0.0.1",
        blockingTimeout: 30,
        retryStrategy: () => 1000,
      });
      redis.on("error", () => {});
      return redis.blpop("a", 10);
    },
    null,
    alone,
  );

  add(
    "blockingTimeout ends a blocking command, commandTimeout does not",
    async (stage) => {
      const fake = await stage.fake((words) => (words[0] === "blpop" ? NO_REPLY : undefined));
      const redis = stage.bare({
        port: fake.port,
        host: fake.host,
        blockingTimeout: 200,
        commandTimeout: 30,
      });
      await next(redis, "ready");
      return redis.blpop("a", 0).catch((error: Error) => error.message);
    },
    null,
    { ...alone, differs: "`commandTimeout` and blocking commands" },
  );
});
