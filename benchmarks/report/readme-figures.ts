/**
 * Writes the table of README.md from stored results, between comments of the page. Everything else on the page is
 * written by hand.
 */

import fs from "node:fs";
import path from "node:path";
import type { SideName } from "../sides/all-sides";
import { projectRoot } from "../support/project";
import type { Results, RowResult } from "../support/results-store";
import { type Column, CPU, OPS, P50 } from "../support/scenario";
import { formatFigure, markdownTable } from "./format";
import { withFigures } from "./marked-place";
import { figureOf } from "./tables";

const PAGE = path.join(projectRoot, "README.md");

interface Line {
  readonly row: string;
  readonly title: string;
  readonly column: Column;
  /** The figure of the same service without any client. */
  readonly floor?: string;
}

const LINES: readonly Line[] = [
  { row: "web-http", title: "Web service: requests a second", column: OPS, floor: "floorOpsPerSecond" },
  { row: "web-http", title: "Web service: CPU µs for each request", column: CPU, floor: "floorMicros" },
  { row: "web-http-1ms", title: "The same, Redis 1 ms away: requests a second", column: OPS },
  { row: "handlers-200-default", title: "200 request handlers: median µs of one command", column: P50 },
  { row: "pipeline-1000", title: "Pipeline of 1,000: CPU µs for each command", column: CPU },
];
/** Each client with its default options, but node-redis without the timeout that it sets for each command by default. */
const SIDES: readonly { side: SideName; title: string; package: string }[] = [
  { side: "sluice", title: "sluice", package: "sluice" },
  { side: "ioredis", title: "ioredis", package: "ioredis" },
  { side: "iovalkey", title: "iovalkey", package: "iovalkey" },
  { side: "redis-nt", title: "node-redis", package: "redis" },
];

/** Null while results of a row are missing. */
export function readmeFigures(results: Results): string | null {
  const scenarios = Object.values(results.scenarios);
  const versions = Object.assign({}, ...scenarios.map((result) => result.versions)) as Record<string, string>;
  const measured = rowsOf(results);
  if (LINES.some(({ row }) => !measured.has(row))) return null;
  const head = SIDES.map((one) => `${one.title} ${versions[one.package] ?? ""}`.trim());
  const body = LINES.map(({ row, title, column, floor }) => [
    title,
    ...SIDES.map(({ side }) => formatFigure(figureOf(measured.get(row), side, column), column.digits)),
    floor === undefined
      ? "–"
      : formatFigure(figureOf(measured.get(row), "sluice", { ...column, figure: floor }), column.digits),
    `\`${row}\``,
  ]);
  return markdownTable({ head: ["workload", ...head, "without Redis", "`--only=`"], body });
}

function rowsOf(results: Results): Map<string, RowResult> {
  return new Map(Object.values(results.scenarios).flatMap(({ rows }) => Object.entries(rows)));
}

/** The page with the figures of these results, as far as they are there. */
export function readmeWith(page: string, results: Results): string {
  const figures = readmeFigures(results);
  return figures === null ? page : withFigures(page, figures);
}

/** The pages that show the table. */
export const README_PAGES = [PAGE, path.join(projectRoot, "docs", "comparison.md")];

/** The first page of the site, which has the requests a second in one sentence. */
export const LANDING = path.join(projectRoot, "site", "landing.md");
const LANDING_SENTENCE = /In our benchmark, a web service .*/;

/** The landing page with the figures of these results, as far as they are there. */
export function landingWith(page: string, results: Results): string {
  const row = rowsOf(results).get("web-http");
  if (row === undefined) return page;
  const [own, ioredis, , nodeRedis] = SIDES.map(({ side }) =>
    formatFigure(figureOf(row, side, OPS), OPS.digits),
  );
  const sentence = `In our benchmark, a web service serves ${own} requests a second with sluice, ${ioredis} with ioredis and ${nodeRedis} with node-redis.`;
  return page.replace(LANDING_SENTENCE, sentence);
}

export function writeReadme(results: Results): void {
  for (const page of README_PAGES) fs.writeFileSync(page, readmeWith(fs.readFileSync(page, "utf8"), results));
  fs.writeFileSync(LANDING, landingWith(fs.readFileSync(LANDING, "utf8"), results));
}
