/**
 * Credentials in error texts: hidden where a server echoes an argument, and nowhere else, since a
 * mask in the middle of the server's own words tells what it hides. Answers to the handshake are
 * judged by what the server said.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Cluster, Redis } from "../../src/index";
import { FakeServer } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { startServer } from "../support/shared-servers";

const WORDS = ["pass", "password", "user", "default", "auth", "set", "configured"];

describe("credentials that are words of the server's messages", () => {
  let server: ServerProcess;
  let redis: Redis;
  const { warn } = console;

  before(async () => {
    console.warn = () => {};
    server = await startServer(ServerKind.Redis, {});
  });
  after(() => {
    console.warn = warn;
    return server.stop();
  });
  afterEach(async () => {
    await closeClient(redis);
    await server.command("CONFIG", "SET", "requirepass", "");
  });

  function connect(options: RedisOptions): Redis {
    redis = new Redis({ host: server.host, port: server.port, retryStrategy: null, ...options });
    redis.on("error", () => {});
    return redis;
  }

  for (const password of WORDS) {
    it(`"${password}" on a server without a password, protocol 2`, async () => {
      connect({ protocol: 2, password });
      await untilReady(redis);
      expect(await redis.ping()).to.equal("PONG");
    });
  }

  it("an old server that takes one argument is judged by its text, whatever the password", async () => {
    const fake = await FakeServer.start((words) =>
      words[0] === "auth" ? new Error("ERR wrong number of arguments for 'auth' command") : undefined,
    );
    try {
      connect({ host: fake.host, port: fake.port, protocol: 2, username: "someone", password: "auth" });
      await untilReady(redis);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  for (const password of ["invalid", "pass", "password", "username-password", "pair"]) {
    it(`a refusal of "${password}" does not tell it`, async () => {
      await server.command("CONFIG", "SET", "requirepass", "something else");
      connect({ password });
      const { message } = await failureOf(redis.get("a"));
      expect(message).to.match(/^WRONGPASS invalid username-password pair or user is disabled\./);
      await closeClient(redis);
      await server.command("CONFIG", "SET", "requirepass", "");
    });
  }

  it("what is echoed is hidden, short or long, quoted or not", async () => {
    const echo = await FakeServer.start(([name = "", ...words]) =>
      name === "auth" ? new Error(`ERR no ${words.join(" ")}, '${words[0]}' "${words[1]}"`) : undefined,
    );
    try {
      connect({ host: echo.host, port: echo.port });
      await untilReady(redis);
      for (const password of ["x9", "geheim", "no"]) {
        const { message, stack } = await failureOf(redis.auth("bob", password));
        expect(message).to.match(/^ERR (?:no )?\*\*\*$/);
        expect(stack).not.to.include("geheim");
      }
    } finally {
      await closeClient(redis);
      await echo.stop();
    }
  });

  it("a secret that stands twice among the arguments is hidden twice", async () => {
    connect({});
    await untilReady(redis);
    const error = (await failureOf(redis.auth("geheim", "geheim"))) as Error & { command?: unknown };
    expect(error.command).to.deep.equal({ name: "auth", args: ["***", "***"] });
    const hello = (await failureOf(
      redis.hello(3, "AUTH", "geheim", "geheim", "SETNAME", "geheim"),
    )) as Error & {
      command?: { args: unknown };
    };
    expect(hello.command?.args).to.deep.equal(Array(6).fill("***"));
  });

  it("JSON of a client shows no secret", async () => {
    connect({ lazyConnect: true, password: "geheim", sentinelPassword: "geheim" });
    expect(JSON.stringify({ redis })).to.not.contain("geheim");
    expect(JSON.parse(JSON.stringify(redis))).to.deep.include({ status: "wait" });
    for (const batch of [redis.pipeline(), redis.multi()]) {
      batch.auth("geheim").set("a", "geheim");
      expect(JSON.stringify({ batch })).to.not.contain("geheim");
      expect(JSON.parse(JSON.stringify(batch)).commands.slice(-2)).to.deep.equal(["auth", "set"]);
    }
    const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }], {
      lazyConnect: true,
      redisOptions: { password: "geheim", tls: { key: "geheim" } },
    });
    expect(JSON.stringify(cluster)).to.not.contain("geheim");
  });
});
