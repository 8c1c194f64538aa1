/** A real master, replicas and sentinels: failovers under load, followed by the client. */

import { expect } from "chai";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerSentinels } from "../../scripts/servers/server-sentinels";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { loseLock } from "../support/lost-lock";
import { closeClient, untilReady } from "../support/matrix";

const FAILOVERS = process.env.SLUICE_LONG === "1" ? 10 : 1;

for (const kind of [ServerKind.Redis, ServerKind.Valkey]) {
  describe(`sentinel failover on ${kind}`, function () {
    this.timeout(120_000);
    let group: ServerSentinels;
    const clients: Redis[] = [];

    before(async () => {
      group = await ServerSentinels.start({ binary: await findServer(kind), downAfterMs: 500 });
    });
    after(() => group?.stop());
    afterEach(async () => {
      await Promise.all(clients.splice(0).map(closeClient));
    });

    function connect(options: RedisOptions = {}): Redis {
      const redis = new Redis({ sentinels: group.addresses, name: group.groupName, ...options });
      redis.on("error", () => {});
      clients.push(redis);
      return redis;
    }

    const portOf = (redis: Redis): number | undefined =>
      (redis.stream as unknown as { remotePort: number } | null)?.remotePort;

    /** Increments all the time; every promise is kept. */
    function load(redis: Redis): { stop(): Promise<PromiseSettledResult<unknown>[]> } {
      const work: Promise<unknown>[] = [];
      const timer = setInterval(() => {
        for (let i = 0; i < 5; i++) work.push(redis.incr("counter"));
        work.push(redis.pipeline().set("a", "1").incr("other").exec());
      }, 5);
      return {
        stop() {
          clearInterval(timer);
          return Promise.allSettled(work);
        },
      };
    }

    it("finds master and replicas", async () => {
      const master = await group.master();
      const writer = connect();
      const reader = connect({ role: "slave" });
      await Promise.all([untilReady(writer), untilReady(reader)]);
      expect(portOf(writer)).to.equal(master.port);
      expect(portOf(reader)).not.to.equal(master.port);
      expect(await reader.info("replication")).to.include("role:slave");
      expect(await writer.set("k", "v")).to.equal("OK");
    });

    it("leases connections to the master, also after a failover", async () => {
      await group.untilHealthy();
      const redis = connect();
      await untilReady(redis);
      const own = await redis.lease();
      await own.set("lease", 1);
      const master = await group.failover();
      // The old master refuses writes once it is a replica, or ends the connection.
      while (portOf(redis) !== master.port) await redis.set("after", "1");
      await own.release();
      const rows = await redis.transaction("lease", (next) => next.multi().set("lease", 2));
      expect(rows).to.deep.equal([[null, "OK"]]);
      expect(await redis.get("lease")).to.equal("2");
    });

    it("a consumer goes on after a failover, and processes all messages that the new master has", async () => {
      await group.untilHealthy();
      const [redis, producer] = [connect(), connect()];
      const stop = new AbortController();
      const processed = new Set<string>();
      const settings = { stream: "jobs", group: "workers", consumer: "one", claimIdleMs: 500 };
      const consuming = redis.consume({ ...settings, concurrency: 5, signal: stop.signal }, ({ id }) => {
        processed.add(id);
      });
      let isProducing = true;
      const producing = (async () => {
        while (isProducing) {
          await producer.xadd("jobs", "*", "n", 1);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      })();
      const master = await group.failover();
      while (portOf(producer) !== master.port) await producer.set("after", "1");
      isProducing = false;
      await producing;
      const isDone = async (): Promise<boolean> => {
        const ids = (await producer.xrange("jobs", "-", "+")).map(([id]) => id);
        return ids.length > 0 && ids.every((id) => processed.has(id));
      };
      await waitUntil(isDone, { timeoutMs: 30_000, what: "all messages to be processed" });
      // Acknowledgements that the new master never got are pending there, so these messages are processed again.
      const isAcknowledged = async (): Promise<boolean> =>
        (await producer.xpending("jobs", "workers", "-", "+", 1)).length === 0;
      await waitUntil(isAcknowledged, { timeoutMs: 30_000, what: "all messages to be acknowledged" });
      stop.abort();
      await consuming;
    });

    it("a lock that a failover loses goes to another client, with a larger number", async () => {
      await group.untilHealthy();
      const pair = [
        connect({ maxRetriesPerRequest: null }),
        connect({ maxRetriesPerRequest: null }),
      ] as const;
      await Promise.all(pair.map(untilReady));
      await pair[0].flushall();
      const master = await group.master();
      const others = group.servers.filter((server) => server !== master);
      await loseLock(pair, master, others, () => group.untilMasterIsNot(master));
      await master.start();
      await group.untilHealthy();
    });

    // Without the detector the news come when the old master is made a replica, seconds later.
    for (const failoverDetector of kind === ServerKind.Redis ? [true, false] : [true]) {
      it(`follows a forced failover under load, detector ${failoverDetector ? "on" : "off"}`, async () => {
        for (let round = 0; round < FAILOVERS; round++) {
          await group.untilHealthy();
          const redis = connect({ failoverDetector });
          // The sentinels may be quicker than the master: whoever listens later may listen in vain.
          const subscribed = new Promise((resolve) => redis.once("failoverSubscribed", resolve));
          await untilReady(redis);
          if (failoverDetector) await subscribed;
          const before = portOf(redis);
          const running = load(redis);
          const master = await group.failover();
          await redis.set("after", "1");
          while (portOf(redis) === before) await redis.set("after", "1");
          const results = await running.stop();
          expect(portOf(redis)).to.equal(master.port);
          expect(results.length).to.be.greaterThan(10);
          expect(results.filter(({ status }) => status === "rejected")).to.deep.equal([]);
          await closeClient(redis);
        }
      });
    }

    it("notices a failover at once with default options, also behind a sentinel that was restarted", async () => {
      await group.untilHealthy();
      const redis = connect();
      const subscribed = new Promise((resolve) => redis.once("failoverSubscribed", resolve));
      await untilReady(redis);
      await subscribed;
      const master = await group.failover();
      const announcedAtMs = performance.now();
      while (portOf(redis) !== master.port || redis.status !== "ready") {
        expect(performance.now() - announcedAtMs, "ms since the sentinels agree").to.be.below(2000);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await group.untilHealthy();
      // The ear is lost: another sentinel is listened to, and nothing that was said meanwhile is missed.
      const listens = new Promise((resolve) => redis.once("failoverSubscribed", resolve));
      for (const sentinel of group.sentinels) await sentinel.command("CLIENT", "KILL", "TYPE", "pubsub");
      await listens;
      const next = await group.failover();
      const againAtMs = performance.now();
      while (portOf(redis) !== next.port || redis.status !== "ready") {
        expect(performance.now() - againAtMs, "ms since the sentinels agree").to.be.below(2000);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });

    it("a cache gives no answer of the old master after a failover", async () => {
      await group.untilHealthy();
      const redis = connect({ cache: true });
      await untilReady(redis);
      const before = portOf(redis);
      await redis.set("cached", "old");
      while (redis.cache.peek("get", "cached") === undefined)
        expect(await redis.get("cached")).to.equal("old");
      const master = await group.failover();
      await master.command("SET", "cached", "new");
      while (portOf(redis) !== master.port || redis.status !== "ready") {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      expect(portOf(redis)).not.to.equal(before);
      expect(redis.cache.peek("get", "cached")).to.equal(undefined);
      expect(await redis.get("cached")).to.equal("new");
      // The new connection is tracked too.
      while (redis.cache.peek("get", "cached") === undefined)
        expect(await redis.get("cached")).to.equal("new");
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await master.command("SET", "cached", "newer");
      expect(await told).to.deep.equal(["cached"]);
      expect(await redis.get("cached")).to.equal("newer");
    });

    it("reads from the replicas of the master, before and after a failover under load", async () => {
      await group.untilHealthy();
      const redis = connect({ replicas: true, readYourWrites: 5000 });
      await untilReady(redis);
      const readers = (): number =>
        Object.values(redis.stats().replicas ?? {}).filter(({ takesReads }) => takesReads).length;
      const wait = (what: string, condition: () => boolean): Promise<void> =>
        waitUntil(async () => condition(), { timeoutMs: 30_000, what });
      await wait("a replica that takes reads", () => readers() > 0);
      const before = portOf(redis);
      const running = load(redis);
      const reads: Promise<unknown>[] = [];
      const timer = setInterval(
        () => reads.push(redis.get("unwritten"), redis.pipeline().get("a").exec()),
        5,
      );
      const master = await group.failover();
      await wait("the new master", () => portOf(redis) === master.port && redis.status === "ready");
      await redis.set("own", "1");
      expect(await redis.get("own")).to.equal("1");
      await wait("replicas of the new master", () => readers() > 0);
      expect(Object.keys(redis.stats().replicas ?? {})).not.to.include(`127.0.0.1:${master.port}`);
      clearInterval(timer);
      expect(portOf(redis)).not.to.equal(before);
      const results = [...(await running.stop()), ...(await Promise.allSettled(reads))];
      expect(results.filter(({ status }) => status === "rejected")).to.deep.equal([]);
    });

    it("follows the death of the master under load; every call settles", async () => {
      await group.untilHealthy();
      const redis = connect({ failoverDetector: true, retryStrategy: () => 50, maxRetriesPerRequest: null });
      const reader = connect({ role: "slave", retryStrategy: () => 50, maxRetriesPerRequest: null });
      await Promise.all([untilReady(redis), untilReady(reader)]);
      const old = await group.master();
      const running = load(redis);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await old.kill();
      const master = await group.untilMasterIsNot(old);
      expect(await redis.set("after", "death")).to.equal("OK");
      const results = await running.stop();
      expect(portOf(redis)).to.equal(master.port);
      expect(results.filter(({ status }) => status === "rejected")).to.deep.equal([]);
      expect(await reader.ping()).to.equal("PONG");
    });
  });
}
