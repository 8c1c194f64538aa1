/**
 * The tables of docs/auto-pipelining.md and what follows from them, from stored results: what each window of automatic
 * batches gives at each added round trip. They stand between two comments of the page; the rest is written by hand.
 */

import fs from "node:fs";
import path from "node:path";
import { DELAYS_MS, roundTrips } from "../scenario/round-trips";
import { projectRoot } from "../support/project";
import type { Results, ScenarioResult } from "../support/results-store";
import { OPS, P50, P99 } from "../support/scenario";
import { formatFigure, markdownTable, type Table } from "./format";
import { withFigures } from "./marked-place";
import { figureOf } from "./tables";
import { type Window, windowConclusions } from "./window-conclusions";

export const WINDOW_PAGE = path.join(projectRoot, "docs", "auto-pipelining.md");

/** Titles of the columns and the ends of row ids, as in the scenario. */
const WINDOWS: readonly Window[] = [
  { title: "one batch", id: "-auto" },
  { title: "adaptive", id: "-adaptive" },
  { title: "unlimited", id: "-unlimited" },
  { title: "option off", id: "" },
];

/** Null while results are missing. */
export function windowFigures(results: Results): string | null {
  const result = results.scenarios[roundTrips.id];
  if (result === undefined) return null;
  const callers = tableOf(result, "callers", (id) => {
    const row = result.rows[id];
    return [OPS, P50, P99].map((column) => formatFigure(figureOf(row, "sluice", column), 0)).join(" / ");
  });
  const arrivals = tableOf(result, "arrivals", (id) => {
    const row = result.rows[id];
    return [P50, P99].map((column) => formatFigure(figureOf(row, "sluice", column), 0)).join(" / ");
  });
  if (callers === null || arrivals === null) return null;
  return [
    "200 callers that send the next command after each reply: commands a second / median / 99th percentile in µs.",
    markdownTable(callers),
    "5,000 independent commands a second: median / 99th percentile in µs.",
    markdownTable(arrivals),
    runLine(results, result),
    windowConclusions(result, WINDOWS),
  ].join("\n\n");
}

function tableOf(result: ScenarioResult, load: string, cell: (id: string) => string): Table | null {
  const ids = DELAYS_MS.map((delayMs) => WINDOWS.map(({ id }) => `trip-${load}${id}-${delayMs}`));
  if (ids.flat().some((id) => result.rows[id]?.sides.sluice === undefined)) return null;
  const body = ids.map((row, at) => [`${DELAYS_MS[at]} ms`, ...row.map(cell)]);
  return { head: ["added round trip", ...WINDOWS.map(({ title }) => title)], body };
}

function runLine({ machine }: Results, result: ScenarioResult): string {
  const { rounds, measureMs, server, measuredAt, rows } = result;
  const spreads = Object.values(rows).flatMap(({ sides }) => {
    const ops = sides.sluice?.figures[OPS.figure];
    return ops === undefined ? [] : [(ops.most - ops.least) / 2 / ops.median];
  });
  const widest = Math.round(Math.max(...spreads) * 100);
  const isOne = rounds === 1;
  const line =
    `The run of ${measuredAt.slice(0, 16).replace("T", " ")} UTC: ${isOne ? "one round" : `medians of ${rounds} rounds`} ` +
    `of ${measureMs} ms, ${server}, Node ${machine.node}, ${machine.cpus} CPUs.`;
  return isOne
    ? `${line} With one round, small differences are not significant.`
    : `${line} Rounds of a row differ by up to ±${widest} % in commands a second.`;
}

export function writeWindowPage(results: Results): void {
  const figures = windowFigures(results);
  if (figures !== null)
    fs.writeFileSync(WINDOW_PAGE, withFigures(fs.readFileSync(WINDOW_PAGE, "utf8"), figures));
}
