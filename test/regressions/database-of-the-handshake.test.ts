/**
 * A connection on which the database could not be selected is not ready: what was issued for
 * another database never runs in database 0.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { hintOf } from "../../src/util/error-hint";
import { type FakeConnection, type FakeReply, FakeServer, status } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { startServer } from "../support/shared-servers";

describe("the database of the handshake", () => {
  let server: ServerProcess;
  let redis: Redis;

  before(async () => {
    server = await startServer(ServerKind.Redis, { config: { databases: 4 } });
  });
  after(() => server.stop());
  afterEach(() => closeClient(redis));

  for (const protocol of [2, 3] as const) {
    it(`is one that the server does not have: nothing is written, protocol ${protocol}`, async () => {
      const errors: string[] = [];
      redis = new Redis(`${server.url}/99`, { protocol, retryStrategy: (times) => (times < 3 ? 1 : null) });
      redis.on("error", (error) => errors.push(error.message));
      redis.on("ready", () => errors.push("ready"));
      const failure = await failureOf(redis.set("db:a", 1));
      expect(failure.message).to.match(/^ERR DB index is out of range/);
      expect(hintOf(failure)).to.match(/database 99/);
      await failureOf(redis.set("db:b", 1));
      expect(errors.every((message) => message.startsWith("ERR DB index"))).to.equal(true);
      expect(await server.command("DBSIZE")).to.equal(0);
    });
  }

  it("is refused for a while: commands wait when the options say so", async () => {
    let mayGo = false;
    const written: string[] = [];
    const fake = await FakeServer.start(([name = ""]): FakeReply | undefined => {
      if (name === "select") return mayGo ? status("OK") : new Error("NOPERM no rights for SELECT");
      if (name === "set") written.push(name);
      return name === "set" ? status("OK") : undefined;
    });
    try {
      redis = new Redis({ host: fake.host, port: fake.port, db: 3, retryStrategy: () => 5 });
      redis.on("error", () => {});
      expect((await failureOf(redis.set("a", 1))).message).to.match(/^NOPERM/);
      mayGo = true;
      await untilReady(redis);
      expect(await redis.set("a", 1)).to.equal("OK");
      expect(written).to.deep.equal(["set"]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("is the one that was selected last, and refused on the next server", async () => {
    let databases = 16;
    const log: string[] = [];
    const fake = await FakeServer.start(([name = "", word = ""]): FakeReply | undefined => {
      log.push(`${name} ${word}`);
      if (name === "select") {
        return Number(word) < databases ? status("OK") : new Error("ERR DB index is out of range");
      }
      return name === "set" ? status("OK") : undefined;
    });
    try {
      redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 5 });
      redis.on("error", () => {});
      await redis.select(7);
      databases = 4;
      log.length = 0;
      fake.dropConnections();
      await failureOf(redis.set("a", 1));
      await failureOf(redis.set("b", 1));
      expect(log.filter((entry) => entry.startsWith("set"))).to.deep.equal([]);
      databases = 16;
      await untilReady(redis);
      expect(await redis.set("c", 1)).to.equal("OK");
      expect(log.slice(-1)).to.deep.equal(["set c"]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("is another one for a command that goes again, and refused: the command does not run elsewhere", async () => {
    const databaseOf = new WeakMap<FakeConnection, number>();
    const written: string[] = [];
    let isRefusing = false;
    const fake = await FakeServer.start(([name = "", word = ""], connection): FakeReply | undefined => {
      if (name === "select") {
        if (isRefusing && word === "0") return new Error("NOPERM no rights for SELECT 0");
        databaseOf.set(connection, Number(word));
        return status("OK");
      }
      if (name !== "set") return undefined;
      if (!isRefusing) {
        isRefusing = true;
        return new Error("TRYAGAIN elsewhere");
      }
      written.push(`${word} in ${databaseOf.get(connection) ?? 0}`);
      return status("OK");
    });
    try {
      redis = new Redis({
        host: fake.host,
        port: fake.port,
        retryStrategy: () => 5,
        reconnectOnError: (): 2 => 2,
      });
      redis.on("error", () => {});
      await untilReady(redis);
      const [set, select] = [failureOf(redis.set("a", 1)), redis.select(1)];
      expect(await select).to.equal("OK");
      expect((await set).message).to.equal("NOPERM no rights for SELECT 0");
      expect(hintOf(await set)).to.match(/database 0/);
      await untilReady(redis);
      expect(await redis.set("b", 1)).to.equal("OK");
      expect(written).to.deep.equal(["b in 1"]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("is another one for a command that goes again, and granted: each runs in its own", async () => {
    const direct = new Redis({ host: server.host, port: server.port });
    redis = new Redis({
      host: server.host,
      port: server.port,
      retryStrategy: () => 5,
      reconnectOnError: (): 2 => 2,
    });
    redis.on("error", () => {});
    try {
      await untilReady(redis);
      await direct.set("db:text", "v");
      let isText = true;
      redis.options.reconnectOnError = (): 2 | false => {
        if (!isText) return false;
        isText = false;
        direct.del("db:text").catch(() => {});
        return 2;
      };
      const push = redis.lpush("db:text", "element");
      const select = redis.select(2);
      const set = redis.set("db:text", "other");
      expect(await Promise.all([push, select, set])).to.deep.equal([1, "OK", "OK"]);
      expect(await direct.lrange("db:text", 0, -1)).to.deep.equal(["element"]);
      await direct.select(2);
      expect(await direct.get("db:text")).to.equal("other");
    } finally {
      await closeClient(direct);
      await server.command("FLUSHALL");
    }
  });

  it("a SELECT of the caller that was refused stands in nobody's way", async () => {
    redis = new Redis({ host: server.host, port: server.port, retryStrategy: () => 5 });
    redis.on("error", () => {});
    await failureOf(redis.select(99));
    redis.disconnect(true);
    await untilReady(redis);
    expect(await redis.set("db:c", 1)).to.equal("OK");
    await server.command("FLUSHALL");
  });
});
