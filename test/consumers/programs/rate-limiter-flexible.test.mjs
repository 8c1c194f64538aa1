/** rate-limiter-flexible: counting, blocking, penalties, bursts, an insurance limiter, a client with a prefix. */

import assert from "node:assert/strict";
import Redis from "ioredis";
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  RateLimiterUnion,
} from "rate-limiter-flexible";
import { address, startServer } from "./support.mjs";

describe("rate-limiter-flexible", () => {
  let redis;

  beforeEach(() => {
    redis = new Redis({ ...address, enableOfflineQueue: true });
  });

  afterEach(() => redis.quit());

  const makeLimiter = (options) =>
    new RateLimiterRedis({
      storeClient: redis,
      points: 3,
      duration: 5,
      keyPrefix: `limit-${Math.random()}`,
      ...options,
    });

  async function outcomes(limiter, key, times) {
    const results = await Promise.allSettled([...Array(times)].map(() => limiter.consume(key)));
    return results.map(({ status, value, reason }) =>
      status === "fulfilled" ? value.remainingPoints : `refused ${reason.consumedPoints}`,
    );
  }

  it("lets so many through and no more, also when asked all at once", async () => {
    assert.deepEqual(await outcomes(makeLimiter(), "caller", 5), [2, 1, 0, "refused 4", "refused 5"]);
  });

  it("does the same with automatic pipelines", async () => {
    const auto = new Redis({ ...address, enableAutoPipelining: true });
    const limiter = makeLimiter({ storeClient: auto });
    assert.deepEqual(await outcomes(limiter, "caller", 4), [2, 1, 0, "refused 4"]);
    await auto.quit();
  });

  it("tells the state, rewards, punishes, blocks, deletes", async () => {
    const limiter = makeLimiter();
    assert.equal(await limiter.get("x"), null);
    await limiter.consume("x", 2);
    await limiter.penalty("x", 1);
    assert.equal((await limiter.get("x")).consumedPoints, 3);
    await limiter.reward("x", 2);
    assert.equal((await limiter.get("x")).remainingPoints, 2);
    await limiter.block("x", 10);
    await assert.rejects(limiter.consume("x"), ({ msBeforeNext }) => msBeforeNext > 9_000);
    assert.equal(await limiter.delete("x"), true);
    assert.equal((await limiter.consume("x")).consumedPoints, 1);
    await limiter.set("x", 1_000, 5);
    await assert.rejects(limiter.consume("x"));
  });

  it("starts anew when the time is over", async () => {
    const limiter = makeLimiter({ points: 1, duration: 1 });
    await limiter.consume("x");
    const { msBeforeNext } = await limiter.consume("x").catch((refusal) => refusal);
    assert.ok(msBeforeNext > 0 && msBeforeNext <= 1_000);
    await new Promise((resolve) => setTimeout(resolve, msBeforeNext + 20));
    assert.equal((await limiter.consume("x")).consumedPoints, 1);
  });

  it("combines limiters: bursts, unions, queues", async () => {
    const bursty = new BurstyRateLimiter(makeLimiter({ points: 1 }), makeLimiter({ points: 1 }));
    assert.equal((await bursty.consume("x")).consumedPoints, 1);
    await bursty.consume("x");
    await assert.rejects(bursty.consume("x"));
    const union = new RateLimiterUnion(makeLimiter({ keyPrefix: "u1" }), makeLimiter({ keyPrefix: "u2" }));
    assert.deepEqual(Object.keys(await union.consume("x")).sort(), ["u1", "u2"]);
    const queue = new RateLimiterQueue(makeLimiter({ points: 2, duration: 1 }));
    assert.equal(await queue.removeTokens(1, "q"), 1);
  });

  it("works with a script of its own name after the server forgot it", async () => {
    const limiter = makeLimiter({ points: 10 });
    await limiter.consume("x");
    await redis.script("FLUSH");
    assert.equal((await limiter.consume("x")).consumedPoints, 2);
  });

  it("falls back to memory while the server is away, and comes back", async () => {
    const server = await startServer();
    const client = new Redis({
      host: server.host,
      port: server.port,
      enableOfflineQueue: false,
      lazyConnect: true,
      retryStrategy: () => 50,
    });
    client.on("error", () => {});
    await client.connect();
    const limiter = makeLimiter({
      storeClient: client,
      insuranceLimiter: new RateLimiterMemory({ points: 3, duration: 5 }),
      rejectIfRedisNotReady: true,
    });
    assert.equal((await limiter.consume("x")).consumedPoints, 1);
    await server.kill();
    await new Promise((resolve) => client.once("close", resolve));
    assert.equal((await limiter.consume("x")).consumedPoints, 1);
    const isBack = new Promise((resolve) => client.once("ready", resolve));
    await server.start();
    await isBack;
    assert.equal((await limiter.consume("x")).consumedPoints, 1);
    await client.quit();
    await server.stop();
  });
});
