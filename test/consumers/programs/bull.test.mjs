/** Bull: jobs, delays, retries, events over pub/sub, clients made by the application, stalled jobs. */

import assert from "node:assert/strict";
import Bull from "bull";
import Redis from "ioredis";
import { address, next, until, url } from "./support.mjs";

describe("bull", () => {
  const queues = [];
  let count = 0;

  afterEach(async () => {
    for (const queue of queues.splice(0)) await queue.close();
  });

  function makeQueue(name, ...settings) {
    const queue = new Bull(name, ...settings);
    queue.on("error", () => {});
    queues.push(queue);
    return queue;
  }

  it("works off jobs, several at a time, and tells results and failures", async () => {
    const queue = makeQueue(`bull-${++count}`, url);
    queue.process(5, async (job) => {
      await job.progress(50);
      if (job.data.n === 13) throw new Error("unlucky");
      return job.data.n * 2;
    });
    const jobs = await queue.addBulk([...Array(100).keys()].map((n) => ({ data: { n } })));
    const results = await Promise.allSettled(jobs.map((job) => job.finished()));
    assert.equal(results.filter(({ status }) => status === "rejected").length, 1);
    assert.match(results[13].reason.message, /unlucky/);
    assert.equal(results[99].value, 198);
    assert.deepEqual(
      (({ completed, failed, waiting }) => ({ completed, failed, waiting }))(await queue.getJobCounts()),
      { completed: 99, failed: 1, waiting: 0 },
    );
  });

  it("delays, tries again, and prefers what is urgent", async () => {
    const queue = makeQueue(`bull-${++count}`, { redis: address });
    const order = [];
    const began = Date.now();
    const delayed = await queue.add({ name: "delayed" }, { delay: 200 });
    await queue.add({ name: "low" }, { priority: 9 });
    await queue.add({ name: "high" }, { priority: 1 });
    const stubborn = await queue.add({ name: "stubborn" }, { priority: 20, attempts: 3, backoff: 20 });
    queue.process(async (job) => {
      order.push(job.data.name);
      if (job.data.name === "stubborn" && job.attemptsMade < 2) throw new Error("not yet");
    });
    await Promise.all([delayed.finished(), stubborn.finished()]);
    assert.ok(Date.now() - began >= 200);
    assert.deepEqual(order.slice(0, 3), ["high", "low", "stubborn"]);
    assert.equal(order.filter((name) => name === "stubborn").length, 3);
  });

  it("shares clients between queues that the application makes", async () => {
    const options = { ...address, maxRetriesPerRequest: null, enableReadyCheck: false };
    const client = new Redis(options);
    const subscriber = new Redis(options);
    const own = [];
    const createClient = (type) => {
      if (type === "client") return client;
      if (type === "subscriber") return subscriber;
      own.push(new Redis(options));
      return own.at(-1);
    };
    const first = makeQueue(`bull-${++count}`, { createClient });
    const second = makeQueue(`bull-${++count}`, { createClient });
    const heard = [];
    first.on("global:completed", (id, result) => heard.push(["first", id, result]));
    second.on("global:completed", (id, result) => heard.push(["second", id, result]));
    await Promise.all([first.isReady(), second.isReady()]);
    first.process(async () => "a");
    second.process(async () => "b");
    await first.add({}, { jobId: "x" });
    await second.add({}, { jobId: "y" });
    await until(() => heard.length === 2);
    assert.deepEqual(heard.sort(), [
      ["first", "x", '"a"'],
      ["second", "y", '"b"'],
    ]);
    await first.close();
    await second.close();
    for (const redis of [client, subscriber, ...own]) redis.disconnect();
  });

  it("gives a job back whose lock ran out", async () => {
    const name = `bull-${++count}`;
    const settings = { lockDuration: 150, lockRenewTime: 10_000, stalledInterval: 100 };
    const dead = makeQueue(name, { redis: address, settings: { ...settings, stalledInterval: 0 } });
    await dead.add({ n: 1 });
    const lost = await dead.getNextJob();
    assert.equal(lost.data.n, 1);
    const queue = makeQueue(name, { redis: address, settings });
    const stalled = next(queue, "stalled");
    const completed = next(queue, "completed");
    queue.process(async () => "done after all");
    assert.equal((await stalled)[0].id, lost.id);
    assert.equal((await completed)[1], "done after all");
  });

  it("pauses everywhere, removes, repeats, empties", async () => {
    const queue = makeQueue(`bull-${++count}`, { redis: address, prefix: "{own}" });
    const seen = [];
    queue.process("tick", async () => void seen.push("tick"));
    queue.process(async () => void seen.push("job"));
    await queue.pause();
    await queue.add({});
    assert.equal(await queue.getPausedCount(), 1);
    await queue.empty();
    assert.equal(await queue.count(), 0);
    await queue.resume();
    await queue.add("tick", {}, { repeat: { every: 100, limit: 2 } });
    await until(() => seen.length === 2);
    assert.deepEqual(seen, ["tick", "tick"]);
    await queue.obliterate({ force: true });
  });

  it("closes a worker that is blocked at once", async () => {
    const queue = makeQueue(`bull-${++count}`, { redis: address });
    queue.process(async () => {});
    // Bull leaves a connection open if it is closed before its worker waits for jobs.
    await until(async () => /cmd=brpoplpush/.test(await queue.client.client("LIST")));
    const began = Date.now();
    await queue.close();
    assert.ok(Date.now() - began < 3_000);
  });
});
