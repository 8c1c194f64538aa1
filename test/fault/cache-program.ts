/**
 * Reads so many different keys through a cache of 16 MiB in a process of its own and prints what it used of
 * memory, as one line of JSON. Run by `test/fault/caching-memory.test.ts`: the root hooks of mocha keep the commands
 * of a test, so memory cannot be looked at there.
 */

import type { CacheStats } from "../../src/caching/cache-report";
import { Redis } from "../../src/index";

export interface CacheSample {
  readonly rssMiB: number;
  readonly heapMiB: number;
  readonly cacheMiB: number;
}

export interface CacheReport {
  readonly samples: readonly CacheSample[];
  readonly stats: CacheStats;
  /** Bytes that are left on the heap when all answers have been dropped. */
  readonly emptyHeapMiB: number;
}

const MEBIBYTE = 1_048_576;
const MAX_BYTES = 16 * MEBIBYTE;
const BATCH = 1000;
const SAMPLES = 40;

async function main(): Promise<void> {
  const [, , port, count] = process.argv.map(Number) as [number, number, number, number];
  const redis = new Redis(port, { cache: { maxBytes: MAX_BYTES } });
  const writer = new Redis(port);
  await new Promise<void>((resolve) => redis.once("ready", resolve));
  const samples: CacheSample[] = [];
  for (let done = 0; done < count; done += BATCH) {
    const keys = Array.from({ length: BATCH }, (_, index) => `key:${done + index}`);
    await writer.mset(keys.flatMap((key) => [key, `value of ${key}, which is a text of some length`]));
    await Promise.all(keys.map((key) => redis.get(key)));
    if (done >= (samples.length * count) / SAMPLES) samples.push(sampleOf(redis));
  }
  const stats = redis.cache.stats();
  redis.cache.clear();
  globalThis.gc?.();
  const report: CacheReport = { samples, stats, emptyHeapMiB: process.memoryUsage().heapUsed / MEBIBYTE };
  console.log(JSON.stringify(report));
  redis.disconnect();
  writer.disconnect();
}

function sampleOf({ cache }: Redis): CacheSample {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    rssMiB: rss / MEBIBYTE,
    heapMiB: heapUsed / MEBIBYTE,
    cacheMiB: cache.stats().bytes / MEBIBYTE,
  };
}

void main();
