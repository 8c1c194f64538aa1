/**
 * The first reply of a new client arrives one round trip after the connection is open. Commands behind the
 * handshake never reach a wrong caller, a wrong user or a wrong database, and each settles once.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { type FakeConnection, type FakeReply, FakeServer, RawReply, status } from "../support/fake-server";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { codeOf, failureOf } from "../support/outcome";
import { serverKinds, sharedServer, startServer } from "../support/shared-servers";

type Answer = FakeReply | undefined;

describe("the first reply", () => {
  const clients: Redis[] = [];
  before(() => sharedServer(ServerKind.Redis));
  let proxy: FaultProxy | null = null;
  let fake: FakeServer | null = null;

  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
    await proxy?.stop();
    await fake?.stop();
    proxy = null;
    fake = null;
  });

  function open(options: RedisOptions): Redis {
    const redis = new Redis({ retryStrategy: () => 5, ...options });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  async function scripted(
    handler: (words: string[], connection: FakeConnection) => Answer,
  ): Promise<RedisOptions> {
    fake = await FakeServer.start(handler);
    return { host: fake.host, port: fake.port };
  }

  async function behindProxy(
    server: ServerProcess,
  ): Promise<{ address: RedisOptions; writes(): string[][] }> {
    const line = await FaultProxy.start(server);
    proxy = line;
    return {
      address: { host: line.host, port: line.port },
      writes: () => line.writes.map((write) => write.map(([name = ""]) => name.toLowerCase())),
    };
  }

  /** What a caller and the listener of `ready` see, in order. */
  async function orderOf(redis: Redis, call: Promise<unknown>): Promise<unknown[]> {
    const seen: unknown[] = [];
    redis.on("ready", () => seen.push("ready"));
    await call.then((reply) => seen.push(reply));
    return seen;
  }

  for (const kind of serverKinds()) {
    for (const protocol of [2, 3] as const) {
      describe(`${kind}, protocol ${protocol}`, () => {
        let server: ServerProcess;
        before(async () => {
          server = await sharedServer(kind);
        });

        it("shares the write of the handshake, also for a write", async () => {
          const { address, writes } = await behindProxy(server);
          const redis = open({ ...address, protocol });
          const calls = Promise.all([redis.set("first", "1"), redis.incr("first"), redis.get("first")]);
          expect(await orderOf(redis, calls)).to.deep.equal(["ready", ["OK", 2, "2"]]);
          expect(writes().length, "writes").to.equal(1);
          expect(writes()[0]?.slice(-4)).to.deep.equal(["info", "set", "incr", "get"]);
        });

        it("shares it for reads with a database, and a write follows the outcome", async () => {
          const { address, writes } = await behindProxy(server);
          const redis = open({ ...address, protocol, db: 3 });
          const calls = Promise.all([redis.get("none"), redis.set("third", "3"), redis.get("third")]);
          expect(await orderOf(redis, calls)).to.deep.equal(["ready", [null, "OK", "3"]]);
          expect(writes().map((write) => write.slice(-2))).to.deep.equal([
            ["info", "get"],
            ["set", "get"],
          ]);
          expect(await redis.del("third")).to.equal(1);
        });

        for (const [origin, options] of [
          ["the options", { db: 3 }],
          ["SELECT", {}],
        ] as const) {
          it(`runs the next command after a reset in the database of ${origin}`, async () => {
            const { address } = await behindProxy(server);
            const redis = open({ ...address, protocol, ...options });
            await untilReady(redis);
            if (origin === "SELECT") await redis.select(3);
            const closed = new Promise((resolve) => redis.once("close", resolve));
            proxy?.cutAll("reset");
            await closed;
            expect(await Promise.all([redis.get("reset"), redis.set("reset", "3")])).to.deep.equal([
              null,
              "OK",
            ]);
            const direct = open({ host: server.host, port: server.port });
            expect(await direct.get("reset"), "in database 0").to.equal(null);
            await direct.select(3);
            expect(await direct.get("reset"), "in database 3").to.equal("3");
            expect(await direct.del("reset")).to.equal(1);
          });
        }
      });
    }
  }

  it("keeps commands that change the connection behind the outcome", async () => {
    const { address, writes } = await behindProxy(await sharedServer(ServerKind.Redis));
    const redis = open(address);
    const calls = [
      redis.get("a"),
      redis.multi().incr("n").del("n").exec(),
      redis.blpop("empty", 0.01),
      redis.get("b"),
    ];
    expect(await Promise.all(calls)).to.deep.equal([
      null,
      [
        [null, 1],
        [null, 1],
      ],
      null,
      null,
    ]);
    expect(writes()[0]?.slice(-2)).to.deep.equal(["info", "get"]);
    expect(writes()[1]).to.deep.equal(["multi", "incr", "del", "exec", "blpop", "get"]);
  });

  describe("on a server with a password", () => {
    let server: ServerProcess;
    before(async () => {
      server = await startServer(ServerKind.Redis, { config: { requirepass: "secret" } });
    });
    after(() => server.stop());

    const options = (more: RedisOptions): RedisOptions => ({ host: server.host, port: server.port, ...more });

    it("shares the write of the login for reads", async () => {
      const { address, writes } = await behindProxy(server);
      const redis = open({ ...address, password: "secret" });
      expect(await orderOf(redis, redis.get("none"))).to.deep.equal(["ready", null]);
      expect(writes().length).to.equal(1);
    });

    for (const [title, password, code] of [
      ["without the password", undefined, /^NOAUTH/],
      ["with a wrong password", "wrong", /^WRONGPASS/],
    ] as const) {
      for (const protocol of [2, 3] as const) {
        it(`${title}, protocol ${protocol}: each call fails with the refusal of the login`, async () => {
          const redis = open(options({ password, protocol, retryStrategy: null }));
          const calls = [redis.get("a"), redis.set("a", "1")].map(failureOf);
          const rows = redis.pipeline().get("b").set("b", "1").exec();
          for (const { message } of await Promise.all(calls)) expect(message).to.match(code);
          for (const [error] of (await rows) ?? []) expect(error?.message).to.match(code);
        });
      }
    }

    it("runs a call once after the login was corrected", async () => {
      let password = "wrong";
      const redis = open(options({ credentials: async () => ({ password }), retryStrategy: () => 5 }));
      redis.once("error", () => {
        password = "secret";
      });
      expect(await Promise.all([redis.get("runs"), redis.incr("runs")])).to.deep.equal([null, 1]);
    });
  });

  it("never comes from another database than the one of the options", async () => {
    const server = await startServer(ServerKind.Redis, { config: { databases: 2 } });
    try {
      await server.command("SET", "where", "database 0");
      const redis = open({ host: server.host, port: server.port, db: 9, retryStrategy: null });
      expect((await failureOf(redis.get("where"))).message).to.match(/^ERR DB index is out of range/);
    } finally {
      await server.stop();
    }
  });

  it("waits for a server that loads its data, in the order of the calls", async () => {
    let loads = 2;
    const ran: string[] = [];
    const address = await scripted(([name = "", key = ""]): Answer => {
      if (name === "info") return `loading:${loads-- > 0 ? 1 : 0}\r\nloading_eta_seconds:0\r\n`;
      if (name !== "set" && name !== "get") return undefined;
      if (loads >= 0) return new Error("LOADING Redis is loading the dataset in memory");
      ran.push(`${name} ${key}`);
      return name === "set" ? status("OK") : "value";
    });
    const redis = open(address);
    const calls = Promise.all([redis.set("a", "1"), redis.get("a"), redis.set("b", "1")]);
    expect(await orderOf(redis, calls)).to.deep.equal(["ready", ["OK", "value", "OK"]]);
    expect(ran).to.deep.equal(["set a", "get a", "set b"]);
  });

  it("has the shape of RESP2 behind an unknown HELLO", async () => {
    const address = await scripted(([name = ""]): Answer => (name === "zscore" ? "1.5" : undefined));
    const redis = open(address);
    expect(await orderOf(redis, redis.zscore("z", "a"))).to.deep.equal(["ready", "1.5"]);
    expect(fake?.received.filter(([name]) => name === "zscore").length).to.equal(1);
  });

  it("is dropped when an unknown HELLO has not logged in", async () => {
    let isLoggedIn = false;
    const address = await scripted(([name = ""]): Answer => {
      if (name === "auth") isLoggedIn = true;
      return name === "get" ? (isLoggedIn ? "of the user" : "of nobody") : undefined;
    });
    const redis = open({ ...address, password: "secret" });
    expect(await orderOf(redis, redis.get("a"))).to.deep.equal(["ready", "of the user"]);
  });

  for (const retryPolicy of ["at-least-once", "reads-only", "at-most-once"] as const) {
    it(`comes over the next connection if the first one is lost during the handshake, ${retryPolicy}`, async () => {
      const address = await scripted(([name = ""], { number, socket }): Answer => {
        if (name === "hello" && number <= 5) socket.destroy();
        return name === "get" ? "value" : name === "set" ? status("OK") : undefined;
      });
      const redis = open({ ...address, retryPolicy });
      expect(await Promise.all([redis.get("a"), redis.set("a", "1"), redis.get("b")])).to.deep.equal([
        "value",
        "OK",
        "value",
      ]);
    });

    it(`fails after the limit of attempts as without early commands, ${retryPolicy}`, async () => {
      const address = await scripted(([name = ""], { socket }): Answer => {
        if (name === "hello") socket.destroy();
        return undefined;
      });
      const redis = open({ ...address, retryPolicy, maxRetriesPerRequest: 4 });
      expect(await codeOf(redis.get("a"))).to.equal("MAX_RETRIES");
    });
  }

  it("is not waited for with a command that may still run on a silent server", async () => {
    let isSilent = true;
    const address = await scripted(([name = ""]): Answer => {
      if (isSilent) return new RawReply("");
      return name === "get" ? "value" : name === "set" ? status("OK") : undefined;
    });
    const redis = open({ ...address, connectTimeout: 50 });
    const calls = [redis.get("a"), codeOf(redis.set("a", "1"))];
    expect(await calls[1]).to.equal("OUTCOME_UNKNOWN");
    isSilent = false;
    expect(await calls[0]).to.equal("value");
  });

  it("of a read that ends its connection is given up after three lost connections", async () => {
    const server = await startServer(ServerKind.Redis);
    await server.command("SET", "big", "x".repeat(5_000_000));
    await server.command("SET", "small", "1");
    await server.command("CONFIG", "SET", "client-output-buffer-limit", "normal 1000000 0 0");
    const redis = open({ port: server.port });
    try {
      const big = codeOf(redis.get("big"));
      expect(await redis.get("small")).to.equal("1");
      expect(await big).to.equal("COMMAND_LOST");
    } finally {
      await closeClient(redis);
      await server.stop();
    }
  });

  it("is none for calls of a client that is closed during the handshake", async () => {
    const address = await scripted(([name = ""]): Answer => (name === "info" ? new RawReply("") : undefined));
    const redis = open(address);
    await new Promise((resolve) => redis.once("connect", resolve));
    const calls = [redis.get("a"), redis.get("b")].map(codeOf);
    redis.disconnect();
    expect(await Promise.all(calls)).to.deep.equal(["CONNECTION_CLOSED", "CONNECTION_CLOSED"]);
  });

  it("of a monitor is OK", async () => {
    const server = await sharedServer(ServerKind.Redis);
    const redis = open({ host: server.host, port: server.port });
    await untilReady(redis);
    const monitor = await redis.monitor();
    clients.push(monitor);
    const line = new Promise<string[]>((resolve) => monitor.once("monitor", (_time, args) => resolve(args)));
    await redis.get("seen");
    expect(await line).to.deep.equal(["get", "seen"]);
  });
});
