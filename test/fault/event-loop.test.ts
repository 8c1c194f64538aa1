/**
 * Guarantee 12: very many commands at once do not hold the event loop for more than 50 ms at a
 * stretch on a machine of usual speed, and not longer in proportion on a slower one. The loop in which the
 * caller issues them is the caller's own and printed apart. The shortest of up to five tries counts: the
 * collector may fall into any of them.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { sharedServer } from "../support/shared-servers";
import type { StretchReport, StretchTask } from "./stretch-program";

const run = promisify(execFile);
const LONG = process.env.SLUICE_LONG === "1";
const PROGRAM = join(__dirname, "stretch-program.js");
const LIMIT_MS = 50;
/** The program's yardstick on a machine of usual speed. */
const USUAL_YARDSTICK_MS = 10;
const TRIES = 5;
const MILLION = 1_000_000;

async function stretchesOf(task: StretchTask): Promise<StretchReport> {
  const env = { ...process.env, NODE_V8_COVERAGE: "" };
  const { stdout } = await run(process.execPath, [PROGRAM, JSON.stringify(task)], { env, timeout: 110_000 });
  return JSON.parse(stdout) as StretchReport;
}

describe("the event loop under very many commands", function () {
  this.timeout(600_000);
  before(() => sharedServer(ServerKind.Redis));

  const counts: Record<StretchTask["way"], number> = {
    pipeline: 200_000,
    bulk: MILLION,
    single: LONG ? MILLION : 200_000,
    automatic: 100_000,
    // The server answers a transaction with one reply, which is handed over in one step.
    multi: 50_000,
  };

  for (const [way, commands] of Object.entries(counts) as [StretchTask["way"], number][]) {
    it(`${commands} commands, ${way}`, async () => {
      const { host, port } = await sharedServer(ServerKind.Redis);
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < TRIES && best >= LIMIT_MS; i++) {
        const report = await stretchesOf({ host, port, way, commands });
        const slowness = Math.max(1, report.yardstickMs / USUAL_YARDSTICK_MS);
        console.log(
          `      issued in ${Math.round(report.issuingMs)} ms, then at most ${report.longestMs.toFixed(1)} ms at a stretch` +
            (slowness > 1 ? `; the machine takes ${slowness.toFixed(1)} times as long as usual` : ""),
        );
        expect(report.answered).to.equal(commands);
        best = Math.min(best, report.longestMs / slowness);
      }
      expect(best, "milliseconds at a stretch").to.be.below(LIMIT_MS);
    });
  }
});
