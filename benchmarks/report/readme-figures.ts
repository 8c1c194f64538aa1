/**
 * The figures on the first screen of README.md, from stored results: CPU of the client per command for a few
 * workloads. They stand between two comments of the page; everything else there is written by hand.
 */

import fs from "node:fs";
import path from "node:path";
import type { SideName } from "../sides/all-sides";
import { projectRoot } from "../support/project";
import type { Results, RowResult } from "../support/results-store";
import { CPU } from "../support/scenario";
import { formatFigure, markdownTable } from "./format";
import { withFigures } from "./marked-place";
import { figureOf } from "./tables";

const PAGE = path.join(projectRoot, "README.md");

const ROWS: readonly { id: string; title: string }[] = [
  { id: "pipeline-1000", title: "explicit pipeline of 1,000" },
  { id: "all-1000-default", title: "1,000 random reads in one turn, default options" },
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
  const measured = new Map<string, RowResult>(scenarios.flatMap(({ rows }) => Object.entries(rows)));
  if (ROWS.some(({ id }) => !measured.has(id))) return null;
  const head = SIDES.map((one) => `${one.title} ${versions[one.package] ?? ""}`.trim());
  const body = ROWS.map(({ id, title }) => [
    title,
    ...SIDES.map(({ side }) => formatFigure(figureOf(measured.get(id), side, CPU), 2)),
  ]);
  return markdownTable({ head: ["CPU µs per command", ...head], body });
}

export function writeReadme(results: Results): void {
  const figures = readmeFigures(results);
  if (figures !== null) fs.writeFileSync(PAGE, withFigures(fs.readFileSync(PAGE, "utf8"), figures));
}
