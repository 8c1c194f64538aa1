/**
 * The cost of ending many commands at once: `node build/benchmarks/micro/endings.js [word]`. CPU µs for each command,
 * from the event that ends them to the last rejected promise; the least of some rounds. The server of this process
 * accepts commands and never answers them. The first row is what the engine needs for as many errors and promises.
 */

import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../../test/support/fake-server";

const COUNT = 50_000;
const ROUNDS = 5;
/** Longer than issuing and writing all commands. */
const LIMIT_MS = 4000;

interface Round {
  readonly calls: readonly Promise<unknown>[];
  /** Ends the calls; absent: their time limit does. */
  end?(): void;
}

type Start = (redis: Redis) => Round;

const each = (call: () => Promise<unknown>): Promise<unknown>[] => Array.from({ length: COUNT }, call);

const ROWS: Record<string, Start> = {
  "promises alone": () => {
    const rejects: ((error: Error) => void)[] = [];
    const calls = each(() => new Promise((_, reject) => rejects.push(reject)));
    const end = (): void => {
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 0;
      for (const reject of rejects) reject(new Error("Command timed out"));
      Error.stackTraceLimit = stackTraceLimit;
    };
    return { calls, end };
  },
  commandTimeout: (redis) => {
    redis.options.commandTimeout = LIMIT_MS;
    return { calls: each(() => redis.get("key")) };
  },
  "with({ timeout })": (redis) => {
    const view = redis.with({ timeout: LIMIT_MS });
    return { calls: each(() => view.get("key")) };
  },
  "with({ signal }), one view": (redis) => {
    const controller = new AbortController();
    const view = redis.with({ signal: controller.signal });
    return { calls: each(() => view.get("key")), end: () => controller.abort() };
  },
  "with({ signal }), a view for each call": (redis) => {
    const controller = new AbortController();
    const { signal } = controller;
    return { calls: each(() => redis.with({ signal }).get("key")), end: () => controller.abort() };
  },
};

async function measure(start: Start, port: number): Promise<number> {
  const redis = new Redis({ port, lazyConnect: true, retryStrategy: null, watchdog: false });
  redis.on("error", () => {});
  const { calls, end } = start(redis);
  const ended = Promise.allSettled(calls);
  await new Promise((resolve) => setTimeout(resolve, LIMIT_MS / 2));
  if (redis.stats().commands.failed > 0) throw new Error("A time limit passed before the measurement began");
  const before = process.cpuUsage();
  end?.();
  await ended;
  const { user, system } = process.cpuUsage(before);
  redis.disconnect();
  return (user + system) / COUNT;
}

async function main(word: string): Promise<void> {
  const server = await FakeServer.start(([name]) => (name === "get" ? NO_REPLY : undefined));
  for (const [title, start] of Object.entries(ROWS)) {
    if (!title.includes(word)) continue;
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(start, server.port));
    console.log(`${title.padEnd(40)} ${Math.min(...rounds).toFixed(2)} µs`);
  }
  await server.stop();
}

void main(process.argv[2] ?? "");
