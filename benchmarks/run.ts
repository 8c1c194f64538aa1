/**
 * Command line of the suite: selects scenarios, prints a table after each, stores results, writes the page.
 */

import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { comparisonTable } from "./report/comparison";
import { terminalTable } from "./report/format";
import { goalTable } from "./report/goal-report";
import { writePages } from "./report/pages";
import { runtimesTable } from "./report/runtimes";
import { detailTable, hasOverview, overviewTable, ratioTable, sidesIn } from "./report/tables";
import { scenarios } from "./scenario/all-scenarios";
import { nameOfRuntime, RUNTIME_ROUNDS, RUNTIME_SIDES, runtimePlan } from "./scenario/runtimes";
import { isSideName, REFERENCE_SIDE, SIDE_NAMES, type SideName } from "./sides/all-sides";
import { BenchServers } from "./support/bench-servers";
import { findPinning, type Pinning } from "./support/child-process";
import {
  describeMachine,
  merge,
  type Results,
  readStored,
  type ScenarioResult,
  summarize,
  versionsOf,
  writeResults,
} from "./support/results-store";
import { Sampler, type SideSamples } from "./support/sampler";
import type { Budget, Row, Scenario } from "./support/scenario";

/**
 * Compilers are at work for most of the first second: after 0.2 s of it, 100 callers did 827,000 commands a second and
 * 1,000 in flight cost 0.82 µs each, after one second 941,000 and 0.66. Bun compiles later still: 200 handlers cost it 5
 * to 17 µs a command in the first half of a second, and 1.1 after it.
 */
const FULL: Budget = { warmMs: 1000, measureMs: 300, latencyMs: 100 };
const QUICK: Budget = { warmMs: 150, measureMs: 250, latencyMs: 100 };
const FULL_ROUNDS = 3;

const HELP = `npm run bench -- [options]

  --quick              one short round, long rows left out, nothing stored
  --only=a,b           scenarios or rows whose id contains one of the words
  --sides=a,b          ${SIDE_NAMES.join(", ")}
  --before=<folder>    another build of sluice (its "built" folder) as the side "before"
  --runtime=<path,...> the core rows on other executables (node, bun), stored beside the other results
  --rounds=<n>         most samples of each cell (default ${FULL_ROUNDS}); curves, counts and long rows have fewer
  --store, --no-store  keep the results (default: full runs with all sides are kept)
  --page               write all pages and pictures from the stored results, measure nothing
  --list               ids of scenarios and rows
`;

interface Choices {
  readonly isQuick: boolean;
  readonly words: readonly string[];
  readonly sides: readonly SideName[];
  readonly rounds: number;
  readonly isStored: boolean;
}

interface Planned {
  readonly scenario: Scenario;
  readonly rows: readonly Row[];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    allowNegative: true,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      sides: { type: "string" },
      before: { type: "string" },
      runtime: { type: "string" },
      rounds: { type: "string" },
      store: { type: "boolean" },
      page: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(HELP);
  if (values.list) return printList();
  if (values.page) return writePages(stored());
  if (values.before !== undefined) process.env.BENCH_BEFORE = path.resolve(values.before);
  const choices = choose(values);
  const runtimes = words(values.runtime);
  const fresh =
    runtimes.length > 0 ? await measureRuntimes(runtimes, choices) : await measureAll(plan(choices), choices);
  printEnd(fresh);
  if (!choices.isStored) return;
  writeResults(merge(readStored(), fresh));
  // As they were stored, with four digits: `--page` then writes the same page.
  writePages(stored());
}

function choose(values: Record<string, string | boolean | undefined>): Choices {
  const isQuick = values.quick === true;
  const named = words(values.sides);
  const unknown = named.find((name) => !isSideName(name));
  if (unknown !== undefined) throw new Error(`no side named ${unknown}; there are ${SIDE_NAMES.join(", ")}`);
  const all = SIDE_NAMES.filter((side) => side !== "before" || values.before !== undefined);
  const isWhole = !isQuick && named.length === 0;
  return {
    isQuick,
    words: words(values.only),
    sides: named.length > 0 ? named.filter(isSideName) : all,
    rounds: Number(values.rounds ?? (isQuick ? 1 : FULL_ROUNDS)),
    isStored: typeof values.store === "boolean" ? values.store : isWhole,
  };
}

function words(text: string | boolean | undefined): string[] {
  return typeof text === "string" ? text.split(",").filter((word) => word !== "") : [];
}

/** A word in a scenario's id takes all its rows; otherwise rows are chosen one by one. A whole id means only itself. */
function plan(choices: Choices): Planned[] {
  const ids = new Set(scenarios.flatMap((scenario) => [scenario.id, ...scenario.rows.map((row) => row.id)]));
  const isNamed = (id: string): boolean =>
    choices.words.some((word) => (ids.has(word) ? id === word : id.includes(word)));
  const planned: Planned[] = [];
  for (const scenario of scenarios) {
    const isWhole = choices.words.length === 0 || isNamed(scenario.id);
    const rows = scenario.rows
      .filter((row) => isWhole || isNamed(row.id))
      .filter((row) => !choices.isQuick || row.isLong !== true)
      .filter((row) => row.sides.some((side) => choices.sides.includes(side)));
    if (rows.length > 0) planned.push({ scenario, rows });
  }
  if (planned.length === 0) throw new Error("nothing to measure; --list shows what there is");
  return planned;
}

async function measureAll(planned: readonly Planned[], choices: Choices): Promise<Results> {
  const pinning = findPinning();
  const servers = await BenchServers.find(pinning?.serverCpu);
  const sampler = new Sampler({
    servers,
    pinning,
    rounds: choices.rounds,
    budget: choices.isQuick ? QUICK : FULL,
    isPlanned: (side) => choices.sides.includes(side),
  });
  const results: Results = { scenarios: {} };
  try {
    for (const { scenario, rows } of planned) {
      const rounds = Math.min(choices.rounds, scenario.rounds ?? choices.rounds);
      const result = startResult({ ...choices, rounds }, pinning, servers);
      print(`\n${scenario.title}`);
      scenario.before?.();
      const startMs = performance.now();
      for (const group of comparedRows(scenario, rows)) {
        progress(`  ${group.map(({ title }) => title).join("; ")} ...`);
        const samples = await sampler.sampleRows(scenario, group);
        const compared = scenario.comparedBy === undefined ? [] : scenario.columns;
        for (const [index, { id, title }] of group.entries()) {
          result.rows[id] = summarize(samples[index] as Map<SideName, SideSamples>, title, compared);
        }
      }
      progress("");
      const tookSeconds = Math.round((performance.now() - startMs) / 1000);
      const { title } = scenario;
      const versions = { ...result.versions, ...scenario.versions?.() };
      printScenario(scenario, { ...result, title });
      print(`  ${tookSeconds} s`);
      results.scenarios[scenario.id] = { ...result, title, versions, tookSeconds };
    }
  } finally {
    await servers.stop();
  }
  return results;
}

/** The rows in groups that take turns. */
function comparedRows({ comparedBy }: Scenario, rows: readonly Row[]): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = comparedBy?.(row) ?? row.id;
    const group = groups.get(key) ?? [];
    group.push(row);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Each executable measures the core rows; the servers stay the same. */
async function measureRuntimes(executables: readonly string[], choices: Choices): Promise<Results> {
  const pinning = findPinning();
  const servers = await BenchServers.find(pinning?.serverCpu);
  const rounds = Math.min(choices.rounds, RUNTIME_ROUNDS);
  const sides = RUNTIME_SIDES.filter((side) => choices.sides.includes(side));
  const runtimes: Record<string, ScenarioResult> = {};
  try {
    for (const executable of executables) {
      const title = nameOfRuntime(executable);
      const budget = choices.isQuick ? QUICK : FULL;
      const isPlanned = (side: SideName): boolean => sides.includes(side);
      const sampler = new Sampler({ servers, pinning, rounds, budget, isPlanned, runtime: executable });
      const result = startResult({ ...choices, rounds, sides }, pinning, servers);
      for (const { scenario, row } of runtimePlan(choices.words)) {
        const [samples] = await sampler.sampleRows(scenario, [row]);
        result.rows[row.id] = summarize(samples as Map<SideName, SideSamples>, row.title);
      }
      runtimes[title] = { ...result, title };
    }
  } finally {
    await servers.stop();
  }
  const results: Results = { scenarios: {}, runtimes };
  print(terminalTable(runtimesTable(results)));
  return results;
}

function startResult(choices: Choices, pinning: Pinning | undefined, servers: BenchServers): ScenarioResult {
  return {
    title: "",
    measuredAt: new Date().toISOString(),
    machine: describeMachine(),
    rounds: choices.rounds,
    measureMs: (choices.isQuick ? QUICK : FULL).measureMs,
    isPinned: pinning !== undefined,
    loadBefore: os.loadavg()[0] ?? 0,
    server: servers.description,
    versions: versionsOf(choices.sides),
    rows: {},
  };
}

function printScenario(scenario: Scenario, result: ScenarioResult): void {
  if (hasOverview(scenario)) {
    print(terminalTable(overviewTable(result)));
    if (sidesIn(result).includes(REFERENCE_SIDE)) print(`\n${terminalTable(ratioTable(result))}`);
  } else {
    print(terminalTable(detailTable(scenario, result)));
  }
  for (const row of Object.values(result.rows)) {
    for (const [side, { failure }] of Object.entries(row.sides)) {
      if (failure !== undefined) print(`  ${row.title}, ${side}: ${failure}`);
    }
  }
}

function printEnd(fresh: Results): void {
  const seconds = Object.values(fresh.scenarios).map(({ tookSeconds = 0 }) => tookSeconds);
  print(`\n${Math.round(seconds.reduce((sum, one) => sum + one, 0) / 60)} minutes in all`);
  const goals = goalTable(fresh);
  if (goals.body.length > 0) print(`\nGoals\n${terminalTable(goals)}`);
  const old = readStored();
  if (old === undefined) return;
  const changes = comparisonTable(old, fresh);
  print(
    changes.body.length === 0
      ? "\nNo change beyond noise."
      : `\nAgainst the stored results\n${terminalTable(changes)}`,
  );
}

function printList(): void {
  for (const scenario of scenarios) {
    print(`${scenario.id.padEnd(24)}${scenario.title}`);
    for (const row of scenario.rows) print(`  ${row.id.padEnd(22)}${row.title}`);
  }
}

function stored(): Results {
  const results = readStored();
  if (results === undefined) throw new Error("no results are stored yet");
  return results;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A line that the next one replaces; printed only to a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
