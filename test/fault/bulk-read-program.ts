/**
 * Reads so many values by `bulk()` in a process of its own, as a fast or a slow reader, and prints
 * how many came and how much memory the process had at most. Run by `test/fault/bulk-memory.test.ts`.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "../../src/index";

export interface BulkReadReport {
  readonly rows: number;
  readonly bytes: number;
  readonly maxRssMiB: number;
}

function* gets(sizes: readonly number[], count: number): Generator<readonly unknown[]> {
  for (let i = 0; i < count; i++) yield ["get", `value:${sizes[i % sizes.length]}`];
}

async function main(): Promise<void> {
  const [, , port, count, pauseMs, ...sizes] = process.argv.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    ...number[],
  ];
  const redis = new Redis(port);
  for (const size of sizes) await redis.set(`value:${size}`, "v".repeat(size));
  let rows = 0;
  let bytes = 0;
  for await (const [error, value] of redis.bulk(gets(sizes, count))) {
    if (error !== null) throw error;
    rows++;
    bytes += String(value).length;
    if (pauseMs > 0 && rows % 50 === 0) await sleep(pauseMs);
  }
  const report: BulkReadReport = { rows, bytes, maxRssMiB: process.resourceUsage().maxRSS / 1024 };
  console.log(JSON.stringify(report));
  redis.disconnect();
}

void main();
