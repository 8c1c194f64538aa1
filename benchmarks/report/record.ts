/**
 * Writes benchmarks/README.md from stored results: every row, the goals, the missed goals, and the method. It
 * is the record for developers; docs/benchmarks.md is the page for users. This file contains the text about
 * the method; the figures come from the stored results.
 */

import fs from "node:fs";
import path from "node:path";
import { scenarios } from "../scenario/all-scenarios";
import { overlap } from "../scenario/overlap";
import { REFERENCE_SIDE } from "../sides/all-sides";
import { projectRoot } from "../support/project";
import type { Machine, Results, ScenarioResult } from "../support/results-store";
import type { Scenario } from "../support/scenario";
import { pictureOf } from "./chart";
import { writeCurves } from "./curves";
import { gainTable, garbageTable, systemCallTable } from "./extra-tables";
import { markdownTable, type Table } from "./format";
import { goalTable, limitTable } from "./goal-report";
import { GRID_MAPS, lostCells, writeGridMaps } from "./grid";
import { missedSection } from "./missed";
import { runtimesTable } from "./runtimes";
import { detailTable, hasOverview, overviewTable, ratioTable, sidesIn } from "./tables";

const PAGE = path.join(projectRoot, "benchmarks", "README.md");
const IMAGES = "../docs/images";

export async function writeRecord(results: Results): Promise<void> {
  const sections: string[] = [];
  for (const scenario of scenarios) {
    const result = results.scenarios[scenario.id];
    if (result !== undefined) sections.push(await scenarioSection(scenario, result));
  }
  const parts = [
    INTRODUCTION,
    machineSection(results),
    section(
      "What batching gains",
      "The ratio of commands per second between two ways to issue them.",
      gainTable(results),
    ),
    ...goalSections(results),
    missedSection(results),
    ...sections,
    section("Other runtimes", RUNTIMES, runtimesTable(results)),
    section(
      "Socket writes and reads per 1,000 commands",
      "Client writes / client reads / server reads / server writes. The first two are `write` and `read` system calls as Linux counts them, the others counters of the server. The native part of glide uses other calls, so its first two values are missing.",
      systemCallTable(results),
    ),
    section(
      "Garbage collection",
      "Share of the measured time in which the collector held the main thread, and its longest pause.",
      garbageTable(results),
    ),
    METHOD,
  ];
  fs.writeFileSync(PAGE, `${parts.filter((part) => part !== "").join("\n\n")}\n`);
}

export function machineSection({ scenarios: measured }: Results): string {
  const all = Object.values(measured);
  const versions = Object.assign({}, ...all.map((result) => result.versions)) as Record<string, string>;
  const servers = [...new Set(all.map(({ server }) => server))].join(", ");
  const days = [...new Set(all.map(({ measuredAt }) => measuredAt.slice(0, 10)))].sort().join(", ");
  const packages = Object.entries(versions).map(([name, version]) => `\`${name} ${version}\``);
  return [
    "## Test environment",
    "",
    ...machineLines(measured),
    `- ${servers}`,
    `- ${packages.join(", ")}`,
    `- Measured on ${days}`,
  ].join("\n");
}

/** One line for each machine. With several, each but the most used one has the scenarios that were measured on it. */
function machineLines(measured: Results["scenarios"]): string[] {
  const ids = new Map<string, string[]>();
  for (const [id, { machine }] of Object.entries(measured)) {
    const text = machineText(machine);
    ids.set(text, [...(ids.get(text) ?? []), `\`${id}\``]);
  }
  const [most, ...others] = [...ids].sort(([, one], [, other]) => other.length - one.length);
  return [
    ...(most === undefined ? [] : [`- ${most[0]}`]),
    ...others.map(([text, these]) => `- ${text}: ${these.join(", ")}`),
  ];
}

function machineText({ processor, cpus, memoryGiB, system, node }: Machine): string {
  return `${processor}, ${cpus} CPUs, ${memoryGiB} GiB, ${system}, Node ${node}`;
}

function goalSections(results: Results): string[] {
  const goals = goalTable(results);
  if (goals.body.length === 0) return [];
  return [
    section(
      "Goals",
      "Ratios to ioredis in the same run, and to other clients where they are faster. Then absolute goals, and ratios to the best other client or to another row.",
      goals,
    ),
    section(
      "Distance to the limit",
      "CPU per command, compared with the bare socket with one promise and one decoded value per command.",
      limitTable(results),
    ),
  ];
}

function section(title: string, text: string, table: Table): string {
  return table.body.length === 0 ? "" : `## ${title}\n\n${text}\n\n${markdownTable(table)}`;
}

async function scenarioSection(scenario: Scenario, result: ScenarioResult): Promise<string> {
  const parts = [`## ${scenario.title}`, scenario.about];
  if (hasOverview(scenario)) {
    parts.push(markdownTable(overviewTable(result)));
    if (sidesIn(result).includes(REFERENCE_SIDE)) parts.push(markdownTable(ratioTable(result)));
  }
  for (const plot of scenario.plots ?? []) {
    if (await writeCurves(scenario, plot, result)) parts.push(pictureOf(plot.file, plot.title, IMAGES));
  }
  if (scenario.id === overlap.id) parts.push(...(await gridParts({ scenarios: { [scenario.id]: result } })));
  const details = markdownTable(detailTable(scenario, result));
  const isWide = hasOverview(scenario) || scenario.id === overlap.id;
  parts.push(isWide ? `<details><summary>All columns</summary>\n\n${details}\n\n</details>` : details);
  parts.push(conditions(result));
  return parts.join("\n\n");
}

async function gridParts(results: Results): Promise<string[]> {
  await writeGridMaps(results);
  const lost = lostCells(results);
  return [
    ...GRID_MAPS.map(({ file, title }) => pictureOf(file, title, IMAGES)),
    "Cells that miss their goal, with the number of callers and the ratio. Each cell is one sample, so close cells can change in the next run.",
    lost.body.length === 0 ? "None." : markdownTable(lost),
  ];
}

function conditions(result: ScenarioResult): string {
  const pinned = result.isPinned ? "client and server pinned to one CPU each" : "not pinned";
  const took = result.tookSeconds === undefined ? "" : `, measured in ${result.tookSeconds} s`;
  const rounds = result.rounds === 1 ? "1 round" : `${result.rounds} rounds`;
  return `<sub>${result.machine.processor}, ${rounds} of ${result.measureMs} ms a sample, ${pinned}, load average before: ${result.loadBefore.toFixed(1)}${took}</sub>`;
}

const INTRODUCTION = `# The benchmark record

This page has all rows of the benchmarks. \`npm run bench\` writes it; do not edit it by hand. The page for users is
[docs/benchmarks.md](../docs/benchmarks.md). The record compares sluice with other Redis clients for Node.js and with bare
sockets. Each client uses its best API for the task.

| side | description |
| --- | --- |
| sluice | this package |
| ioredis, iovalkey | the same API and the same code as for sluice |
| redis | node-redis with default options |
| redis-nt | node-redis without its default command timeout (\`commandOptions: { timeout: undefined }\`) |
| glide | \`@valkey/valkey-glide\`, explicit pipelines by \`Batch\` |
| raw | requests encoded beforehand, replies only counted: the cost of the socket and the server |
| raw+p | raw with one promise and one decoded value for each command: the minimum of a promise API |

CPU is the time of the whole client process (user and system, all threads) per command, the lowest of all rounds.
Throughput and latency are medians. Compare CPU first, because it depends least on other load of the machine.`;

const RUNTIMES = `CPU µs per command of sluice / ioredis / raw+p, and in brackets sluice to raw+p. Server, workloads and compiled files are
the same; only the runtime of the client differs. A dash is a failed sample. The executables are those of the npm packages
\`node\` and \`bun\`.`;

const METHOD = `## Method

- Every sample is a new process: one side, one workload, one round. Rounds are interleaved, so that a disturbance affects all
  sides.
- Where \`taskset\` exists, servers run on the first CPU and clients on the last.
- A sample connects, checks the replies, warms up, and measures without timing single commands. It then runs again with
  timing, because two clock reads per command would be a large part of the measured time.
- Values and operations are created before the measurement and are the same for every side and round. Each call creates
  its key by a template literal, one call site issues several commands, and some SETs have an expiry, as in services.
  The requests of the bare sockets are encoded beforehand.
- The loops around the clients are the same code for all of them. Their cost is part of every figure, also of raw+p.
- All ratios compare with ioredis in the same run.
- Three rounds where goals are judged (two for iovalkey, glide, node-redis with its timeout, and the bare sockets), one or
  two for curves and the grid, one for constant counts and for batches of 100,000 commands and more.
- node-redis pipelines use \`multi().execAsPipeline()\`, those of glide use \`Batch\` without atomicity. Limits that would reject
  work (glide: 250 ms, 1,000 requests in flight) are disabled.
- Peak RSS is that of the whole process, including the engine, as the operating system counts it.

## Limits

- Loopback has no loss and almost no latency. The section on longer round trips shows the effect of latency.
- On two CPUs, the server is the bottleneck for the fastest sides. Compare CPU per command then.
- glide does most of its work in its own threads. Pinned to one CPU, they share it with the main thread. With more CPUs, its
  throughput is higher and its CPU per command the same. Only RSS includes the memory of its native part.
- Samples of a second or less do not show effects of long runs. Single throughput samples can be far off when other work
  runs on the machine. The line below each table shows the load average.

## Reproducing the results

\`\`\`sh
npm ci
npm run bench                              # everything: about half an hour, stores the results and writes this page
npm run bench -- --quick                   # one short round, stores nothing
npm run bench -- --only=pipeline           # scenarios or rows whose id contains the word
npm run bench -- --sides=sluice,ioredis    # some sides only
npm run bench -- --before=../other/built   # another build of sluice as one more side
npm run bench -- --runtime=/usr/local/bin/bun   # the core rows on another runtime; several paths, with commas
npm run bench -- --list                    # ids of scenarios and rows
npm run bench -- --page                    # writes this page again from the stored results
\`\`\`

Results are stored in \`benchmarks/results/latest.json\`. After each run, the terminal shows the changes compared with the
stored results. Micro-benchmarks of single parts are in \`benchmarks/micro\` and run alone
(\`node build/benchmarks/micro/<name>.js [word in the line]\`). \`npm run bench:counts\` shows the counts that do not depend on
the clock (allocations, socket writes and promises per command). A test checks them.`;
