/**
 * A server that refuses a connection because of its load (no room, a script that runs) costs an attempt. Commands go on
 * waiting as retryStrategy and maxRetriesPerRequest say, as in ioredis.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { startServer } from "../support/shared-servers";

describe("full servers", () => {
  const closing: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  function connect(port: number, options: RedisOptions = {}): Redis {
    const redis = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20, ...options });
    redis.on("error", () => {});
    closing.push(() => closeClient(redis));
    return redis;
  }

  for (const protocol of [2, 3] as const) {
    it(`keep commands waiting, before and after the first connection, protocol ${protocol}`, async () => {
      const server = await startServer(ServerKind.Redis, {});
      closing.push(() => server.stop());
      const admin = connect(server.port);
      await untilReady(admin);
      await admin.config("SET", "maxclients", "1");
      const redis = connect(server.port, { protocol });
      const refused = new Promise((resolve) => redis.once("error", resolve));
      const before = Array.from({ length: 5 }, (_, index) => redis.set(`k${index}`, index));
      expect(await refused).to.have.property("message", "ERR max number of clients reached");
      await admin.config("SET", "maxclients", "100");
      expect(await Promise.all(before)).to.deep.equal(Array(5).fill("OK"));

      const id = await redis.client("ID");
      await admin.config("SET", "maxclients", "1");
      const refusedAgain = new Promise((resolve) => redis.once("error", resolve));
      await admin.client("KILL", "ID", id);
      const after = Array.from({ length: 5 }, (_, index) => redis.get(`k${index}`));
      await refusedAgain;
      await admin.config("SET", "maxclients", "100");
      expect(await Promise.all(after)).to.deep.equal(["0", "1", "2", "3", "4"]);
    });
  }

  it("end waiting commands as maxRetriesPerRequest says, with the reason", async () => {
    const server = await startServer(ServerKind.Redis, {});
    closing.push(() => server.stop());
    const admin = connect(server.port);
    await untilReady(admin);
    await admin.config("SET", "maxclients", "1");
    const error = await failureOf(connect(server.port, { maxRetriesPerRequest: 2 }).get("a"));
    expect(error).to.include({ code: "MAX_RETRIES" });
    expect(error.cause).to.have.property("message", "ERR max number of clients reached");
  });

  it("that run a script are no refusal", async () => {
    const busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
    let asked = 0;
    const server = await FakeServer.start(([name]) =>
      name === "info" && ++asked <= 2 ? new RawReply(`-${busy}\r\n`) : name === "get" ? "x" : undefined,
    );
    closing.push(() => server.stop());
    const redis = connect(server.port);
    expect(await redis.get("a")).to.equal("x");
    expect(asked).to.be.greaterThan(2);
  });
});
