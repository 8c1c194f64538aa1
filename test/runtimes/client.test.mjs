/**
 * The client as a service uses it, on whatever runs this file: the packed package under Bun
 * and Deno (`npm run test:long`), with sockets, timers and streams that are theirs.
 */

import assert from "node:assert/strict";
import { Redis } from "sluice";

const address = { host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) };

describe("the client", () => {
  const clients = [];
  let redis;

  function connect(options = {}) {
    const client = new Redis({ ...address, retryStrategy: () => 10, ...options });
    client.on("error", () => {});
    clients.push(client);
    return client;
  }

  before(() => {
    redis = connect();
  });
  after(async () => {
    for (const client of clients.splice(0)) await client.quit().catch(() => client.disconnect());
  });

  for (const [title, value] of [
    ["a text that is not ASCII", "ü€😀".repeat(100)],
    ["a text of 1 MiB", "x".repeat(1 << 20)],
  ]) {
    it(`brings back ${title}`, async () => {
      await redis.set("text", value);
      assert.equal(await redis.get("text"), value);
    });
  }

  for (const bytes of [0, 100, 1 << 20, 1 << 24]) {
    it(`brings back a Buffer of ${bytes} bytes`, async () => {
      const value = Buffer.alloc(bytes, "0123456789abcdef");
      await redis.set("bytes", value);
      assert.ok(value.equals(await redis.getBuffer("bytes")));
    });
  }

  it("sends a pipeline of 10,000", async () => {
    await redis.del("n");
    const pipeline = redis.pipeline();
    for (let i = 0; i < 10_000; i++) pipeline.incr("n");
    const rows = await pipeline.exec();
    assert.deepEqual([rows.length, rows[0], rows.at(-1)], [10_000, [null, 1], [null, 10_000]]);
  });

  for (const enableAutoPipelining of [false, true]) {
    it(`answers 5,000 calls of one turn, auto-pipelining ${enableAutoPipelining}`, async () => {
      const client = connect({ enableAutoPipelining });
      const wanted = Array.from({ length: 5000 }, (_, i) => `message ${i}`);
      assert.deepEqual(await Promise.all(wanted.map((text) => client.echo(text))), wanted);
    });
  }

  it("loads in bulk", async () => {
    const commands = Array.from({ length: 50_000 }, (_, i) => ["set", `bulk:${i % 100}`, i]);
    const { errors, settled } = await redis.bulk(commands, { batchSize: 1000 }).summary();
    assert.deepEqual([errors, settled], [[], 50_000]);
  });

  it("runs transactions and scripts", async () => {
    assert.deepEqual(await redis.multi().set("m", 21).get("m").exec(), [
      [null, "OK"],
      [null, "21"],
    ]);
    redis.defineCommand("twice", { numberOfKeys: 1, lua: "return redis.call('get', KEYS[1]) * 2" });
    assert.equal(await redis.twice("m"), 42);
  });

  it("hears messages", async () => {
    const subscriber = connect();
    const heard = new Promise((resolve) => subscriber.once("message", (...message) => resolve(message)));
    await subscriber.subscribe("news");
    await redis.publish("news", "hello");
    assert.deepEqual(await heard, ["news", "hello"]);
  });

  it("scans with a stream", async () => {
    await redis.mset(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`scanned:${i}`, i])));
    const keys = new Set();
    for await (const page of redis.scanStream({ match: "scanned:*", count: 10 }))
      for (const key of page) keys.add(key);
    assert.equal(keys.size, 100);
  });

  it("goes on after its socket was destroyed, and loses nothing", async () => {
    const client = connect();
    await client.set("alive", 1);
    const reads = Array.from({ length: 100 }, () => client.get("alive"));
    client.stream.destroy();
    assert.deepEqual(new Set(await Promise.all(reads)), new Set(["1"]));
  });

  it("keeps time limits and abort signals", async () => {
    const client = connect({ commandTimeout: 50 });
    await assert.rejects(client.blpop("nothing", 1), { code: "COMMAND_TIMEOUT" });
    const abort = new AbortController();
    const call = redis.with({ signal: abort.signal }).blpop("nothing", 1);
    abort.abort();
    await assert.rejects(call, { code: "ABORTED_BY_SIGNAL" });
  });

  it("says that nobody listens", async () => {
    const client = connect({ host: "127.0.0.1", port: 1, lazyConnect: true, retryStrategy: null });
    await assert.rejects(client.connect());
  });
});
