/**
 * The program that every runtime runs: one function for each area of the client, which throws where the area does not
 * work. Most use only what ioredis has as well, so that its peers can be compared.
 */

import assert from "node:assert/strict";

const LARGE_BYTES = { "values of 300 kB": 300_000, "values of 5 MB": 5_000_000 };
const AREA_TIMEOUT_MS = 20_000;
/** The goal is 500 ms. The rest is for a busy machine. */
const REPLY_AFTER_THAW_MS = 2000;

/** One text that is ASCII, one that is not, and bytes. */
async function carryValues(redis, bytes) {
  for (const text of ["x".repeat(bytes), "ü€😀".repeat(bytes / 9)]) {
    await redis.set("large", text);
    assert.ok((await redis.get("large")) === text);
  }
  const value = Buffer.alloc(bytes, "0123456789abcdef");
  await redis.set("large", value);
  assert.ok(value.equals(await redis.getBuffer("large")));
  await redis.del("large");
}

async function answerOneTurn(redis, count) {
  const wanted = Array.from({ length: count }, (_, i) => `message ${i}`);
  assert.deepEqual(await Promise.all(wanted.map((text) => redis.echo(text))), wanted);
}

/** Areas by their titles. `make` gives a client that is closed at the end. */
const AREAS = {
  async commands({ redis }) {
    assert.equal(await redis.ping(), "PONG");
    await redis.set("text", "ü€😀");
    assert.equal(await redis.get("text"), "ü€😀");
    await redis.hset("hash", { a: 1, b: 2 });
    assert.deepEqual({ ...(await redis.hgetall("hash")) }, { a: "1", b: "2" });
    await assert.rejects(redis.incr("text"), /not an integer/);
    await answerOneTurn(redis, 5000);
  },
  async pipelines({ redis }) {
    await redis.del("n");
    const pipeline = redis.pipeline();
    for (let i = 0; i < 10_000; i++) pipeline.incr("n");
    const rows = await pipeline.exec();
    assert.deepEqual([rows.length, rows[0], rows.at(-1)], [10_000, [null, 1], [null, 10_000]]);
  },
  async "auto-pipelining"({ make }) {
    await answerOneTurn(make({ enableAutoPipelining: true }), 5000);
  },
  async transactions({ redis }) {
    assert.deepEqual(await redis.multi().set("m", 21).get("m").exec(), [
      [null, "OK"],
      [null, "21"],
    ]);
  },
  async scripts({ redis }) {
    redis.defineCommand("twice", { numberOfKeys: 1, lua: "return redis.call('get', KEYS[1]) * 2" });
    await redis.set("half", 21);
    assert.equal(await redis.twice("half"), 42);
  },
  async "pub/sub"({ redis, make }) {
    const subscriber = make();
    const heard = new Promise((resolve) => subscriber.once("message", (...message) => resolve(message)));
    await subscriber.subscribe("news");
    await redis.publish("news", "hello");
    assert.deepEqual(await heard, ["news", "hello"]);
  },
  async "blocking calls"({ redis, make }) {
    const waiting = make().blpop("jobs", 5);
    await redis.rpush("jobs", "one");
    assert.deepEqual(await waiting, ["jobs", "one"]);
  },
  async scanning({ redis }) {
    await redis.mset(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`scanned:${i}`, i])));
    const keys = new Set();
    for await (const page of redis.scanStream({ match: "scanned:*", count: 10 })) {
      for (const key of page) keys.add(key);
    }
    assert.equal(keys.size, 100);
  },
  async timeouts({ redis, make }) {
    const client = make({ commandTimeout: 500 });
    await client.ping();
    await redis.client("PAUSE", 1500);
    await assert.rejects(client.get("paused"), /timed out/i);
    assert.equal(await redis.get("paused"), null);
  },
  async reconnecting({ make }) {
    const client = make();
    await client.set("alive", 1);
    const reads = Array.from({ length: 100 }, () => client.get("alive"));
    client.stream.destroy();
    assert.deepEqual(new Set(await Promise.all(reads)), new Set(["1"]));
  },
  /** The process stops, and its connection is lost meanwhile. The next command runs once. */
  async "freeze and thaw"({ make, freezer }) {
    const client = make(freezer.address);
    await client.set("thaws", 1);
    await (await fetch(`${freezer.url}/${freezer.pid}`)).text();
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`no reply in ${REPLY_AFTER_THAW_MS} ms`)), REPLY_AFTER_THAW_MS);
    });
    assert.equal(await Promise.race([client.incr("thaws"), late]), 2);
  },
  async "values of 300 kB"({ redis }) {
    await carryValues(redis, LARGE_BYTES["values of 300 kB"]);
  },
  async "values of 5 MB"({ redis }) {
    await carryValues(redis, LARGE_BYTES["values of 5 MB"]);
  },
  async TLS({ make, tls }) {
    const client = make(tls);
    await client.set("secret", "s".repeat(100_000));
    assert.equal((await client.get("secret")).length, 100_000);
  },
  async cluster({ makeCluster }) {
    const cluster = makeCluster();
    const names = Array.from({ length: 100 }, (_, i) => `key:${i}`);
    await Promise.all(names.map((name, i) => cluster.set(name, i)));
    assert.deepEqual(
      await Promise.all(names.map((name) => cluster.get(name))),
      names.map((_, i) => String(i)),
    );
  },
};

/** Areas that the peers do not have. */
const OWN_AREAS = {
  async "bulk loading"({ redis }) {
    const commands = Array.from({ length: 50_000 }, (_, i) => ["set", `bulk:${i % 100}`, i]);
    const { errors, settled } = await redis.bulk(commands, { batchSize: 1000 }).summary();
    assert.deepEqual([errors, settled], [[], 50_000]);
  },
  async "abort signals"({ redis }) {
    const abort = new AbortController();
    const call = redis.with({ signal: abort.signal }).blpop("nothing", 1);
    abort.abort();
    await assert.rejects(call, { code: "ABORTED_BY_SIGNAL" });
  },
};

/** The titles of the areas that all clients have, in the order of the table. */
export const COMMON_AREAS = Object.keys(AREAS);

function limit(work, title) {
  let timer;
  const expired = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${title}: no end after ${AREA_TIMEOUT_MS} ms`)),
      AREA_TIMEOUT_MS,
    );
  });
  return Promise.race([work, expired]).finally(() => clearTimeout(timer));
}

/**
 * Tries every area. The result has a line for each: null if it works, otherwise the message.
 *
 * @param {{ Redis: Function, Cluster: Function, address: object, tls: object, nodes: object[], freezer: object }} surroundings
 */
export async function tryAreas({ Redis, Cluster, address, tls, nodes, freezer }) {
  const results = {};
  const areas = "bulk" in Redis.prototype ? { ...AREAS, ...OWN_AREAS } : AREAS;
  for (const [title, area] of Object.entries(areas)) {
    const clients = [];
    const keep = (client) => {
      // A runtime that cannot connect says so by the time limit of the area.
      client.on("error", () => {});
      clients.push(client);
      return client;
    };
    const make = (options) => keep(new Redis({ ...address, retryStrategy: () => 10, ...options }));
    const makeCluster = () => keep(new Cluster(nodes));
    try {
      await limit(area({ redis: make(), make, makeCluster, tls, freezer }), title);
      results[title] = null;
    } catch (error) {
      results[title] = String(error?.message ?? error).split("\n")[0];
    }
    for (const client of clients) client.disconnect();
  }
  return results;
}
