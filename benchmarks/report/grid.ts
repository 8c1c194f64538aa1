/**
 * The grid of callers, server time, the caller's own work and latency: as heat maps of the ratio to the best
 * peer, as rows of the goal table, and as a list of the cells that miss a goal.
 */

import type { TopLevelSpec } from "vega-lite";
import { CALLERS, gridRowId, LINES_MS, overlap, SERVER_MICROS, WORK_MICROS } from "../scenario/overlap";
import type { SideName } from "../sides/all-sides";
import { GRID_GOALS } from "../support/bounds";
import type { Results, RowResult } from "../support/results-store";
import { captionOf, type Theme, writeChart } from "./chart";
import { formatRatio, type Table } from "./format";

type GridGoal = (typeof GRID_GOALS)[number];

interface Cell {
  readonly callers: number;
  readonly ratio: number;
  readonly isMet: boolean;
}

const CELL = 42;
/** The scale ends here, and at its reciprocal: what is beyond has the colour of the end. */
const FULL_COLOUR = 4;

export const GRID_MAPS: readonly {
  readonly file: string;
  readonly title: string;
  readonly goal: GridGoal;
}[] = [
  {
    file: "overlap-throughput",
    title: "Commands a second, sluice to the better of ioredis and node-redis",
    goal: GRID_GOALS[0],
  },
  {
    file: "overlap-p99",
    title: "99th percentile, the better of ioredis and node-redis to sluice",
    goal: GRID_GOALS[2],
  },
];

function figureIn(row: RowResult | undefined, side: SideName, name: string): number | undefined {
  return row?.sides[side]?.figures[name]?.median;
}

/** What sluice has, divided by the best of the others. */
function cellsOf(row: RowResult | undefined, goal: GridGoal): Cell[] {
  return CALLERS.flatMap((callers) => {
    const name = `${goal.figure}${callers}`;
    const own = figureIn(row, "sluice", name);
    const others = goal.to.map((side) => figureIn(row, side, name)).filter((value) => value !== undefined);
    if (own === undefined || others.length === 0) return [];
    const isMore = "least" in goal;
    const ratio = own / (isMore ? Math.max(...others) : Math.min(...others));
    return [{ callers, ratio, isMet: isMore ? ratio >= goal.least : ratio <= goal.most }];
  });
}

function rowsOf(results: Results): [string, RowResult][] {
  return Object.entries(results.scenarios[overlap.id]?.rows ?? {});
}

/** One line for each goal: in how many cells it is met. */
export function gridSummary(results: Results): string[][] {
  return GRID_GOALS.flatMap((goal) => {
    const cells = rowsOf(results).flatMap(([, row]) => cellsOf(row, goal));
    if (cells.length === 0) return [];
    const met = cells.filter(({ isMet }) => isMet).length;
    const wanted = "least" in goal ? `≥ ${formatRatio(goal.least)}` : `≤ ${formatRatio(goal.most)}`;
    const verdict = met === cells.length ? "met" : "missed";
    return [[overlap.title, goal.title, `${wanted} in ${cells.length} cells`, `in ${met}`, verdict]];
  });
}

/** The cells that miss a goal, by row and goal: number of callers and ratio. */
export function lostCells(results: Results): Table {
  const body = rowsOf(results).flatMap(([, row]) => {
    const cells = GRID_GOALS.map((goal) =>
      cellsOf(row, goal)
        .filter(({ isMet }) => !isMet)
        .map(({ callers, ratio }) => `${callers.toLocaleString("en")}: ${formatRatio(ratio)}`)
        .join("<br>"),
    );
    return cells.every((cell) => cell === "") ? [] : [[row.title, ...cells]];
  });
  return { head: ["callers: ratio", ...GRID_GOALS.map(({ title }) => title)], body };
}

/** How far the cells are behind that miss the goal in throughput. */
export function gridStanding(results: Results): string {
  const [goal] = GRID_GOALS;
  const lost = rowsOf(results)
    .flatMap(([, row]) => cellsOf(row, goal))
    .filter(({ isMet }) => !isMet);
  const far = lost.filter(({ ratio }) => ratio < 0.9);
  const near = lost.filter(({ ratio }) => ratio >= 0.95).length;
  const few = far.filter(({ callers }) => callers === 10 || callers === 20).length;
  return `Of the ${lost.length} cells that miss the goal in ops/s, ${near} have at least 0.95 times those of the best peer, and ${far.length} less than 0.9 times, ${few} of these with 10 or 20 callers.`;
}

/** Writes the maps and says whether there was anything to draw. */
export async function writeGridMaps(results: Results): Promise<boolean> {
  const result = results.scenarios[overlap.id];
  if (result === undefined) return false;
  const caption = captionOf(
    result,
    ["ioredis", "redis-nt"],
    [
      "Above 1 sluice is the better one. Rows: time that the server spends on a command + time that a caller works between two",
    ],
  );
  for (const { file, title, goal } of GRID_MAPS) {
    const values = mapValues(result.rows, goal);
    await writeChart(file, (theme) => mapSpec({ title, caption, values, theme }));
  }
  return true;
}

interface MapValue {
  readonly callers: string;
  readonly load: string;
  readonly line: string;
  /** Above 1: sluice is the better one. */
  readonly gain: number;
  readonly label: string;
}

function mapValues(rows: Record<string, RowResult>, goal: GridGoal): MapValue[] {
  return LINES_MS.flatMap((lineMs) =>
    SERVER_MICROS.flatMap((serverMicros) =>
      WORK_MICROS.flatMap((workMicros) =>
        cellsOf(rows[gridRowId(lineMs, workMicros, serverMicros)], goal).map(({ callers, ratio }) => {
          const gain = "least" in goal ? ratio : 1 / ratio;
          return {
            callers: callers.toLocaleString("en"),
            load: `${serverMicros} + ${workMicros} µs`,
            line: lineMs === 0 ? "loopback" : `line of ${lineMs} ms`,
            gain,
            label: gain >= 10 ? gain.toFixed(0) : gain.toFixed(gain < 1.995 ? 2 : 1),
          };
        }),
      ),
    ),
  );
}

interface Map {
  readonly title: string;
  readonly caption: readonly string[];
  readonly values: readonly MapValue[];
  readonly theme: Theme;
}

/** Orange where sluice is the better one, blue where a peer is, the page's colour where both are equal. */
function mapSpec({ title, caption, values, theme }: Map): TopLevelSpec {
  const middle = theme === "light" ? "#f6f8fa" : "#21262d";
  const ink = theme === "light" ? "#1f2328" : "#f0f6fc";
  const lines = [...new Set(values.map(({ line }) => line))];
  return {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: { text: title, subtitle: [...caption] },
    spacing: 16,
    vconcat: lines.map((line) => ({
      title: { text: line, fontSize: 12, offset: 4 },
      width: CELL * CALLERS.length,
      height: { step: 24 },
      data: { values: values.filter((value) => value.line === line) as MapValue[] },
      encoding: {
        x: {
          field: "callers",
          type: "ordinal" as const,
          sort: null,
          axis: {
            title: line === lines.at(-1) ? "callers" : null,
            labelAngle: 0,
            domain: false,
            ticks: false,
          },
        },
        y: {
          field: "load",
          type: "ordinal" as const,
          sort: null,
          axis: { title: null, domain: false, ticks: false },
        },
      },
      layer: [
        {
          mark: { type: "rect" as const, stroke: theme === "light" ? "#ffffff" : "#0d1117", strokeWidth: 1 },
          encoding: {
            color: {
              field: "gain",
              type: "quantitative" as const,
              legend: null,
              scale: {
                type: "log" as const,
                domain: [1 / FULL_COLOUR, 1, FULL_COLOUR],
                range: ["#0072b2", middle, "#d55e00"],
                clamp: true,
                interpolate: "rgb" as const,
              },
            },
          },
        },
        {
          mark: { type: "text" as const, fontSize: 11 },
          encoding: {
            text: { field: "label", type: "nominal" as const },
            color: { value: ink },
          },
        },
      ],
    })),
  };
}
