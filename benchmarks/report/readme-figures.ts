/**
 * The figures of README.md, from stored results: what a service feels, client by client, and which way of sending suits
 * which load. They stand between comments of the page; everything else there is written by hand.
 */

import fs from "node:fs";
import path from "node:path";
import type { SideName } from "../sides/all-sides";
import { projectRoot } from "../support/project";
import type { Results, RowResult } from "../support/results-store";
import { type Column, CPU, OPS, P99, RSS } from "../support/scenario";
import { formatFigure, markdownTable } from "./format";
import { withFigures } from "./marked-place";
import { figureOf } from "./tables";
import { EQUAL } from "./window-conclusions";

const PAGE = path.join(projectRoot, "README.md");

interface Felt {
  readonly row: string;
  readonly title: string;
  readonly column: Column;
}

const FELT: readonly Felt[] = [
  {
    row: "app-http-100",
    title: "CPU of four commands in an HTTP request, µs",
    column: { figure: "aboveFloorMicros", title: "", digits: 1, pick: "least" },
  },
  { row: "all-1000-default", title: "commands a second, 1,000 issued in one turn", column: OPS },
  { row: "handlers-200-default", title: "99th percentile, 200 request handlers, µs", column: P99 },
];
const SIDES: readonly { side: SideName; title: string; package: string }[] = [
  { side: "sluice", title: "sluice", package: "sluice" },
  { side: "ioredis", title: "ioredis", package: "ioredis" },
  { side: "redis", title: "node-redis", package: "redis" },
  { side: "redis-nt", title: "node-redis, no timeout", package: "" },
  { side: "glide", title: "valkey-glide", package: "@valkey/valkey-glide" },
];

/** Null while results of a row are missing. */
export function readmeFigures(results: Results): string | null {
  const scenarios = Object.values(results.scenarios);
  const versions = Object.assign({}, ...scenarios.map((result) => result.versions)) as Record<string, string>;
  const measured = rowsOf(results);
  if (FELT.some(({ row }) => !measured.has(row))) return null;
  const head = SIDES.map((one) => `${one.title} ${versions[one.package] ?? ""}`.trim());
  const body = FELT.map(({ row, title, column }) => [
    title,
    ...SIDES.map(({ side }) => formatFigure(figureOf(measured.get(row), side, column), column.digits)),
    `\`--only=${row}\``,
  ]);
  return markdownTable({ head: ["what a service feels", ...head, "measured by"], body });
}

/** Null while results of a row are missing. */
export function wayFigures(results: Results): string | null {
  const measured = rowsOf(results);
  const figure = (row: string, column: Column): number =>
    figureOf(measured.get(row), "sluice", column) ?? Number.NaN;
  const cell = (row: string, column: Column): string =>
    formatFigure(figure(row, column), column.digits).replace("NaN", "");
  const auto = figure("trip-callers-auto-1", OPS) / figure("trip-callers-1", OPS);
  if (Number.isNaN(auto) || !measured.has("million-bulk") || !measured.has("pipeline-1000")) return null;
  const body = [
    [
      "requests that come by themselves, a few commands each",
      "the default: nothing to do",
      `${cell("handlers-200-default", OPS)} commands a second, with auto-pipelining ${cell("handlers-200-auto", OPS)}`,
      "`--only=handlers-200`",
    ],
    [
      "commands that are known together",
      "`redis.pipeline()`",
      `${cell("pipeline-1000", CPU)} µs of CPU per command at 1,000 together, ${cell("all-1000-default", CPU)} µs as single ones`,
      "`--only=pipeline-1000,all-1000`",
    ],
    [
      "many callers who each wait for a server 1 ms away",
      auto > 1 + EQUAL ? "`enableAutoPipelining: true`" : "the default: the difference is too small to count",
      `${cell("trip-callers-auto-1", OPS)} commands a second with auto-pipelining, ${cell("trip-callers-1", OPS)} without`,
      "`--only=trip-callers`",
    ],
    [
      "more commands than fit into memory",
      "`redis.bulk(source)`",
      `${cell("million-bulk", RSS)} MiB at most for a million commands, ${cell("million-unbounded", RSS)} MiB in one pipeline`,
      "`--only=million`",
    ],
  ];
  const table = markdownTable({ head: ["how commands come", "use", "measured", "by"], body });
  return table.replaceAll("--:", "---");
}

function rowsOf(results: Results): Map<string, RowResult> {
  return new Map(Object.values(results.scenarios).flatMap(({ rows }) => Object.entries(rows)));
}

/** The page with the figures of these results, as far as they are there. */
export function readmeWith(page: string, results: Results): string {
  const felt = readmeFigures(results);
  const ways = wayFigures(results);
  const withFelt = felt === null ? page : withFigures(page, felt);
  return ways === null ? withFelt : withFigures(withFelt, ways, "ways");
}

export function writeReadme(results: Results): void {
  fs.writeFileSync(PAGE, readmeWith(fs.readFileSync(PAGE, "utf8"), results));
}
