/**
 * Loads so many SETs by `bulk()` in a process of its own and prints samples of its memory and the
 * server's as one line of JSON. Run by `test/fault/bulk-memory.test.ts`: the root hooks of mocha
 * keep the commands of a test, so memory cannot be looked at there.
 */

import { Redis } from "../../src/index";

export interface BulkSample {
  readonly settled: number;
  readonly rssMiB: number;
  readonly heapMiB: number;
  /** Memory of the server beside its data: buffers for this client above all. */
  readonly serverMiB: number;
}

export interface BulkReport {
  readonly succeeded: number;
  readonly durationMs: number;
  readonly samples: readonly BulkSample[];
}

const MEBIBYTE = 1_048_576;
const KEYS = 100_000;
const SAMPLES = 40;

function* sets(count: number): Generator<readonly unknown[]> {
  for (let i = 0; i < count; i++) yield ["set", `bulk:${i % KEYS}`, `value ${i}`];
}

async function serverMiB(admin: Redis): Promise<number> {
  const text = await admin.info("memory");
  const field = (name: string): number => Number(new RegExp(`${name}:(\\d+)`).exec(text)?.[1]);
  return (field("used_memory") - field("used_memory_dataset")) / MEBIBYTE;
}

async function main(): Promise<void> {
  const [, , port, count] = process.argv.map(Number) as [number, number, number, number];
  const redis = new Redis(port);
  const admin = new Redis(port);
  const samples: Promise<BulkSample>[] = [];
  const sample = async (settled: number): Promise<BulkSample> => {
    const { rss, heapUsed } = process.memoryUsage();
    return {
      settled,
      rssMiB: rss / MEBIBYTE,
      heapMiB: heapUsed / MEBIBYTE,
      serverMiB: await serverMiB(admin),
    };
  };
  const { succeeded, durationMs } = await redis
    .bulk(sets(count), {
      onProgress: ({ settled }) => {
        if (settled >= ((samples.length + 1) * count) / SAMPLES) samples.push(sample(settled));
      },
    })
    .summary();
  const report: BulkReport = { succeeded, durationMs, samples: await Promise.all(samples) };
  console.log(JSON.stringify(report));
  redis.disconnect();
  admin.disconnect();
}

void main();
