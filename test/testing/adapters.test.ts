/**
 * `useServer()` and the mock of the client class.
 */

import { expect } from "chai";
import Redis from "../../src/index";
import { useServer } from "../../src/testing";
import MockRedis, { Cluster, mockServer, resetMocks } from "../../src/testing/mock";
import { closeClient } from "../support/matrix";

describe("useServer", () => {
  const inUse = useServer({
    version: "7.0",
    hooks: { beforeAll: before, beforeEach, afterAll: after },
    prepare: (server) => server.seed(1),
  });

  for (const round of [1, 2]) {
    it(`begins each test in the first state, round ${round}`, async () => {
      const redis = new Redis(inUse.url);
      expect(await redis.dbsize()).to.equal(0);
      await redis.set("key", "value");
      inUse.server.faults.latency(1);
      await closeClient(redis);
    });
  }

  it("says what it misses where a runner has no globals", () => {
    const globals = globalThis as { beforeEach?: unknown };
    const own = globals.beforeEach;
    globals.beforeEach = undefined;
    try {
      expect(() => useServer({ hooks: undefined as never })).to.throw(/pass them as the option "hooks"/);
    } finally {
      globals.beforeEach = own;
    }
  });
});

describe("sluice/testing/mock", () => {
  afterEach(resetMocks);

  it("shares a server between clients of one address, and no other", async () => {
    const clients = [
      new MockRedis(6379, "localhost"),
      new MockRedis("redis://127.0.0.1:6379"),
      new MockRedis({ port: 6380 }),
    ] as const;
    await clients[0].set("key", "value");
    expect(await clients[1].get("key")).to.equal("value");
    expect(await clients[2].get("key")).to.equal(null);
    expect(mockServer().state.get("key")).to.equal("value");
    expect(clients[0]).to.be.instanceOf(Redis);
    const copy = clients[0].duplicate();
    expect(await copy.get("key")).to.equal("value");
    await Promise.all([...clients, copy].map(closeClient));
  });

  it("takes faults and time from its server", async () => {
    const redis = new MockRedis();
    mockServer().faults.readonly();
    await redis.set("key", "value").then(
      () => expect.fail("no error"),
      (error: Error) => expect(error.message).to.match(/^READONLY/),
    );
    mockServer().faults.clear();
    await redis.set("key", "value", "PX", 1000);
    mockServer().advance(2000);
    expect(await redis.exists("key")).to.equal(0);
    await closeClient(redis);
  });

  it("has no cluster, and says so", () => {
    expect(() => new Cluster()).to.throw(/has no Cluster yet/);
  });
});
