/**
 * Writes benchmarks/README.md from stored results: every row, the goals, what is missed and why, and the method. It is
 * the record for developers; docs/benchmarks.md is the page for users. Prose that explains the method lives here,
 * figures come from the file.
 */

import fs from "node:fs";
import path from "node:path";
import { scenarios } from "../scenario/all-scenarios";
import { overlap } from "../scenario/overlap";
import { REFERENCE_SIDE } from "../sides/all-sides";
import { projectRoot } from "../support/project";
import type { Results, ScenarioResult } from "../support/results-store";
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
    if (result !== undefined) sections.push(await scenarioSection(scenario, result, results));
  }
  const parts = [
    INTRODUCTION,
    machineSection(results),
    section(
      "What batching gains",
      "How many times as many commands a second one way of issuing them gives as another.",
      gainTable(results),
    ),
    ...goalSections(results),
    missedSection(results),
    ...sections,
    section("Other runtimes", RUNTIMES, runtimesTable(results)),
    section(
      "Socket writes and reads per 1,000 commands",
      "Client writes / client reads / server reads / server writes. The client's are its `write` and `read` system calls as Linux counts them, the server's its own counters; glide's native half uses other calls, so only the server's view is shown for it.",
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

export function machineSection({ machine, scenarios: measured }: Results): string {
  const all = Object.values(measured);
  const versions = Object.assign({}, ...all.map((result) => result.versions)) as Record<string, string>;
  const servers = [...new Set(all.map(({ server }) => server))].join(", ");
  const days = [...new Set(all.map(({ measuredAt }) => measuredAt.slice(0, 10)))].sort().join(", ");
  const packages = Object.entries(versions).map(([name, version]) => `\`${name} ${version}\``);
  return [
    "## Test environment",
    "",
    `- ${machine.processor}, ${machine.cpus} CPUs, ${machine.memoryGiB} GiB, ${machine.system}, Node ${machine.node}, ${servers}`,
    `- ${packages.join(", ")}`,
    `- Measured on ${days}`,
  ].join("\n");
}

function goalSections(results: Results): string[] {
  const goals = goalTable(results);
  if (goals.body.length === 0) return [];
  return [
    section(
      "Goals",
      "Ratios to ioredis in the same run, and to other peers where they are the stronger rival; then goals that are figures of their own, or ratios to the best peer or to another row.",
      goals,
    ),
    section(
      "Distance to the limit",
      "CPU per command beside that of the bare socket with one promise and one decoded value per command.",
      limitTable(results),
    ),
  ];
}

function section(title: string, text: string, table: Table): string {
  return table.body.length === 0 ? "" : `## ${title}\n\n${text}\n\n${markdownTable(table)}`;
}

async function scenarioSection(
  scenario: Scenario,
  result: ScenarioResult,
  { machine }: Results,
): Promise<string> {
  const parts = [`## ${scenario.title}`, scenario.about];
  if (hasOverview(scenario)) {
    parts.push(markdownTable(overviewTable(result)));
    if (sidesIn(result).includes(REFERENCE_SIDE)) parts.push(markdownTable(ratioTable(result)));
  }
  for (const plot of scenario.plots ?? []) {
    if (await writeCurves(scenario, plot, { machine, result }))
      parts.push(pictureOf(plot.file, plot.title, IMAGES));
  }
  if (scenario.id === overlap.id)
    parts.push(...(await gridParts({ machine, scenarios: { [scenario.id]: result } })));
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
    "Cells that miss their goal, with the number of callers and the ratio. One sample each: where a cell is close, the next run may say otherwise.",
    lost.body.length === 0 ? "None." : markdownTable(lost),
  ];
}

function conditions(result: ScenarioResult): string {
  const pinned = result.isPinned ? "client and server pinned to one CPU each" : "not pinned";
  const took = result.tookSeconds === undefined ? "" : `, measured in ${result.tookSeconds} s`;
  const rounds = result.rounds === 1 ? "1 round" : `${result.rounds} rounds`;
  return `<sub>${rounds} of ${result.measureMs} ms a sample, ${pinned}, load average before: ${result.loadBefore.toFixed(1)}${took}</sub>`;
}

const INTRODUCTION = `# The benchmark record

The page for users is [docs/benchmarks.md](../docs/benchmarks.md). This one holds every row and is written by \`npm run bench\`; do not edit it by hand. It compares sluice with the other Redis clients for
Node, each used in its best way for the task at hand, and with bare sockets:

| side | what it is |
| --- | --- |
| sluice | this package |
| ioredis, iovalkey | same API, same code as for sluice |
| redis | node-redis as it comes |
| redis-nt | node-redis with its default command timeout switched off (\`commandOptions: { timeout: undefined }\`) |
| glide | \`@valkey/valkey-glide\`, explicit pipelines by \`Batch\` |
| raw | encoded beforehand, replies only counted: what the socket and the server cost |
| raw+p | the same with one promise and one decoded value per command: the least a promise API can cost |

CPU is the time of the whole client process (user and system, all threads) per command, the least of all rounds;
throughput and latency are medians. Judge by CPU first: it says how much of a core your service gives to its Redis
client, and it hardly depends on what else the machine does.`;

const RUNTIMES = `CPU µs per command of sluice / of ioredis / of raw+p, and in brackets sluice to raw+p. The server, the loads and the
compiled files are the same; only the executable that runs the client differs. A dash is a sample that failed. The
executables came from the npm packages \`node\` and \`bun\`.`;

const METHOD = `## Method

- Every sample is a fresh process: one side, one workload, one round. Rounds are interleaved, so that a disturbance hits
  all sides alike.
- Where \`taskset\` exists, servers run on the first CPU and clients on the last.
- A sample connects, checks that the replies are right, warms up, measures without a stop-watch on single commands,
  and then runs once more with one: two looks at the clock per command would be a good part of what is measured.
- Values and operations are made before the measurement and are the same for every side and round. Keys are made by a
  template literal at every call, one call site issues several commands, and some SETs have an expiry, as in services.
  The bare sockets have their requests encoded beforehand.
- The loops around the clients are the same code for all of them; what they cost themselves is in every figure,
  in that of raw+p too.
- The reference of all ratios is ioredis in the same run.
- Three rounds where goals are judged (two for iovalkey, glide, node-redis with its timeout and the bare sockets), one or
  two for curves and the grid, one for counts that do not vary and for batches of 100,000 commands and more.
- node-redis pipelines use \`multi().execAsPipeline()\`, glide's use \`Batch\` without atomicity. Limits that would refuse
  work (glide: 250 ms, 1,000 requests in flight) are lifted.
- Peak RSS is that of the whole process, engine included, as the operating system counts it.

## Limits

- Loopback has no loss and almost no latency; see the section on longer round trips for what a real line does.
- On two CPUs the server is the bottleneck for the fastest sides: throughput then says little about the client,
  CPU per command still does.
- glide does most of its work in threads of its own. Pinned to one CPU they share it with the main thread; with free
  CPUs its throughput is higher and its CPU per command the same. Memory of its native half is in the RSS only.
- Samples of a second or less do not show what happens after hours. Single throughput samples can be far off when other work
  runs on the machine; the line below each table says how busy it was.

## Reproduce

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

Results are stored in \`benchmarks/results/latest.json\`. After each run the terminal shows what changed against the
stored ones. Micro-benchmarks of single parts are in \`benchmarks/micro\` and run alone
(\`node build/benchmarks/micro/<name>.js [word in the line]\`). What does not depend on the clock (allocations, socket
writes and promises per command) is guarded by a test: \`npm run bench:counts\` shows those counts.`;
