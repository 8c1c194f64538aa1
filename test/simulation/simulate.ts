/**
 * The program that lives through schedules: `simulate.js <client|cluster|sentinel|cache> <first seed> <count>`. A
 * process of its own, since it takes the place of timers and clocks. Prints one JSON object; a seed
 * that has failed is lived through again alone by giving it with a count of 1.
 */

import { installNetwork } from "./network";
import type { Kind } from "./schedule";
import { VirtualTime } from "./virtual-time";

interface Report {
  schedules: number;
  calls: number;
  acknowledged: number;
  steps: number;
  states: number;
  problems: string[];
  trace: string;
}

const MOST_PROBLEMS = 20;

async function simulate(kind: Kind | "cache", first: number, count: number): Promise<Report> {
  const clock = new VirtualTime();
  clock.install();
  installNetwork();
  // Only now, with its timers.
  const { Schedule } = await import("./schedule.js");
  const { CachedSchedule } = await import("./cached-schedule.js");
  const states = new Set<string>();
  const report: Report = {
    schedules: 0,
    calls: 0,
    acknowledged: 0,
    steps: 0,
    states: 0,
    problems: [],
    trace: "",
  };
  process.on("unhandledRejection", (error) => report.problems.push(`unhandled rejection: ${String(error)}`));
  for (let seed = first; seed < first + count && report.problems.length < MOST_PROBLEMS; seed++) {
    // Each schedule its own moment, so that none depends on those before it.
    clock.reset();
    const schedule =
      kind === "cache" ? new CachedSchedule(seed, clock, states) : new Schedule(seed, clock, kind, states);
    const outcome = await schedule.run();
    report.schedules++;
    report.calls += outcome.calls;
    report.acknowledged += outcome.acknowledged;
    report.steps += clock.steps;
    report.problems.push(...outcome.problems);
    report.trace = outcome.trace;
  }
  report.states = states.size;
  return report;
}

const [, , kind, first = "1", count = "1"] = process.argv;
simulate(kind as Kind | "cache", Number(first), Number(count)).then(
  (report) => process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0)),
  (error: Error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
