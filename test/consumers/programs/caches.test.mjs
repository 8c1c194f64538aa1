/** Caches: keyv, cache-manager, bentocache with its bus, unstorage, catbox, async-cache-dedupe, undici, typeorm. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Client as CatboxClient, Policy } from "@hapi/catbox";
import { Engine as CatboxRedis } from "@hapi/catbox-redis";
import KeyvRedis from "@keyv/redis";
import { createCache } from "async-cache-dedupe";
import { BentoCache, bentostore } from "bentocache";
import { memoryDriver } from "bentocache/drivers/memory";
import { redisBusDriver, redisDriver } from "bentocache/drivers/redis";
import { caching } from "cache-manager";
import { redisInsStore, redisStore } from "cache-manager-ioredis-yet";
import Redis from "ioredis";
import Keyv from "keyv";
import { DataSource, EntitySchema } from "typeorm";
import { Agent, interceptors, request } from "undici";
import { RedisCacheStore } from "undici-cache-redis";
import { createStorage, prefixStorage } from "unstorage";
import unstorageRedis from "unstorage/drivers/redis";
import { address, host, port, until, url } from "./support.mjs";

let redis;

before(() => {
  redis = new Redis(address);
});

beforeEach(() => redis.flushall());

after(() => redis.quit());

describe("keyv over @keyv/redis", () => {
  for (const useRedisSets of [true, false]) {
    it(`stores, expires, deletes, clears and iterates ${useRedisSets ? "with" : "without"} sets`, async () => {
      const keyv = new Keyv({ store: new KeyvRedis(redis, { useRedisSets }), namespace: "ns" });
      await keyv.set("a", { deep: [1, "ä"] });
      await keyv.set("b", 2, 30);
      assert.deepEqual(await keyv.get("a"), { deep: [1, "ä"] });
      assert.deepEqual(await keyv.get(["a", "missing"]), [{ deep: [1, "ä"] }, undefined]);
      await sleep(60);
      assert.equal(await keyv.get("b"), undefined);
      for (let n = 0; n < 30; n++) await keyv.set(`k${n}`, n);
      await keyv.delete(["k1", "k2"]);
      assert.deepEqual(await keyv.get(["k1", "k2", "k3"]), [undefined, undefined, 3]);
      await keyv.clear();
      assert.equal(await keyv.get("a"), undefined);
    });
  }

  it("finds keys and goes through all of them", async () => {
    const keyv = new Keyv({ store: new KeyvRedis(redis), namespace: "ns" });
    for (let n = 0; n < 30; n++) await keyv.set(`k${n}`, n);
    assert.equal(await keyv.has("k7"), true);
    const seen = new Map();
    for await (const [key, value] of keyv.iterator("ns")) seen.set(key, value);
    assert.equal(seen.get("k29"), 29);
    assert.equal(seen.size, 30);
  });

  it("makes its own client from a URL and ends it", async () => {
    const store = new KeyvRedis(url);
    const keyv = new Keyv({ store });
    await keyv.set("a", 1);
    assert.equal(await keyv.get("a"), 1);
    await keyv.disconnect();
    await until(() => store.redis.status === "end");
  });
});

describe("cache-manager over cache-manager-ioredis-yet", () => {
  it("wraps a slow function, many keys at once, with times to live", async () => {
    const cache = await caching(redisStore, { ...address, ttl: 5_000 });
    let calls = 0;
    const slow = () => cache.wrap("answer", async () => ++calls && 42);
    assert.deepEqual([await slow(), await slow(), calls], [42, 42, 1]);
    await cache.store.mset([
      ["x", { n: 1 }],
      ["y", [2]],
    ]);
    assert.deepEqual(await cache.store.mget("x", "y", "z"), [{ n: 1 }, [2], undefined]);
    assert.ok((await cache.store.ttl("x")) > 4_000);
    assert.deepEqual((await cache.store.keys()).sort(), ["answer", "x", "y"]);
    await cache.store.mdel("x", "y");
    await cache.reset();
    assert.deepEqual(await cache.store.keys(), []);
    await assert.rejects(cache.set("bad", undefined), ({ message }) => message.includes("not a cacheable"));
    await cache.store.client.quit();
    const shared = await caching(redisInsStore(redis));
    await shared.set("k", "v");
    assert.equal(await shared.get("k"), "v");
  });
});

describe("bentocache", () => {
  it("keeps two instances in step over the bus", async () => {
    const make = () =>
      new BentoCache({
        default: "multi",
        stores: {
          multi: bentostore()
            .useL1Layer(memoryDriver({ maxItems: 100 }))
            .useL2Layer(redisDriver({ connection: address }))
            .useBus(redisBusDriver({ connection: address })),
        },
      });
    const [first, second] = [make(), make()];
    await first.set({ key: "who", value: "old" });
    assert.equal(await second.get({ key: "who" }), "old");
    // The subscription of the bus may be younger than a message.
    await until(async () => {
      await first.set({ key: "who", value: "new" });
      return (await second.get({ key: "who" })) === "new";
    });
    await second.delete({ key: "who" });
    await until(async () => (await first.get({ key: "who" })) === undefined);
    let made = 0;
    const factory = async () => {
      await sleep(20);
      return ++made;
    };
    const all = await Promise.all(
      [...Array(10)].map(() => first.getOrSet({ key: "once", factory, ttl: "10s" })),
    );
    assert.deepEqual(all, Array(10).fill(1));
    await first.namespace("users").set({ key: "1", value: "x" });
    await first.namespace("users").clear();
    assert.equal(await first.namespace("users").get({ key: "1" }), undefined);
    await Promise.all([first.disconnectAll(), second.disconnectAll()]);
  });

  it("takes a client of the application", async () => {
    const cache = new BentoCache({
      default: "only",
      stores: { only: bentostore().useL2Layer(redisDriver({ connection: redis })) },
    });
    await cache.set({ key: "k", value: [1, 2] });
    assert.deepEqual(await cache.get({ key: "k" }), [1, 2]);
    await cache.deleteByTag({ tags: ["none"] });
  });
});

describe("unstorage", () => {
  it("stores text, objects and bytes below a base, and clears them", async () => {
    const storage = createStorage({ driver: unstorageRedis({ base: "app", host, port }) });
    await storage.setItem("a:b", { n: 1 });
    await storage.setItemRaw("raw", Buffer.from([0, 1, 255]));
    await storage.setItems([
      { key: "m:1", value: "one" },
      { key: "m:2", value: "two" },
    ]);
    assert.deepEqual(await storage.getItem("a:b"), { n: 1 });
    assert.equal(await storage.hasItem("a:b"), true);
    assert.deepEqual(
      (await storage.getItems(["m:1", "m:2"])).map(({ value }) => value),
      ["one", "two"],
    );
    assert.deepEqual((await storage.getKeys("m")).sort(), ["m:1", "m:2"]);
    await prefixStorage(storage, "t").setItem("x", 1, { ttl: 10 });
    assert.equal(await redis.ttl("app:t:x"), 10);
    await storage.removeItem("a:b");
    await storage.clear();
    assert.deepEqual(await redis.keys("app:*"), []);
    await storage.dispose();
  });
});

describe("@hapi/catbox-redis", () => {
  it("starts, stores, makes values once for many, drops, stops", async () => {
    const client = new CatboxClient(CatboxRedis, { ...address, partition: "part" });
    await client.start();
    assert.equal(client.isReady(), true);
    let calls = 0;
    const generateFunc = async (id) => {
      await sleep(20);
      return { id, call: ++calls };
    };
    const options = { expiresIn: 2_000, generateFunc, generateTimeout: 1_000 };
    const policy = new Policy(options, client, "segment");
    const values = await Promise.all([...Array(5)].map(() => policy.get("x")));
    assert.deepEqual(values, Array(5).fill({ id: "x", call: 1 }));
    assert.deepEqual(await policy.get("x"), { id: "x", call: 1 });
    await policy.drop("x");
    assert.equal((await policy.get("x")).call, 2);
    await client.stop();
    const shared = new CatboxClient(new CatboxRedis({ client: redis }));
    await shared.start();
    assert.equal(shared.isReady(), true);
  });
});

describe("async-cache-dedupe", () => {
  it("keeps results in the server, finds them again, and lets go of them by reference", async () => {
    let calls = 0;
    const cache = createCache({
      ttl: 10,
      storage: { type: "redis", options: { client: redis, invalidation: { referencesTTL: 60 } } },
    });
    cache.define("user", { references: (_args, _key, result) => [`user:${result.id}`] }, async (id) => {
      calls++;
      return { id };
    });
    assert.deepEqual(await Promise.all([cache.user(1), cache.user(1)]), [{ id: 1 }, { id: 1 }]);
    assert.deepEqual(await cache.user(1), { id: 1 });
    assert.equal(calls, 1);
    await cache.invalidateAll(["user:1"]);
    await cache.user(1);
    assert.equal(calls, 2);
  });
});

describe("undici-cache-redis", () => {
  it("answers requests from the cache and lets go of them when a tag is invalidated", async () => {
    let served = 0;
    const origin = createServer((_request, response) => {
      response.setHeader("cache-control", "public, max-age=100");
      response.setHeader("cache-tags", "greeting");
      response.end(`answer ${++served}`);
    });
    await new Promise((resolve) => origin.listen(0, resolve));
    const store = new RedisCacheStore({ clientOpts: address, cacheTagsHeader: "cache-tags" });
    const agent = new Agent({ keepAliveTimeout: 10 }).compose(interceptors.cache({ store }));
    const ask = async () => {
      const { body } = await request(`http://127.0.0.1:${origin.address().port}/`, { dispatcher: agent });
      return body.text();
    };
    assert.equal(await ask(), "answer 1");
    await until(async () => (await redis.dbsize()) > 0);
    assert.equal(await ask(), "answer 1");
    await store.deleteTags(["greeting"]);
    await until(async () => (await ask()) !== "answer 1");
    assert.equal(served, 2);
    await store.close();
    await agent.close();
    origin.closeAllConnections();
    await new Promise((resolve) => origin.close(resolve));
  });
});

describe("typeorm", () => {
  for (const type of ["ioredis", "redis-like array"]) {
    it(`caches the results of queries (${type})`, async () => {
      const Note = new EntitySchema({
        name: "note",
        columns: { id: { type: Number, primary: true, generated: true }, text: { type: String } },
      });
      const source = new DataSource({
        type: "sqljs",
        entities: [Note],
        synchronize: true,
        cache: { type: "ioredis", options: type === "ioredis" ? address : port },
      });
      await source.initialize();
      const notes = source.getRepository(Note);
      await notes.save([{ text: "one" }]);
      const count = () =>
        notes.find({ cache: { id: "notes", milliseconds: 5_000 } }).then((rows) => rows.length);
      assert.equal(await count(), 1);
      await notes.save([{ text: "two" }]);
      assert.equal(await count(), 1);
      await source.queryResultCache.remove(["notes"]);
      assert.equal(await count(), 2);
      await source.queryResultCache.clear();
      await source.destroy();
    });
  }
});
