/** The same commands in several ways, and the depth curve. Each way checks every value it reads. */

import { Redis } from "sluice";
import { expectedValueOf, keyOf } from "./dataset";
import { type Lookup, sendCrowd, startService } from "./http-service";
import { WriteCounter } from "./write-counter";

export const PIPELINE_LENGTH = 1_000;
export const CONNECTIONS = 200;

export interface Outcome {
  readonly perSecond: number;
  readonly writes: number;
}

export interface Task {
  readonly url: string;
  readonly commands: number;
  onProgress(done: number): void;
}

function checkValue(value: unknown, index: number): void {
  if (value !== expectedValueOf(index))
    throw new Error(`${keyOf(index)} has the unexpected value ${String(value)}`);
}

async function withClient(
  task: Task,
  options: { enableAutoPipelining: boolean },
  work: (db: Redis) => Promise<void>,
): Promise<Outcome> {
  const db = new Redis(task.url, options);
  try {
    await db.ping();
    if (db.stream === null) throw new Error("The connection was lost");
    const counter = new WriteCounter(db.stream);
    const startedAt = performance.now();
    await work(db);
    const seconds = (performance.now() - startedAt) / 1_000;
    return { perSecond: task.commands / seconds, writes: counter.writes };
  } finally {
    db.disconnect();
  }
}

export function oneByOne(task: Task): Promise<Outcome> {
  return withClient(task, { enableAutoPipelining: false }, async (db) => {
    for (let index = 0; index < task.commands; index++) {
      checkValue(await db.get(keyOf(index)), index);
      if (index % 500 === 0) task.onProgress(index);
    }
  });
}

export function explicitPipelines(task: Task): Promise<Outcome> {
  return withClient(task, { enableAutoPipelining: false }, async (db) => {
    for (let first = 0; first < task.commands; first += PIPELINE_LENGTH) {
      await runPipeline(db, first, PIPELINE_LENGTH);
      task.onProgress(first + PIPELINE_LENGTH);
    }
  });
}

async function runPipeline(db: Redis, first: number, length: number): Promise<void> {
  const pipeline = db.pipeline();
  for (let index = first; index < first + length; index++) pipeline.get(keyOf(index));
  const results = (await pipeline.exec()) ?? [];
  for (let offset = 0; offset < length; offset++) checkValue(results[offset]?.[1], first + offset);
}

async function behindHttp(task: Task, lookup: Lookup): Promise<void> {
  const server = await startService(lookup);
  try {
    await sendCrowd({
      server,
      requests: task.commands,
      connections: CONNECTIONS,
      onProgress: task.onProgress,
    });
  } finally {
    server.close();
  }
}

/** A web service that gets a value for each request. */
export function behindWebService(enableAutoPipelining: boolean): (task: Task) => Promise<Outcome> {
  return (task) =>
    withClient(task, { enableAutoPipelining }, (db) =>
      behindHttp(task, (key, callback) => db.get(key, (error, value) => callback(error, value ?? null))),
    );
}

/** The same web service without pipelining: a command waits for the reply to the previous one. */
export function oneByOneBehindHttp(task: Task): Promise<Outcome> {
  return withClient(task, { enableAutoPipelining: false }, (db) => {
    let previous: Promise<unknown> = Promise.resolve();
    return behindHttp(task, (key, callback) => {
      previous = previous.then(() => db.get(key, (error, value) => callback(error, value ?? null)));
    });
  });
}

/** Commands per second when pipelines of one length follow one another. */
export async function throughputAtDepth(db: Redis, depth: number, durationMs: number): Promise<number> {
  let commands = 0;
  const startedAt = performance.now();
  let elapsedMs = 0;
  while (elapsedMs < durationMs) {
    await runPipeline(db, commands, depth);
    commands += depth;
    elapsedMs = performance.now() - startedAt;
  }
  return (commands * 1_000) / elapsedMs;
}
