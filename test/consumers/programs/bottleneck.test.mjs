/** Bottleneck: limiters of two processes share one budget through scripts and pub/sub. */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import Bottleneck from "bottleneck";
import Redis from "ioredis";
import { address, startServer } from "./support.mjs";

describe("bottleneck", () => {
  const open = [];

  afterEach(async () => {
    for (const limiter of open.splice(0)) await limiter.disconnect(true);
  });

  function makeLimiter(id, options) {
    const limiter = new Bottleneck({ id, datastore: "ioredis", clientOptions: address, Redis, ...options });
    limiter.on("error", () => {});
    open.push(limiter);
    return limiter;
  }

  it("never runs more at a time than agreed, over two limiters", async () => {
    const pair = [0, 1].map(() => makeLimiter("pair", { maxConcurrent: 2, clearDatastore: true }));
    await Promise.all(pair.map((limiter) => limiter.ready()));
    let inside = 0;
    let most = 0;
    const work = async (n) => {
      most = Math.max(most, ++inside);
      await sleep(15);
      inside--;
      return n;
    };
    const results = await Promise.all([...Array(16).keys()].map((n) => pair[n % 2].schedule(() => work(n))));
    assert.deepEqual(results, [...Array(16).keys()]);
    assert.equal(most, 2);
    assert.equal(await pair[0].running(), 0);
    assert.equal(await pair[1].done(), 16);
  });

  it("refills a reservoir and keeps the distance in time", async () => {
    const limiter = makeLimiter("reservoir", {
      minTime: 20,
      reservoir: 3,
      reservoirRefreshAmount: 3,
      reservoirRefreshInterval: 1_000,
      heartbeatInterval: 50,
      clearDatastore: true,
    });
    const began = Date.now();
    const times = await Promise.all(
      [...Array(5)].map(() => limiter.schedule(async () => Date.now() - began)),
    );
    assert.ok(times[2] >= 35, `third after ${times[2]} ms`);
    assert.ok(times[3] >= 900, `fourth after ${times[3]} ms`);
    assert.equal(await limiter.currentReservoir(), 1);
  });

  it("groups share a connection, and publish to each other", async () => {
    const connection = new Bottleneck.IORedisConnection({ clientOptions: address, Redis });
    const group = new Bottleneck.Group({ connection, maxConcurrent: 1, id: "group" });
    const results = await Promise.all(["a", "b", "a"].map((key) => group.key(key).schedule(async () => key)));
    assert.deepEqual(results, ["a", "b", "a"]);
    assert.deepEqual((await group.clusterKeys()).sort(), ["a", "b"]);
    const heard = new Promise((resolve) => group.key("a").on("message", resolve));
    await group.key("a").publish("hello");
    assert.equal(await heard, "hello");
    await group.disconnect();
    await connection.disconnect();
  });

  it("goes on when the server forgot the scripts", async () => {
    const server = await startServer();
    const limiter = makeLimiter("own", { clientOptions: { host: server.host, port: server.port } });
    assert.equal(await limiter.schedule(async () => 1), 1);
    await server.command("SCRIPT", "FLUSH");
    assert.equal(await limiter.schedule(async () => 2), 2);
    await limiter.disconnect(true);
    open.length = 0;
    await server.stop();
  });
});
