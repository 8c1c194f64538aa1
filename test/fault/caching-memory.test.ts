/** Guarantee: a cache stays within its bytes, however many different keys are read: ten million in the long run. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { CacheReport, CacheSample } from "./cache-program";

const PROGRAM = join(__dirname, "cache-program.js");
const isLong = process.env.SLUICE_LONG === "1";
const KEYS = isLong ? 10_000_000 : 150_000;
const MAX_MIB = 16;
/** Beyond what the first quarter needed, in which the cache has filled: what the collector leaves lying. */
const GROWTH_MIB = { rssMiB: 48, heapMiB: 8 } as const;
/** Of the whole program. Each entry is counted as it is stored, not by what the engine takes for it in fact. */
const MOST_HEAP_MIB = MAX_MIB + 24;

const run = promisify(execFile);

describe("memory of a cache", () => {
  let server: ServerProcess;
  before(async () => {
    server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
    // Keys that the server throws away are told as any other change.
    await server.command("CONFIG", "SET", "maxmemory", "256mb", "maxmemory-policy", "allkeys-lru");
  });
  after(() => server.stop());

  it(`stays flat over ${KEYS.toLocaleString("en")} different keys through 16 MiB`, async function () {
    this.timeout(isLong ? 1_200_000 : 120_000);
    // Coverage holds on to what it has seen.
    const env = { ...process.env, NODE_V8_COVERAGE: "" };
    const args = ["--expose-gc", PROGRAM, String(server.port), String(KEYS)];
    const { stdout } = await run(process.execPath, args, { env });
    const { samples, stats, emptyHeapMiB } = JSON.parse(stdout) as CacheReport;
    expect(samples.length).to.be.at.least(20);
    expect(stats).to.include({ hits: 0, misses: KEYS });
    expect(stats.evictions).to.be.greaterThan(KEYS / 2);
    const warm = samples.slice(0, Math.ceil(samples.length / 4));
    const most = (of: readonly CacheSample[], what: keyof CacheSample): number =>
      Math.max(...of.map((sample) => sample[what]));
    expect(most(warm, "cacheMiB"), "it is full").to.be.within(MAX_MIB * 0.95, MAX_MIB);
    expect(most(samples, "cacheMiB")).to.be.at.most(MAX_MIB);
    const figures = Object.entries(GROWTH_MIB).map(([name, limit]) => {
      const what = name as keyof typeof GROWTH_MIB;
      expect(most(samples, what), what).to.be.below(most(warm, what) + limit);
      return `${what} at most ${most(samples, what).toFixed(1)} (first quarter ${most(warm, what).toFixed(1)})`;
    });
    expect(most(samples, "heapMiB")).to.be.below(MOST_HEAP_MIB);
    expect(emptyHeapMiB, "when all was dropped").to.be.below(most(samples, "heapMiB") - MAX_MIB / 2);
    console.log(`      ${stats.entries} entries, ${figures.join(", ")}, empty ${emptyHeapMiB.toFixed(1)}`);
  });
});
