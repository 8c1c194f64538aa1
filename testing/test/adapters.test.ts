/**
 * `useServer()` and the mock of the client class.
 */

import { expect } from "chai";
import Redis, { Cluster as ClusterClient } from "../../src/index";
import { closeClient } from "../../test/support/matrix";
import { useServer } from "../src";
import { slotOf } from "../src/cluster/slots";
import { mockOf } from "../src/mock-of";

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

const MockRedis = mockOf(Redis, ClusterClient);
const { Cluster, mockServer, resetMocks } = MockRedis;

describe("mockOf", () => {
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

  describe("Cluster", () => {
    it("routes, redirects and shares a cluster between clients of one first node", async () => {
      const one = new Cluster(["redis-cluster.invalid:7100", { port: 7101 }]);
      const other = new MockRedis.Cluster([{ host: "redis-cluster.invalid", port: 7100 }], {
        redisOptions: { password: "" },
      });
      const keys = Array.from({ length: 30 }, (_, index) => `key:${index}`);
      const pipeline = one.pipeline();
      for (const key of keys) pipeline.set(key, key);
      expect(await pipeline.exec()).to.deep.equal(keys.map(() => [null, "OK"]));
      const server = mockServer("redis-cluster.invalid:7100");
      expect(server.nodes.filter(({ isMaster }) => isMaster)).to.have.lengthOf(3);
      server.faults.move(slotOf("key:1"), 0);
      expect(await Promise.all(keys.map((key) => other.get(key)))).to.deep.equal(keys);
      const used = new Set(keys.map((key) => server.ownerOf(key).id));
      expect(used.size).to.equal(3);
      expect(one).to.be.instanceOf(ClusterClient);
      await Promise.all([one.quit(), other.quit()]);
    });

    it("carries messages, and takes the options of its server from mockServer()", async () => {
      mockServer("localhost:7200", { cluster: 1, replicas: 0, version: "7.0" });
      const [publisher, subscriber] = [new Cluster([7200]), new Cluster(["redis://127.0.0.1:7200"])] as const;
      const message = new Promise((resolve) => {
        subscriber.on("message", (channel, text) => resolve([channel, text]));
      });
      await subscriber.subscribe("news");
      await publisher.publish("news", "first");
      expect(await message).to.deep.equal(["news", "first"]);
      expect(publisher.nodes("all")).to.have.lengthOf(1);
      expect(await publisher.info("server")).to.include("redis_version:7.0");
      await Promise.all([publisher.quit(), subscriber.quit()]);
    });

    it("comes back after a failover on command", async () => {
      const cluster = new Cluster([{ port: 7300 }]);
      await cluster.set("key", "value");
      const server = mockServer("localhost:7300");
      const before = server.ownerOf("key").id;
      server.faults.failover(server.ownerOf("key"));
      expect(await cluster.get("key")).to.equal("value");
      expect(server.ownerOf("key").id).to.not.equal(before);
      await cluster.quit();
    });
  });
});
