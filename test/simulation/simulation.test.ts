/**
 * Thousands of lives of clients (of one server, of a cluster, of a master that sentinels tell; of a
 * cluster or a server with a cache) on a
 * virtual network, each made from its seed: see schedule.ts and cached-schedule.ts. A seed means another life once a schedule
 * draws otherwise. A seed that fails is printed, and fails again in the same way:
 * `node build/test/simulation/simulate.js cluster 1234 1`.
 */

import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

interface Report {
  readonly schedules: number;
  readonly calls: number;
  readonly acknowledged: number;
  readonly steps: number;
  readonly states: number;
  readonly problems: readonly string[];
  readonly trace: string;
}

const run = promisify(execFile);
const PROGRAM = join(__dirname, "simulate.js");
const IS_LONG = process.env.SLUICE_LONG === "1";
const SCHEDULES = {
  client: IS_LONG ? 50_000 : 500,
  cluster: IS_LONG ? 40_000 : 400,
  sentinel: IS_LONG ? 20_000 : 200,
  cache: IS_LONG ? 100_000 : 400,
};
/** Lives beyond those, which have shown a defect: a transaction that overtook older commands of its slot. */
const TELLING_SEEDS = { client: [], cluster: [], sentinel: [], cache: [312_968] };
/** Fewest states that so many schedules reach. */
const STATES = { client: 120, cluster: 4000, sentinel: 50, cache: 500 };
/** Schedules of one process: many share the time that it takes to start, few divide the work evenly. */
const LARGEST_PIECE = 2500;
/** In the normal run other groups need the other processors. */
const PROCESSES = IS_LONG ? availableParallelism() : 1;
const LONG_MS = 3_000_000;

async function simulate(kind: string, first: number, count: number): Promise<Report> {
  const args = [PROGRAM, kind, String(first), String(count)];
  const { stdout } = await run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024, timeout: LONG_MS });
  return JSON.parse(stdout) as Report;
}

/** In pieces, so many processes at a time; what they found is put together. */
async function simulateAll(kind: string, count: number): Promise<Report> {
  const total = { schedules: 0, calls: 0, acknowledged: 0, steps: 0, states: 0, trace: "" };
  const problems: string[] = [];
  const piece = Math.min(LARGEST_PIECE, Math.ceil(count / PROCESSES));
  let next = 1;
  const work = async (): Promise<void> => {
    while (next <= count && problems.length === 0) {
      const first = next;
      next += piece;
      const report = await simulate(kind, first, Math.min(piece, count - first + 1));
      for (const name of ["schedules", "calls", "acknowledged", "steps"] as const)
        total[name] += report[name];
      total.states = Math.max(total.states, report.states);
      problems.push(...report.problems);
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, work));
  return { ...total, problems };
}

describe("simulation", function () {
  this.timeout(LONG_MS);

  for (const kind of ["client", "cluster", "sentinel", "cache"] as const) {
    it(`${kind}: every schedule keeps its books`, async () => {
      const report = await simulateAll(kind, SCHEDULES[kind]);
      const { schedules, calls, acknowledged, steps, states } = report;
      console.log(
        `      ${schedules} schedules, ${calls} calls (${acknowledged} acknowledged), ${steps} steps, ${states} states`,
      );
      expect(report.problems).to.deep.equal([]);
      expect(schedules).to.equal(SCHEDULES[kind]);
      // Neither all fail nor all succeed, or nothing is tried.
      expect(acknowledged / calls).to.be.within(0.4, 0.95);
      expect(states).to.be.above(STATES[kind]);
    });

    for (const seed of TELLING_SEEDS[kind]) {
      it(`${kind}: schedule ${seed} keeps its books`, async () => {
        const { problems, schedules } = await simulate(kind, seed, 1);
        expect(problems).to.deep.equal([]);
        expect(schedules).to.equal(1);
      });
    }

    it(`${kind}: a seed is the same life again`, async () => {
      for (const seed of [3, 41, 99]) {
        const [once, again] = await Promise.all([simulate(kind, seed, 1), simulate(kind, seed, 1)]);
        expect(again).to.deep.equal(once);
        expect(once.trace).to.have.length.above(20);
      }
    });
  }
});
