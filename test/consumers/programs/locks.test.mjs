/** Locks: redlock 4 and 5, its maintained continuation, redis-semaphore. */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Redlock as ContinuedRedlock } from "@sesamecare-oss/redlock";
import Redis from "ioredis";
import { MultiSemaphore, Mutex, RedlockMutex, Semaphore } from "redis-semaphore";
import Redlock4 from "redlock";
import Redlock5 from "redlock-5";
import { address, startServer } from "./support.mjs";

let redis;

before(() => {
  redis = new Redis(address);
});

after(() => redis.quit());

/** Version 5 gives up waiting when locks are extended meanwhile, over any client. */
const NEWER = [
  { name: "redlock 5", Redlock: Redlock5, durationMs: 1_000, insideMs: 200 },
  { name: "@sesamecare-oss/redlock", Redlock: ContinuedRedlock, durationMs: 500, insideMs: 600 },
];

for (const { name, Redlock, durationMs, insideMs } of NEWER) {
  describe(name, () => {
    const key = (resource) => `{${name}}:${resource}`;

    it("locks several resources together, extends and releases", async () => {
      const redlock = new Redlock([redis], { retryCount: 0 });
      const lock = await redlock.acquire([key("a"), key("b")], 1_000);
      await assert.rejects(redlock.acquire([key("b")], 1_000), { name: "ExecutionError" });
      assert.equal(await redis.exists(key("a"), key("b")), 2);
      const longer = await lock.extend(5_000);
      assert.ok((await redis.pttl(key("a"))) > 1_000);
      await longer.release();
      assert.equal(await redis.exists(key("a"), key("b")), 0);
      await (await redlock.acquire([key("b")], 1_000)).release();
    });

    it("heals when the server forgot the scripts", async () => {
      const redlock = new Redlock([redis], { retryCount: 0 });
      await redis.script("FLUSH");
      const lock = await redlock.acquire([key("s")], 1_000);
      await redis.script("FLUSH");
      await lock.release();
    });

    it("never lets two into the section, and extends while it is used", async () => {
      const redlock = new Redlock([redis], {
        retryCount: 500,
        retryDelay: 20,
        automaticExtensionThreshold: 250,
      });
      let inside = 0;
      let most = 0;
      const work = () =>
        redlock.using([key("section")], durationMs, async (signal) => {
          most = Math.max(most, ++inside);
          await sleep(insideMs);
          assert.equal(signal.aborted, false);
          inside--;
        });
      await Promise.all([work(), work(), work()]);
      assert.equal(most, 1);
    });

    describe("with three servers", () => {
      const durationMs = 10_000;
      let servers = [];
      let clients = [];

      before(async () => {
        servers = await Promise.all([startServer(), startServer(), startServer()]);
        clients = servers.map(({ host, port }) => new Redis({ host, port, maxRetriesPerRequest: 0 }));
        for (const client of clients) client.on("error", () => {});
      });

      after(async () => {
        for (const client of clients) client.disconnect();
        for (const server of servers) await server.stop();
      });

      /**
       * Redlock has its answer when most servers have voted. The last one may hold the lock for longer: if it is needed
       * for the next quorum it says no, and a try that fails leaves what it got, so no further try succeeds.
       */
      async function allVotes({ attempts }) {
        for (const votes of await Promise.all(attempts)) {
          assert.equal(votes.votesFor.size + votes.votesAgainst.size, votes.membershipSize);
        }
      }

      it("needs most of the servers, not all", async () => {
        const redlock = new Redlock(clients, { retryCount: 2, retryDelay: 20 });
        redlock.on("error", () => {});
        const lockAndRelease = async () => {
          const lock = await redlock.acquire([key("q")], durationMs);
          await allVotes(lock);
          await allVotes(await lock.release());
        };
        await lockAndRelease();
        await servers[0].stop();
        await lockAndRelease();
        await servers[1].stop();
        await assert.rejects(redlock.acquire([key("q")], durationMs), { name: "ExecutionError" });
      });
    });
  });
}

describe("redlock 4", () => {
  it("locks, extends, unlocks, with promises and callbacks", async () => {
    const redlock = new Redlock4([redis], { retryCount: 0 });
    const lock = await redlock.lock("v4", 1_000);
    await assert.rejects(redlock.lock("v4", 1_000), { name: "LockError" });
    const longer = await lock.extend(5_000);
    assert.ok((await redis.pttl("v4")) > 1_000);
    await longer.unlock();
    await new Promise((resolve, reject) =>
      redlock.lock(["v4", "v4-b"], 1_000, (error, both) =>
        error ? reject(error) : both.unlock((failure) => (failure ? reject(failure) : resolve())),
      ),
    );
    assert.equal(await redis.exists("v4", "v4-b"), 0);
  });
});

describe("redis-semaphore", () => {
  it("a mutex excludes, refreshes itself, and gives up in time", async () => {
    const first = new Mutex(redis, "m", { lockTimeout: 1_000, refreshInterval: 100 });
    await first.acquire();
    await sleep(1_300);
    assert.equal(first.isAcquired, true);
    const second = new Mutex(redis, "m", { acquireTimeout: 100, retryInterval: 10 });
    await assert.rejects(second.acquire(), /timeout/i);
    assert.equal(await second.tryAcquire(), false);
    await first.release();
    await second.acquire();
    await second.release();
  });

  it("a semaphore lets so many in; several permits at once; quorum over one server", async () => {
    let inside = 0;
    let most = 0;
    const work = async () => {
      const semaphore = new Semaphore(redis, "s", 3, { retryInterval: 5 });
      await semaphore.acquire();
      most = Math.max(most, ++inside);
      await sleep(20);
      inside--;
      await semaphore.release();
    };
    await Promise.all([...Array(12)].map(work));
    assert.equal(most, 3);
    const many = new MultiSemaphore(redis, "ms", 5, 4);
    await many.acquire();
    assert.equal(
      await new MultiSemaphore(redis, "ms", 5, 2, { acquireAttemptsLimit: 1 }).tryAcquire(),
      false,
    );
    await many.release();
    const quorum = new RedlockMutex([redis], "rm");
    await quorum.acquire();
    await quorum.release();
  });
});
