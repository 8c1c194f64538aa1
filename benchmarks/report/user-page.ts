/**
 * Writes docs/benchmarks.md, the page for users: five pictures, one table, and how to reproduce them. The
 * text does not repeat any figures, so that no sentence can contradict them.
 */

import fs from "node:fs";
import path from "node:path";
import { scenarios } from "../scenario/all-scenarios";
import { connections } from "../scenario/connections";
import type { SideName } from "../sides/all-sides";
import { projectRoot } from "../support/project";
import type { Results, RowResult } from "../support/results-store";
import { CPU, OPS, P99 } from "../support/scenario";
import { pictureOf, SIDE_TITLES } from "./chart";
import { formatFigure, markdownTable, type Table } from "./format";
import { HEADLINE, HEADLINE_TITLE, writeHeadline } from "./headline";
import { machineSection } from "./record";
import { figureOf } from "./tables";

const PAGE = path.join(projectRoot, "docs", "benchmarks.md");

/** Pictures besides the headline, each with what it shows and the words that measure it again. */
const PICTURES: readonly { readonly file: string; readonly about: string; readonly only: string }[] = [
  {
    file: "throughput-by-depth",
    about:
      "One connection sends one explicit pipeline after another. Throughput rises with the number of commands in a write.",
    only: "pipeline",
  },
  {
    file: "throughput-by-round-trip",
    about:
      "A proxy adds the round trip. Each of 200 callers sends its next command when the previous reply has arrived.",
    only: "round-trips",
  },
  {
    file: "cpu-by-value-size",
    about:
      "SET and GET alternate, with at most 1,000 commands in a turn. With large values, every client pays for the copy.",
    only: "growth",
  },
  {
    file: "memory-by-depth",
    about:
      "The chart shows the peak memory of the process while it builds and sends one pipeline and receives its replies.",
    only: "pipeline",
  },
];

const ROWS: readonly string[] = [
  "app-http-100",
  "app-http-cached",
  "sequential-get",
  "flight-50-16",
  "flight-1000-16",
  "all-1000-default",
  "all-1000-auto",
  "handlers-200-default",
  "pipeline-10",
  "pipeline-100",
  "pipeline-1000",
  "pipeline-10000",
  "get-mib-buffer",
  "lrange-10k",
  "cluster-all-default",
];
const SIDES: readonly SideName[] = ["sluice", "ioredis", "iovalkey", "redis", "redis-nt", "glide"];

export async function writeUserPage(results: Results): Promise<void> {
  const hasHeadline = await writeHeadline(results);
  const parts = [
    INTRODUCTION,
    hasHeadline ? pictureOf(HEADLINE, HEADLINE_TITLE) : "",
    ...PICTURES.map((picture) => pictureSection(picture)),
    `## All clients, row by row\n\n${ABOUT_TABLE}\n\n${markdownTable(userTable(results))}`,
    connectionSection(results),
    machineSection(results),
    REPRODUCE,
  ];
  fs.writeFileSync(PAGE, `${parts.filter((part) => part !== "").join("\n\n")}\n`);
}

function pictureSection({ file, about, only }: (typeof PICTURES)[number]): string {
  const plot = scenarios.flatMap(({ plots = [] }) => plots).find((one) => one.file === file);
  if (plot === undefined) throw new Error(`no scenario draws ${file}`);
  const again = `To reproduce it, run \`npm run bench -- --only=${only}\`.`;
  return `## ${plot.title}\n\n${pictureOf(file, plot.title)}\n\n${about} ${again}`;
}

/** CPU, throughput and 99th percentile, a row a workload and a column a client. */
export function userTable({ scenarios: measured }: Results): Table {
  const rows = new Map<string, RowResult>(
    Object.values(measured).flatMap((result) => Object.entries(result.rows)),
  );
  const body = ROWS.flatMap((id) => {
    const row = rows.get(id);
    return row === undefined
      ? []
      : [
          [
            id.startsWith("cluster-") ? `${row.title}, on a cluster` : row.title,
            ...SIDES.map((side) => cellOf(row, side)),
          ],
        ];
  });
  return { head: ["CPU µs / commands a second / p99 µs", ...SIDES.map((side) => SIDE_TITLES[side])], body };
}

function connectionSection(results: Results): string {
  const result = results.scenarios[connections.id];
  if (result === undefined) return "";
  const sides = SIDES.filter((side) => connections.rows.some((row) => row.sides.includes(side)));
  const body = connections.rows.flatMap(({ id, title }) =>
    connections.columns.flatMap((column) => {
      const cells = sides.map((side) => figureOf(result.rows[id], side, column));
      if (cells.every((value) => value === undefined)) return [];
      return [[`${title}: ${column.title}`, ...cells.map((value) => formatFigure(value, column.digits))]];
    }),
  );
  const table = markdownTable({ head: ["", ...sides.map((side) => SIDE_TITLES[side])], body });
  return `## ${connections.title}\n\n${table}\n\n${connections.about} To reproduce it, run \`npm run bench -- --only=${connections.id}\`.`;
}

function cellOf(row: RowResult, side: SideName): string {
  if (row.sides[side] === undefined) return "–";
  return [
    formatFigure(figureOf(row, side, CPU), 2),
    formatFigure(figureOf(row, side, OPS), 0),
    formatFigure(figureOf(row, side, P99), 0),
  ].join(" / ");
}

const INTRODUCTION = `# Benchmarks

These results compare sluice with other Redis clients for Node.js. Each client uses its best API for the task, and the clients
of a row run in the same session. Compare CPU first: it depends least on other load of the machine.
[The record](../benchmarks/README.md) has all rows, the method, and the missed goals. [Caching](caching.md#cost) and
[merged commands](fewer-commands.md#results) have their own tables.`;

const ABOUT_TABLE = `Each cell has three values. The first is client CPU per command: user and system time of all threads, lowest round. The others
are commands per second and the 99th percentile of the latency, both medians. Latency is the time of one command, turn, batch or HTTP request. HTTP rows
count whole requests, with all work of the service. node-redis has a command timeout by default; "no timeout" disables it.`;

const REPRODUCE = `## Reproducing the results

\`\`\`sh
npm ci
npm run bench -- --quick                   # one short round of everything, without storing results
npm run bench                              # everything: about half an hour, writes this page
npm run bench -- --only=pipeline           # scenarios or rows whose id contains the word
npm run bench -- --sides=sluice,ioredis    # some clients only
\`\`\`

The loopback interface has no packet loss and almost no latency; the chart by round trip shows the effect of latency. On two
CPUs, the server is often the bottleneck for the fastest clients, so compare CPU per command.`;
