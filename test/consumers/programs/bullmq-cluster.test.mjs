/** BullMQ on a cluster: order, each job once, flows, and a queue whose slot moves while it is worked off. */

import assert from "node:assert/strict";
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import { startCluster, until } from "./support.mjs";

/** All keys of the queues are in one slot, as BullMQ asks for on clusters. */
const prefix = "{jobs}";
const JOBS = 1_000;

describe("bullmq on a cluster", () => {
  const closing = [];
  let cluster;
  let count = 0;
  let settings;
  let name;

  before(async function () {
    this.timeout(30_000);
    cluster = await startCluster();
  });
  after(() => cluster.stop());

  beforeEach(() => {
    name = `queue-${++count}`;
    settings = { prefix, connection: cluster.connect({ redisOptions: { maxRetriesPerRequest: null } }) };
  });
  afterEach(async () => {
    for (const resource of closing.splice(0).reverse()) await resource.close();
    settings.connection.disconnect();
  });

  function track(resource) {
    resource.setMaxListeners(0);
    resource.on("error", () => {});
    closing.push(resource);
    return resource;
  }

  const makeQueue = () => track(new Queue(name, settings));
  const makeEvents = () => track(new QueueEvents(name, { ...settings, lastEventId: "0-0" }));
  const makeWorker = (work, options) => track(new Worker(name, work, { ...settings, ...options }));

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
    const numbers = [...Array(50).keys()];
    assert.deepEqual(
      results,
      numbers.map((n) => n * 2),
    );
    assert.deepEqual(seen, numbers);
  });

  it("runs each job once while two workers share them and their slot moves back and forth", async () => {
    const { servers } = cluster;
    const queue = makeQueue();
    const runs = new Map();
    const work = async (job) => void runs.set(job.data.n, (runs.get(job.data.n) ?? 0) + 1);
    for (let i = 0; i < 2; i++) makeWorker(work, { concurrency: 10 });
    const slot = await cluster.slotOf(prefix);
    const home = await servers.ownerOf(slot);
    const other = (await servers.masters()).find((master) => master !== home);
    const adding = (async () => {
      for (let n = 0; n < JOBS; n += 50) {
        await queue.addBulk([...Array(50).keys()].map((i) => ({ name: "job", data: { n: n + i } })));
      }
    })();
    for (const target of [other, home, other, home]) {
      await servers.moveSlot(slot, target);
      await servers.untilHealthy();
    }
    await adding;
    await until(async () => (await queue.getCompletedCount()) === JOBS, 15_000);
    assert.deepEqual(
      [...runs.keys()].sort((a, b) => a - b),
      [...Array(JOBS).keys()],
    );
    assert.deepEqual([...new Set(runs.values())], [1]);
    assert.deepEqual(await queue.getJobCounts("failed", "active", "waiting"), {
      failed: 0,
      active: 0,
      waiting: 0,
    });
  });

  it("works jobs off whose queue moved while the worker was blocked", async () => {
    const { servers } = cluster;
    const queue = makeQueue();
    const seen = [];
    const worker = makeWorker(async (job) => void seen.push(job.data.n));
    await worker.waitUntilReady();
    await queue.add("job", { n: 0 });
    await until(() => seen.length === 1);
    const slot = await cluster.slotOf(prefix);
    const home = await servers.ownerOf(slot);
    const other = (await servers.masters()).find((master) => master !== home);
    await servers.moveSlot(slot, other);
    for (let n = 1; n <= 5; n++) await queue.add("job", { n });
    await until(() => seen.length === 6);
    assert.deepEqual(seen, [0, 1, 2, 3, 4, 5]);
    await servers.moveSlot(slot, home);
    await servers.untilHealthy();
  });

  it("runs parents after their children", async () => {
    const flows = track(new FlowProducer(settings));
    const order = [];
    makeWorker(async (job) => void order.push(job.name));
    await flows.add({
      name: "parent",
      queueName: name,
      children: [
        { name: "child 1", queueName: name },
        { name: "child 2", queueName: name },
      ],
    });
    await until(() => order.length === 3);
    assert.equal(order[2], "parent");
    assert.deepEqual(order.slice(0, 2).sort(), ["child 1", "child 2"]);
  });
});
