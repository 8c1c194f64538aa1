/** node-resque and groupmq: workers, schedulers, plugins, groups in order. */

import assert from "node:assert/strict";
import { Queue as GroupQueue, Worker as GroupWorker } from "groupmq";
import Redis from "ioredis";
import resque from "node-resque";
import { address, host, port, until } from "./support.mjs";

const { Plugins, Queue, Scheduler, Worker } = resque;

describe("node-resque", () => {
  it("works, schedules, retries and keeps failures", async () => {
    const connection = { pkg: "ioredis", host, port, password: null, database: 0, namespace: "resque-test" };
    const done = [];
    const jobs = {
      add: { perform: async (a, b) => void done.push(a + b) },
      flaky: {
        plugins: [Plugins.Retry],
        pluginOptions: { Retry: { retryLimit: 2, retryDelay: 10 } },
        perform: async () => {
          done.push("try");
          if (done.filter((entry) => entry === "try").length < 2) throw new Error("once");
        },
      },
      broken: {
        perform: async () => {
          throw new Error("always");
        },
      },
    };
    const queue = new Queue({ connection }, jobs);
    const worker = new Worker({ connection, queues: ["math"], timeout: 20 }, jobs);
    const scheduler = new Scheduler({ connection, timeout: 20 });
    for (const part of [queue, worker, scheduler]) part.on("error", () => {});
    await queue.connect();
    await worker.connect();
    await scheduler.connect();
    worker.start();
    scheduler.start();
    await queue.enqueue("math", "add", [1, 2]);
    await queue.enqueueIn(50, "math", "add", [10, 20]);
    await queue.enqueue("math", "flaky", []);
    await queue.enqueue("math", "broken", ["x"]);
    await until(
      () => done.includes(3) && done.includes(30) && done.filter((entry) => entry === "try").length === 2,
    );
    await until(async () => (await queue.failedCount()) === 1);
    const [failure] = await queue.failed(0, 1);
    assert.deepEqual([failure.error, failure.payload.args], ["always", ["x"]]);
    assert.equal((await queue.allWorkingOn())[Object.keys(await queue.workers())[0]], "started");
    await scheduler.end();
    await worker.end();
    await queue.end();
  });

  it("takes a client of the application", async () => {
    const redis = new Redis(address);
    const queue = new Queue(
      { connection: { redis, namespace: "own" } },
      { job: { perform: async () => {} } },
    );
    await queue.connect();
    await queue.enqueue("q", "job", [1]);
    assert.equal(await queue.length("q"), 1);
    assert.deepEqual(await queue.queues(), ["q"]);
    await queue.end();
    redis.disconnect();
  });
});

describe("groupmq", () => {
  it("keeps the order inside of a group while groups run side by side", async () => {
    const redis = new Redis({ ...address, maxRetriesPerRequest: null });
    const queue = new GroupQueue({ redis, namespace: "groups" });
    const seen = { a: [], b: [] };
    const worker = new GroupWorker({
      queue,
      concurrency: 2,
      handler: async ({ groupId, data }) => void seen[groupId].push(data.n),
    });
    worker.on("error", () => {});
    worker.run();
    for (let n = 0; n < 20; n++) {
      await queue.add({ groupId: n % 2 === 0 ? "a" : "b", data: { n }, orderMs: Date.now() });
    }
    await until(() => seen.a.length === 10 && seen.b.length === 10);
    assert.deepEqual(seen.a, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    assert.deepEqual(seen.b, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    await worker.close();
    await queue.close();
    redis.disconnect();
  });
});
