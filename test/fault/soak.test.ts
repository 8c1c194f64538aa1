/**
 * Guarantee 12, second half: very many commands in every way of sending them, over a line that is
 * cut again and again, settle once each, with exact books and flat memory. It runs in a process
 * of its own (`soak-program`), on each retry policy that sends again and on the one that never does.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RetryPolicy } from "../../src/command/command-extra";
import { seedOfRun } from "../support/properties";
import { sharedServer } from "../support/shared-servers";
import type { SoakReport, SoakTask } from "./soak-program";

const run = promisify(execFile);
const LONG = process.env.SLUICE_LONG === "1";
const COMMANDS = LONG ? 5_000_000 : 80_000;
const CUT_EVERY_MS = LONG ? 2000 : 100;
const TIMEOUT_MS = LONG ? 3_600_000 : 120_000;
const PROGRAM = join(__dirname, "soak-program.js");
/** Memory that the engine keeps and gives back without anybody's doing. */
const HEAP_NOISE_BYTES = 2 * 1024 * 1024;
const RESIDENT_NOISE_BYTES = 48 * 1024 * 1024;

async function soak(task: SoakTask): Promise<SoakReport> {
  const { stdout } = await run(process.execPath, ["--expose-gc", PROGRAM, JSON.stringify(task)], {
    env: { ...process.env, NODE_V8_COVERAGE: "" },
    timeout: TIMEOUT_MS - 5_000,
  });
  return JSON.parse(stdout) as SoakReport;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** By how much the last third of the samples lies above the first third. */
function growth(samples: readonly number[]): number {
  const third = Math.floor(samples.length / 3);
  return mean(samples.slice(-third)) - mean(samples.slice(0, third));
}

function print(report: SoakReport): void {
  const rate = Math.round(report.issued / report.seconds / 1000);
  const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  const { issued, cuts, connections, heapBytes, residentBytes, messages, popped } = report;
  console.log(
    `      ${issued} commands in ${report.seconds.toFixed(1)} s (${rate}k/s), ${cuts} cuts, ${connections} connections`,
  );
  console.log(
    `      heap ${mebibytes(heapBytes[0] ?? 0)} to ${mebibytes(heapBytes.at(-1) ?? 0)} MiB, resident ${mebibytes(residentBytes[0] ?? 0)} to ${mebibytes(residentBytes.at(-1) ?? 0)} MiB, ${messages.received} of ${messages.published} messages, ${popped} popped`,
  );
  for (const { name, acknowledged, unknown, notRun, sentAgain, server } of report.counters) {
    console.log(
      `      ${name.padEnd(10)} ${acknowledged} acknowledged, ${unknown} unknown, ${notRun} not run, ${sentAgain} sent again, ${server} on the server`,
    );
  }
}

function expectExactBooks({ counters }: SoakReport, policy: RetryPolicy): void {
  for (const { name, acknowledged, unknown, sentAgain, server } of counters) {
    expect(server, `${name}: acknowledged and not there`).to.be.at.least(acknowledged);
    expect(server, `${name}: there without an explanation`).to.be.at.most(acknowledged + unknown + sentAgain);
    if (policy === "at-most-once") expect(sentAgain, `${name}: sent again`).to.equal(0);
  }
  const [left, right] = ["left", "right"].map((name) => counters.find((one) => one.name === name));
  expect(left?.server, "both halves of all transactions").to.equal(right?.server);
}

describe("a long run over a bad line", function () {
  this.timeout(TIMEOUT_MS);
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  for (const policy of ["at-least-once", "at-most-once"] as const) {
    it(`${policy}: every command settles once, the books are exact, memory is flat`, async () => {
      server = await sharedServer(ServerKind.Redis);
      const seed = seedOfRun();
      console.log(`      seed ${seed}`);
      const report = await soak({
        host: server.host,
        port: server.port,
        commands: COMMANDS,
        cutEveryMs: CUT_EVERY_MS,
        policy,
        seed,
      });
      print(report);
      const { issued, settled, settledTwice, faults, cuts } = report;
      expect(faults).to.deep.equal([]);
      expect({ settled, settledTwice }).to.deep.equal({ settled: issued, settledTwice: 0 });
      expect(cuts).to.be.greaterThan(2);
      expectExactBooks(report, policy);
      expect(growth(report.heapBytes), "growth of the heap").to.be.below(HEAP_NOISE_BYTES);
      expect(growth(report.residentBytes), "growth of the process").to.be.below(RESIDENT_NOISE_BYTES);
    });
  }
});
