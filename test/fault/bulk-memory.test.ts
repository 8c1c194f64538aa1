/**
 * Memory of client and server while a bulk runs: flat, however many commands there are. A million
 * SETs here, ten million in the long run.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { BulkReport, BulkSample } from "./bulk-program";
import type { BulkReadReport } from "./bulk-read-program";

const PROGRAM = join(__dirname, "bulk-program.js");
const READ_PROGRAM = join(__dirname, "bulk-read-program.js");
const isLong = process.env.SLUICE_LONG === "1";
const COMMANDS = isLong ? 10_000_000 : 1_000_000;
/** Beyond what the first fifth needed: two windows of commands, and what the collector leaves lying. */
const GROWTH_MIB = { rssMiB: 90, heapMiB: 60, serverMiB: 8 } as const;

const run = promisify(execFile);

describe("memory of a bulk", () => {
  let server: ServerProcess;
  before(async () => {
    server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
  });
  after(() => server.stop());

  it(`stays flat on both sides over ${COMMANDS.toLocaleString("en")} SETs`, async function () {
    this.timeout(isLong ? 1_200_000 : 120_000);
    // Coverage holds on to what it has seen.
    const env = { ...process.env, NODE_V8_COVERAGE: "" };
    const { stdout } = await run(process.execPath, [PROGRAM, String(server.port), String(COMMANDS)], { env });
    const { succeeded, durationMs, samples } = JSON.parse(stdout) as BulkReport;
    expect(succeeded).to.equal(COMMANDS);
    expect(samples.length).to.be.at.least(20);
    const warm = samples.slice(0, Math.ceil(samples.length / 5));
    const most = (of: readonly BulkSample[], what: keyof typeof GROWTH_MIB): number =>
      Math.max(...of.map((sample) => sample[what]));
    const figures = Object.entries(GROWTH_MIB).map(([name, limit]) => {
      const what = name as keyof typeof GROWTH_MIB;
      expect(most(samples, what), what).to.be.below(most(warm, what) + limit);
      return `${what} at most ${most(samples, what).toFixed(1)} (first fifth ${most(warm, what).toFixed(1)})`;
    });
    console.log(`      ${Math.round(durationMs)} ms, ${figures.join(", ")}`);
  });

  for (const [reader, pauseMs] of [
    ["fast", 0],
    ["slow", 5],
  ] as const) {
    for (const [what, count, sizes] of [
      ["3,000 values of 256 KiB", 3000, [262_144]],
      ["values of 100 bytes and of 1 MiB in turns", 1000, [100, 1_048_576]],
      ["100,000 values of 100 bytes", 100_000, [100]],
    ] as const) {
      if (pauseMs > 0 && count > 10_000) continue;
      it(`holds for replies too: ${what} for a ${reader} reader in a heap of 300 MiB`, async function () {
        this.timeout(120_000);
        const env = { ...process.env, NODE_V8_COVERAGE: "" };
        const args = ["--max-old-space-size=300", READ_PROGRAM, server.port, count, pauseMs, ...sizes];
        const { stdout } = await run(process.execPath, args.map(String), { env });
        const { rows, bytes, maxRssMiB } = JSON.parse(stdout) as BulkReadReport;
        expect(rows).to.equal(count);
        const mean = sizes.reduce<number>((sum, size) => sum + size, 0) / sizes.length;
        expect(bytes).to.equal(count * mean);
        expect(maxRssMiB).to.be.below(600);
        console.log(`      at most ${maxRssMiB.toFixed(0)} MiB`);
      });
    }
  }
});
