/** Clients of one process know of each other's writes: an awaited write on one is never followed by an older answer from the cache of another. */

import { expect } from "chai";
import type { Redis, RedisOptions } from "../../src/index";
import { untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";
import { serverKinds } from "../support/shared-servers";

const ROUNDS = 300;

/** Ways in which a client may change a key; each resolves when its caller knows that it has. */
const WRITES: Record<string, (redis: Redis, key: string, value: string) => Promise<unknown>> = {
  "a single call": (redis, key, value) => redis.set(key, value),
  "call()": (redis, key, value) => redis.call("SET", key, value),
  "a pipeline": (redis, key, value) => redis.pipeline().get("other").set(key, value).exec(),
  "a transaction": (redis, key, value) => redis.multi().set(key, value).get(key).exec(),
  "a transaction by hand": async (redis, key, value) => {
    await redis.multi({ pipeline: false });
    await redis.set(key, value);
    await redis.exec();
  },
  "a script": (redis, key, value) => redis.eval("return redis.call('set', KEYS[1], ARGV[1])", 1, key, value),
  "a script without keys": (redis, key, value) =>
    redis.eval("return redis.call('set', ARGV[1], ARGV[2])", 0, key, value),
  bulk: (redis, key, value) => redis.bulk([["set", key, value]]).summary(),
};

for (const kind of serverKinds()) {
  describe(`caches of one process, ${kind}`, () => {
    const fixture = new ServerFixture(kind).install();

    const open = async (options: RedisOptions): Promise<Redis> => {
      const redis = fixture.connectDirectly(options);
      await untilReady(redis);
      return redis;
    };

    /** Rounds in which the reader got an older value than the one that was written. */
    const staleRounds = async (
      reader: Redis,
      write: (key: string, value: string) => Promise<unknown>,
    ): Promise<number> => {
      let stale = 0;
      for (let round = 0; round < ROUNDS; round++) {
        await reader.get("key");
        // A read that is under way must not be joined by the one behind the write.
        const pending = reader.get("key");
        await write("key", String(round));
        if ((await reader.get("key")) !== String(round)) stale++;
        await pending;
      }
      return stale;
    };

    for (const mode of ["optin", "all", "broadcast"] as const) {
      for (const [name, write] of Object.entries(WRITES)) {
        it(`${mode}: ${name} on another client is seen`, async () => {
          const a = await open({ cache: { mode } });
          const b = await open({ cache: false });
          expect(await staleRounds(a, (key, value) => write(b, key, value))).to.equal(0);
          expect(a.cache.stats().hits).to.be.greaterThan(0);
        });
      }
    }

    it("is seen in both directions where both clients have caches", async () => {
      const a = await open({ cache: true });
      const b = await open({ cache: { mode: "all" }, keyPrefix: "k" });
      expect(await staleRounds(a, (_key, value) => b.set("ey", value))).to.equal(0);
      expect(await staleRounds(b, (_key, value) => a.set("kkey", value))).to.equal(0);
    });

    it("is seen from a client that was there before the cache, and by a blocking command", async () => {
      const b = await open({ blockingConnections: 1 });
      const a = await open({ cache: true });
      let stale = 0;
      for (let round = 0; round < ROUNDS; round++) {
        await b.rpush("list", round);
        while (a.cache.peek("llen", "list") !== 1) expect(await a.llen("list")).to.equal(1);
        await b.blpop("list", 1);
        if ((await a.llen("list")) !== 0) stale++;
      }
      expect(stale).to.equal(0);
    });

    it("leaves what the other client does not change, and what it does to its own connection", async () => {
      const a = await open({ cache: true });
      const b = await open({});
      while (a.cache.peek("get", "kept") === undefined) await a.get("kept");
      await b.set("other", 1);
      await b.select(1);
      await b.get("kept");
      await b.ping();
      await b.multi().set("other", 2).exec();
      expect(a.cache.peek("get", "kept")).to.equal(null);
    });

    it("keeps again what a transaction that was never ended would have changed", async () => {
      const a = await open({ cache: true });
      const b = await open({ retryStrategy: () => 1 });
      await b.multi({ pipeline: false });
      await b.set("key", 1);
      for (let round = 0; round < 10; round++) await a.get("key");
      expect(a.cache.peek("get", "key")).to.equal(undefined);
      const lost = new Promise((resolve) => b.once("close", resolve));
      b.stream.destroy();
      await lost;
      for (let round = 0; round < 10; round++) await a.get("key");
      expect(a.cache.peek("get", "key")).to.equal(null);
    });
  });
}
