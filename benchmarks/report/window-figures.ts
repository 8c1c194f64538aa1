/**
 * The tables of docs/auto-pipelining.md from stored results: the settings of automatic pipelining beside ioredis, and the
 * cells in which a goal is missed. They stand between two comments of the page; the rest is written by hand.
 */

import fs from "node:fs";
import path from "node:path";
import { automaticBatches, DELAYS_MS, LOADS } from "../scenario/automatic-batches";
import { RATIOS } from "../scenario/round-trips";
import type { SideName } from "../sides/all-sides";
import type { LoopKind } from "../sides/side";
import { projectRoot } from "../support/project";
import type { Results, ScenarioResult, SideResult } from "../support/results-store";
import { type Column, CPU, OPS, P50, P99 } from "../support/scenario";
import { spreadOf } from "../support/statistics";
import { formatFigure, formatRatio, markdownTable } from "./format";
import { withFigures } from "./marked-place";
import { figureOf } from "./tables";

export const WINDOW_PAGE = path.join(projectRoot, "docs", "auto-pipelining.md");

interface Setting {
  readonly title: string;
  readonly mode: string;
  readonly side: SideName;
}

const OFF: Setting = { title: "option off", mode: "off", side: "sluice" };
const ONE: Setting = { title: "`true`", mode: "true", side: "sluice" };
const ADAPTIVE: Setting = { title: '`"adaptive"`', mode: "adaptive", side: "sluice" };
const IOREDIS: Setting = { title: "ioredis, `true`", mode: "true", side: "ioredis" };
const SETTINGS: readonly Setting[] = [OFF, ONE, ADAPTIVE, IOREDIS];

interface Goal {
  readonly setting: Setting;
  readonly to: Setting;
  readonly leastOps: number;
  readonly mostP50: number;
  /** How its ratios are measured. */
  readonly how: string;
}

const GOALS: readonly Goal[] = [
  {
    setting: ONE,
    to: IOREDIS,
    leastOps: 0.97,
    mostP50: 1.05,
    how: "A ratio is the median of the ratios within a round.",
  },
  {
    setting: ADAPTIVE,
    to: OFF,
    leastOps: 0.95,
    mostP50: 1.1,
    how:
      "The two take turns, each in its own process. So these ratios compare them, not the columns above. " +
      "A ratio is the median of those of all rounds.",
  },
];

interface Cell {
  readonly load: string;
  readonly title: string;
  readonly delayMs: number;
}

function cellsOf(kind: LoopKind): Cell[] {
  return LOADS.filter((load) => load.kind === kind).flatMap(({ id, title }) =>
    DELAYS_MS.map((delayMs) => ({ load: id, title: `${title}, ${delayMs} ms`, delayMs })),
  );
}

/** Null while results are missing. */
export function windowFigures(results: Results): string | null {
  const result = results.scenarios[automaticBatches.id];
  if (result === undefined) return null;
  const table = (kind: LoopKind, columns: readonly Column[]): string =>
    markdownTable({
      head: ["load, added round trip", ...SETTINGS.map(({ title }) => title)],
      body: cellsOf(kind).map((cell) => [
        cell.title,
        ...SETTINGS.map((setting) =>
          columns.map((column) => formatFigure(measured(result, cell, setting, column), 0)).join(" / "),
        ),
      ]),
    });
  return [
    "Callers that send the next command after each reply: commands a second / median in µs.",
    table("callers", [OPS, P50]),
    "Independent commands at their own pace: median / 99th percentile / CPU time for each command, in µs.",
    table("arrivals", [P50, P99, CPU]),
    runLine(result),
    ...GOALS.map((goal) => goalPart(result, goal)),
  ].join("\n\n");
}

function measured(
  result: ScenarioResult,
  { load, delayMs }: Cell,
  { mode, side }: Setting,
  column: Column,
): number | undefined {
  return figureOf(result.rows[`auto-${load}-${delayMs}ms-${mode}`], side, column);
}

/** The median of the ratios that were measured in one process, or else of those within a round. */
function ratioOf(
  result: ScenarioResult,
  cell: Cell,
  setting: Setting,
  to: Setting,
  { figure }: Column,
): number {
  const own = resultOf(result, cell, setting);
  const measuredRatio = own?.figures[RATIOS.get(figure) ?? ""];
  if (measuredRatio !== undefined) return measuredRatio.median;
  const others = resultOf(result, cell, to)?.rounds?.[figure];
  return spreadOf(
    (own?.rounds?.[figure] ?? []).map((value, round) => value / (others?.[round] ?? Number.NaN)),
  ).median;
}

function resultOf(
  result: ScenarioResult,
  { load, delayMs }: Cell,
  { mode, side }: Setting,
): SideResult | undefined {
  return result.rows[`auto-${load}-${delayMs}ms-${mode}`]?.sides[side];
}

/** Says in how many cells the goal is reached, and shows the others with what they have. */
function goalPart(result: ScenarioResult, { setting, to, leastOps, mostP50, how }: Goal): string {
  const cells = [...cellsOf("callers"), ...cellsOf("arrivals")];
  const missed = cells.flatMap((cell) => {
    const [ops, p50] = [OPS, P50].map((column) => ratioOf(result, cell, setting, to, column)) as [
      number,
      number,
    ];
    if (ops >= leastOps && p50 <= mostP50) return [];
    return [[cell.title, formatRatio(ops), formatRatio(p50)]];
  });
  const goal =
    `Goal of ${setting.title} compared with ${to.title}: at least ${leastOps} times the commands a second, and at most ` +
    `${mostP50} times the median latency. Reached in ${cells.length - missed.length} of ${cells.length} cells. ${how}`;
  if (missed.length === 0) return goal;
  const table = markdownTable({ head: ["missed in", "commands a second", "median latency"], body: missed });
  return `${goal}\n\n${table}`;
}

function runLine(result: ScenarioResult): string {
  const { machine, rounds, measureMs, server, measuredAt, rows } = result;
  const spreads = Object.values(rows).flatMap(({ sides }) => {
    const ops = sides.sluice?.figures[OPS.figure];
    return ops === undefined ? [] : [(ops.most - ops.least) / 2 / ops.median];
  });
  const widest = Math.round(Math.max(...spreads) * 100);
  return (
    `The run of ${measuredAt.slice(0, 16).replace("T", " ")} UTC: medians of ${rounds} rounds of ${measureMs} ms, ${server}, ` +
    `Node ${machine.node}, ${machine.processor}, ${machine.cpus} CPUs. Rounds of a row differ by up to ±${widest} % in commands a second.`
  );
}

export function writeWindowPage(results: Results): void {
  const figures = windowFigures(results);
  if (figures !== null)
    fs.writeFileSync(WINDOW_PAGE, withFigures(fs.readFileSync(WINDOW_PAGE, "utf8"), figures));
}
