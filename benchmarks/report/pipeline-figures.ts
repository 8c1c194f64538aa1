/** The figures of pages that are written by hand, from stored results. */

import fs from "node:fs";
import path from "node:path";
import { projectRoot } from "../support/project";
import type { Results } from "../support/results-store";
import { type Column, CPU, OPS } from "../support/scenario";
import { cachedFigures } from "./cached-figures";
import { consumersFigures } from "./consumers-figures";
import { fewerFigures } from "./fewer-figures";
import { flushFigures } from "./flush-figures";
import { formatFigure, markdownTable, pickOf } from "./format";
import { locksFigures } from "./locks-figures";
import { withFigures } from "./marked-place";
import { figureOf } from "./tables";

const DEPTHS = [1, 10, 100, 1000, 10_000];
const METHODS: readonly { readonly id: string; readonly title: string; readonly trips: string }[] = [
  { id: "steps", title: "`GET`, compute, `SET`", trips: "200" },
  { id: "script", title: "a script for each account", trips: "100" },
  { id: "pipelines", title: "a pipeline of `GET`s, then one of `SET`s", trips: "2" },
  { id: "scripts-pipelined", title: "a pipeline of scripts", trips: "1" },
];
const KEYS = 100;
const UPDATES: Pick<Column, "figure" | "pick"> = { figure: "updatesPerSecond", pick: "median" };

export interface FilledPage {
  readonly file: string;
  figures(results: Results): string | null;
}

export const PIPELINE_PAGES: readonly FilledPage[] = [
  { file: path.join(projectRoot, "docs", "pipelining.md"), figures: depthFigures },
  { file: path.join(projectRoot, "docs", "pipelining-or-scripting.md"), figures: methodFigures },
  { file: path.join(projectRoot, "docs", "fewer-commands.md"), figures: fewerFigures },
  { file: path.join(projectRoot, "docs", "caching.md"), figures: cachedFigures },
  { file: path.join(projectRoot, "docs", "locks.md"), figures: locksFigures },
  { file: path.join(projectRoot, "docs", "consumers.md"), figures: consumersFigures },
  { file: path.join(projectRoot, "docs", "decisions", "0014-flush-policy.md"), figures: flushFigures },
];

/** Null while results are missing. */
function depthFigures(results: Results): string | null {
  const rows = results.scenarios["explicit-pipelines"]?.rows;
  const turn = results.scenarios["same-turn"]?.rows["all-1000-default"];
  if (rows === undefined || turn === undefined) return null;
  const body = DEPTHS.map((depth) => {
    const row = rows[`pipeline-${depth}`];
    const cpu = formatFigure(figureOf(row, "sluice", CPU), CPU.digits);
    return [`pipeline of ${depth.toLocaleString("en")}`, formatFigure(figureOf(row, "sluice", OPS), 0), cpu];
  });
  const single = ["1,000 single commands of one turn", formatFigure(figureOf(turn, "sluice", OPS), 0)];
  body.push([...single, formatFigure(figureOf(turn, "sluice", CPU), CPU.digits)]);
  return markdownTable({ head: ["on loopback", "commands a second", "CPU µs per command"], body });
}

/** Null while results are missing. */
function methodFigures(results: Results): string | null {
  const result = results.scenarios["read-compute-write"];
  if (result === undefined) return null;
  const milliseconds = (id: string): string => {
    const updates = pickOf(result.rows[id]?.sides.sluice?.figures[UPDATES.figure], UPDATES.pick);
    return updates === undefined ? "" : formatFigure((KEYS / updates) * 1000, 1);
  };
  const body = METHODS.map(({ id, title, trips }) => [
    title,
    trips,
    milliseconds(`compute-${id}-0`),
    milliseconds(`compute-${id}-1`),
  ]);
  return markdownTable({ head: ["way", "round trips", "loopback", "round trip of 1 ms"], body });
}

export function writePipelinePages(results: Results): void {
  for (const { file, figures } of PIPELINE_PAGES) {
    const text = figures(results);
    if (text !== null) fs.writeFileSync(file, withFigures(fs.readFileSync(file, "utf8"), text));
  }
}
