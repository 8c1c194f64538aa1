/** BullMQ: jobs, delays, retries, flows, schedulers, events, stalled jobs, a restarted server, closing. */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { FlowProducer, Job, Queue, QueueEvents, UnrecoverableError, Worker } from "bullmq";
import Redis from "ioredis";
import { address, next, startServer, until } from "./support.mjs";

const connection = { ...address, maxRetriesPerRequest: null };

describe("bullmq", () => {
  const closing = [];
  let count = 0;
  let name;

  beforeEach(() => {
    name = `queue-${++count}`;
  });

  afterEach(async () => {
    for (const resource of closing.splice(0).reverse()) await resource.close();
  });

  function track(resource) {
    resource.on("error", () => {});
    closing.push(resource);
    return resource;
  }

  const makeQueue = (options) => track(new Queue(name, { connection, ...options }));
  const makeEvents = () => track(new QueueEvents(name, { connection, lastEventId: "0-0" }));
  const makeWorker = (work, options) => track(new Worker(name, work, { connection, ...options }));

  it("works off jobs in order and tells their results", async () => {
    const queue = makeQueue();
    const events = makeEvents();
    await events.waitUntilReady();
    const seen = [];
    makeWorker(async (job) => {
      seen.push(job.data.n);
      return job.data.n * 2;
    });
    const jobs = [];
    for (let n = 0; n < 50; n++) jobs.push(await queue.add("double", { n }));
    const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 10_000)));
    assert.deepEqual(
      results,
      [...Array(50).keys()].map((n) => n * 2),
    );
    assert.deepEqual(seen, [...Array(50).keys()]);
    assert.deepEqual(await queue.getJobCounts("completed", "failed", "waiting"), {
      completed: 50,
      failed: 0,
      waiting: 0,
    });
  });

  it("takes 2,000 jobs in bulk with 20 at a time, each once", async () => {
    const queue = makeQueue();
    const runs = new Map();
    const worker = makeWorker(async (job) => void runs.set(job.id, (runs.get(job.id) ?? 0) + 1), {
      concurrency: 20,
    });
    await queue.addBulk([...Array(2_000).keys()].map((n) => ({ name: "job", data: { n } })));
    await until(async () => (await queue.getCompletedCount()) === 2_000, 15_000);
    assert.equal(runs.size, 2_000);
    assert.ok([...runs.values()].every((times) => times === 1));
    await worker.close();
    assert.equal(await queue.getActiveCount(), 0);
  });

  it("runs delayed jobs not before their time, and by priority", async () => {
    const queue = makeQueue();
    const events = makeEvents();
    await events.waitUntilReady();
    const began = Date.now();
    const delayed = await queue.add("later", {}, { delay: 300 });
    assert.equal(await delayed.getState(), "delayed");
    await queue.add("low", {}, { priority: 10 });
    await queue.add("high", {}, { priority: 1 });
    await queue.add("first", {});
    const order = [];
    makeWorker(async (job) => void order.push(job.name));
    await delayed.waitUntilFinished(events, 10_000);
    assert.ok(Date.now() - began >= 300);
    assert.deepEqual(order, ["first", "high", "low", "later"]);
  });

  it("tries again with a back-off, and gives up where it should", async () => {
    const queue = makeQueue();
    const events = makeEvents();
    await events.waitUntilReady();
    const tries = [];
    makeWorker(async (job) => {
      tries.push([job.name, job.attemptsMade]);
      if (job.name === "hopeless") throw new UnrecoverableError("no way");
      if (job.attemptsMade < 2) throw new Error(`not yet (${job.attemptsMade})`);
      return "third time";
    });
    const stubborn = await queue.add("stubborn", {}, { attempts: 3, backoff: { type: "fixed", delay: 50 } });
    assert.equal(await stubborn.waitUntilFinished(events, 10_000), "third time");
    const hopeless = await queue.add("hopeless", {}, { attempts: 5 });
    await assert.rejects(hopeless.waitUntilFinished(events, 10_000), /no way/);
    assert.deepEqual(
      tries.map(([job, made]) => `${job} ${made}`),
      ["stubborn 0", "stubborn 1", "stubborn 2", "hopeless 0"],
    );
    const failed = await Job.fromId(queue, hopeless.id);
    assert.equal(failed.failedReason, "no way");
    assert.equal(failed.stacktrace.length, 1);
    await failed.retry();
    await until(async () => tries.length === 5);
  });

  it("waits in a flow for the children and hands their results over", async () => {
    const flow = track(new FlowProducer({ connection }));
    const queue = makeQueue();
    const events = makeEvents();
    await events.waitUntilReady();
    makeWorker(
      async (job) => {
        if (job.name === "leaf") return job.data.value;
        const values = await job.getChildrenValues();
        return Object.values(values).reduce((sum, value) => sum + value, 0);
      },
      { concurrency: 3 },
    );
    const leaf = (value) => ({ name: "leaf", queueName: name, data: { value } });
    const tree = await flow.add({
      name: "sum",
      queueName: name,
      children: [leaf(1), leaf(2), { name: "sum", queueName: name, children: [leaf(3), leaf(4)] }],
    });
    assert.equal(await tree.job.waitUntilFinished(events, 10_000), 10);
    assert.equal(await queue.getCompletedCount(), 6);
    assert.equal((await flow.getFlow({ id: tree.job.id, queueName: name })).children.length, 3);
  });

  it("reports progress, logs and events through a stream that blocks", async () => {
    const queue = makeQueue();
    const events = makeEvents();
    await events.waitUntilReady();
    const seen = [];
    for (const event of ["added", "waiting", "active", "progress", "completed"]) {
      events.on(event, ({ jobId, data }) => seen.push([event, jobId, data]));
    }
    makeWorker(async (job) => {
      await job.updateProgress({ percent: 50 });
      await job.log("half way");
      await job.updateData({ changed: true });
    });
    const job = await queue.add("reported", { changed: false }, { jobId: "my-id" });
    await job.waitUntilFinished(events, 10_000);
    await until(() => seen.length === 5);
    assert.deepEqual(
      seen.map(([event, id]) => `${event} ${id}`),
      ["added my-id", "waiting my-id", "active my-id", "progress my-id", "completed my-id"],
    );
    assert.deepEqual(seen[3][2], { percent: 50 });
    assert.deepEqual((await queue.getJobLogs("my-id")).logs, ["half way"]);
    assert.deepEqual((await queue.getJob("my-id")).data, { changed: true });
    assert.equal((await queue.add("again", {}, { jobId: "my-id" })).id, "my-id");
    assert.equal(await queue.getCompletedCount(), 1);
  });

  it("repeats by schedule", async () => {
    const queue = makeQueue();
    const seen = [];
    makeWorker(async (job) => void seen.push(job.name));
    await queue.upsertJobScheduler("ticker", { every: 100 }, { name: "tick" });
    await until(() => seen.length >= 3);
    assert.equal((await queue.getJobSchedulers()).length, 1);
    assert.equal(await queue.removeJobScheduler("ticker"), true);
    assert.equal((await queue.getJobSchedulers()).length, 0);
  });

  it("gives a job back whose worker vanished", async () => {
    const queue = makeQueue();
    await queue.add("stalls", {});
    const dead = new Worker(name, undefined, { connection, lockDuration: 100, skipStalledCheck: true });
    dead.on("error", () => {});
    const lost = await dead.getNextJob("token");
    assert.equal(lost.name, "stalls");
    await dead.close(true);
    const stalled = [];
    const done = [];
    const worker = makeWorker(async (job) => void done.push(job.id), { stalledInterval: 150 });
    worker.on("stalled", (id) => stalled.push(id));
    await until(() => done.length === 1);
    assert.deepEqual(done, [lost.id]);
    assert.deepEqual(stalled, [lost.id]);
  });

  it("limits the rate, pauses, resumes, drains and obliterates", async () => {
    const queue = makeQueue();
    const times = [];
    const worker = makeWorker(async () => void times.push(Date.now()), {
      limiter: { max: 2, duration: 200 },
    });
    await queue.addBulk([...Array(5).keys()].map((n) => ({ name: "job", data: { n } })));
    await until(() => times.length === 5);
    assert.ok(times[4] - times[0] >= 350, `five in ${times[4] - times[0]} ms`);
    await queue.pause();
    await queue.add("held", {});
    await sleep(100);
    assert.equal(times.length, 5);
    assert.equal(await queue.isPaused(), true);
    await queue.resume();
    await until(() => times.length === 6);
    await worker.close();
    await queue.addBulk([{ name: "a" }, { name: "b" }]);
    await queue.drain();
    assert.equal(await queue.count(), 0);
    await queue.obliterate();
    const observer = new Redis(address);
    assert.deepEqual(await observer.keys(`bull:${name}:[0-9a-km-z]*`), []);
    await observer.quit();
  });

  it("takes clients that the application owns, and leaves them open", async () => {
    const shared = new Redis({ ...connection, lazyConnect: true });
    const queue = makeQueue({ connection: shared });
    const worker = makeWorker(async (job) => job.data, { connection: shared });
    const events = makeEvents();
    await events.waitUntilReady();
    assert.equal(await (await queue.add("x", 7)).waitUntilFinished(events, 10_000), 7);
    await worker.close();
    await queue.close();
    assert.equal(shared.status, "ready");
    assert.equal(await shared.ping(), "PONG");
    await shared.quit();
  });

  it("finishes what is running before it closes, and closes at once when forced", async () => {
    const queue = makeQueue();
    const worker = makeWorker(async () => sleep(200));
    // The worker may be quicker than the reply to the adder.
    const active = next(worker, "active");
    await queue.add("slow", {});
    await active;
    await worker.close();
    assert.equal(await queue.getCompletedCount(), 1);
    const idle = new Worker(name, async () => {}, { connection });
    await idle.waitUntilReady();
    await sleep(50);
    const began = Date.now();
    await idle.close();
    assert.ok(Date.now() - began < 2_000, "a worker that waits for jobs closes at once");
  });

  it("heals when the server forgot the scripts, and when it was restarted", async () => {
    const server = await startServer({ appendonly: "yes" });
    const own = { host: server.host, port: server.port, maxRetriesPerRequest: null, retryStrategy: () => 50 };
    const queue = track(new Queue(name, { connection: own }));
    const done = [];
    const worker = track(new Worker(name, async (job) => void done.push(job.name), { connection: own }));
    try {
      await queue.add("before", {});
      await until(() => done.length === 1);
      await server.command("SCRIPT", "FLUSH");
      await queue.addBulk([{ name: "flushed 1" }, { name: "flushed 2" }]);
      await until(() => done.length === 3);
      await server.kill();
      const whileDown = queue.add("while down", {});
      await sleep(200);
      await server.start();
      await whileDown;
      await until(() => done.length === 4);
      assert.deepEqual(done, ["before", "flushed 1", "flushed 2", "while down"]);
      await worker.close();
      await queue.close();
    } finally {
      await server.stop();
    }
  });
});
