/**
 * A consumer process that is killed: notes each message that it has processed in the list `done`, as stream ID, name of
 * the consumer and number of deliveries, before it acknowledges it. It ends by SIGTERM after the messages in progress.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "../../src/index";

export interface ConsumerTask {
  readonly port: number;
  readonly consumer: string;
  readonly claimIdleMs: number;
  readonly concurrency: number;
  readonly workMs: number;
}

const { port, workMs, ...settings } = JSON.parse(process.argv[2] ?? "{}") as ConsumerTask;
const redis = new Redis({ port });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

async function main(): Promise<void> {
  const options = { ...settings, stream: "jobs", group: "workers", signal: stop.signal };
  await redis.consume(options, async ({ id, deliveries }) => {
    await sleep(workMs);
    await redis.rpush("done", JSON.stringify([id, settings.consumer, deliveries]));
  });
  await redis.quit();
}

void main();
