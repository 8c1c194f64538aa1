/** BullMQ: adding jobs one by one and in bulk, and processing them. Its commands are Lua scripts. */

import { type Figures, Meter } from "../support/meter";
import type { SampleContext } from "../support/scenario";
import { measureClosedLoop } from "./closed-loop";
import { requirePackage } from "./packages";
import { connectStore } from "./store";

interface Job {
  readonly data: { readonly at: number };
}

interface Queue {
  add(name: string, data: unknown, options: unknown): Promise<unknown>;
  addBulk(jobs: unknown[]): Promise<unknown>;
  obliterate(options: { force: boolean }): Promise<void>;
  waitUntilReady(): Promise<unknown>;
}

interface BullMQ {
  Queue: new (name: string, options: unknown) => Queue;
  Worker: new (name: string, process: (job: Job) => Promise<void>, options: unknown) => Worker;
  createNodeRedisClient(client: unknown): unknown;
}

interface Worker {
  on(event: "error", listener: () => void): unknown;
  close(force: boolean): Promise<void>;
}

export type QueueWork = "add" | "add-bulk" | "process";

const BULK = 100;
const OPTIONS = { removeOnComplete: true, removeOnFail: true };
const POLL_MS = 1;
const WARM_JOBS = 300;
/** A sample of a full run processes so many. */
const JOBS = 2000;
const FULL_MS = 300;

function jobOf(index: number): { name: string; data: unknown; opts: unknown } {
  return { name: `mail-${index % 10}`, data: { to: `user-${index}@example.org`, at: index }, opts: OPTIONS };
}

export async function measureQueue(
  work: QueueWork,
  concurrency: number,
  context: SampleContext,
): Promise<Figures> {
  const { Queue, Worker, createNodeRedisClient } = requirePackage<BullMQ>("bullmq");
  const connect = async (isBlocking: boolean): Promise<unknown> => {
    const { client, isNodeRedis } = await connectStore(context.sideName, context.target);
    if (isNodeRedis) return createNodeRedisClient(client);
    if (isBlocking) (client as { options: Record<string, unknown> }).options.maxRetriesPerRequest = null;
    return client;
  };
  const name = `bench-${context.sideName}-${process.pid}`;
  const queue = new Queue(name, { connection: await connect(false) });
  await queue.waitUntilReady();
  const figures =
    work === "process"
      ? await measureProcessing(queue, context, async (handle) => {
          const options = { connection: await connect(true), concurrency, ...OPTIONS };
          const worker = new Worker(name, handle, options);
          worker.on("error", () => undefined);
          return worker;
        })
      : await measureAdding(queue, work, concurrency, context);
  await queue.obliterate({ force: true });
  return figures;
}

function measureAdding(
  queue: Queue,
  work: QueueWork,
  callers: number,
  { budget }: SampleContext,
): Promise<Figures> {
  let at = 0;
  const add = (): Promise<unknown> => {
    const { name, data, opts } = jobOf(at++);
    return queue.add(name, data, opts);
  };
  const addBulk = (): Promise<unknown> => queue.addBulk(Array.from({ length: BULK }, () => jobOf(at++)));
  const isBulk = work === "add-bulk";
  return measureClosedLoop({ callers, perCall: isBulk ? BULK : 1, call: isBulk ? addBulk : add }, budget);
}

/** All jobs are there before the worker begins; the first of them warm it up. */
async function measureProcessing(
  queue: Queue,
  { budget }: SampleContext,
  startWorker: (handle: (job: Job) => Promise<void>) => Promise<Worker>,
): Promise<Figures> {
  const jobs = Math.round((JOBS * budget.measureMs) / FULL_MS);
  for (let at = 0; at < jobs + WARM_JOBS; at += BULK) {
    await queue.addBulk(Array.from({ length: BULK }, (_, index) => jobOf(at + index)));
  }
  let done = 0;
  const worker = await startWorker(async () => {
    done++;
  });
  await untilDone(() => done, WARM_JOBS);
  const before = done;
  const meter = new Meter();
  meter.start();
  await untilDone(() => done, jobs);
  const figures = await meter.stop(done - before);
  await worker.close(true);
  return figures;
}

async function untilDone(done: () => number, wanted: number): Promise<void> {
  while (done() < wanted) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
