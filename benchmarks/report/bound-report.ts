/** Reports the results for the goals in `support/bounds.ts`, as rows of the goal table. */

import { PEER_SIDES, type SideName } from "../sides/all-sides";
import { type Bound, bounds, NOISE, NOWHERE_BEHIND } from "../support/bounds";
import { LIMIT_FACTOR } from "../support/goals";
import type { Results, RowResult } from "../support/results-store";
import { CPU, OPS, P50, P99 } from "../support/scenario";
import { formatFigure, formatRatio, pickOf } from "./format";
import { gridSummary } from "./grid";
import { figureOf } from "./tables";

const MET = "met";
const MISSED = "missed";

export function boundRows(results: Results): string[][] {
  const rows = new Map(Object.values(results.scenarios).flatMap((result) => Object.entries(result.rows)));
  return [
    ...bounds.flatMap((bound) => boundRow(bound, rows)),
    ...nowhereBehind(results),
    ...limitSummary(rows),
    ...gridSummary(results),
  ];
}

function figureAt(row: RowResult | undefined, side: SideName, figure: string): number | undefined {
  const pick = figure.toLowerCase().includes("cpu") || figure.includes("connect") ? "least" : "median";
  return pickOf(row?.sides[side]?.figures[figure], pick);
}

/** The best of the peers that this row has. */
export function bestOf(
  row: RowResult | undefined,
  figure: string,
  sides: readonly SideName[] = PEER_SIDES,
): number | undefined {
  const values = sides.map((side) => figureAt(row, side, figure)).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  return figure.startsWith("ops") ? Math.max(...values) : Math.min(...values);
}

function boundRow(bound: Bound, rows: ReadonlyMap<string, RowResult>): string[][] {
  const row = rows.get(bound.row);
  const own = figureAt(row, "sluice", bound.figure);
  const reached = own === undefined ? undefined : compared(own, bound, rows);
  if (row === undefined || reached === undefined) return [];
  const isRatio = bound.to !== undefined && bound.isDifference !== true;
  const format = (value: number): string =>
    isRatio ? formatRatio(value) : formatFigure(value, bound.digits ?? 0);
  const isMet = bound.most === undefined ? reached >= (bound.least ?? 0) : reached <= bound.most;
  const wanted = `${bound.most === undefined ? "≥" : "≤"} ${format(bound.most ?? bound.least ?? 0)}`;
  const what = `${bound.title}${suffixOf(bound, rows)}`;
  return [[row.title, what, wanted, format(reached), isMet ? MET : MISSED]];
}

function suffixOf({ to, isDifference }: Bound, rows: ReadonlyMap<string, RowResult>): string {
  if (to === undefined) return "";
  const other = to.row === undefined ? to.side : `"${rows.get(to.row)?.title}"`;
  return `${isDifference === true ? " above " : " to "}${other}`;
}

function compared(own: number, bound: Bound, rows: ReadonlyMap<string, RowResult>): number | undefined {
  const { to, figure } = bound;
  if (to === undefined) return own;
  const row = rows.get(to.row ?? bound.row);
  const { side = "sluice" } = to;
  const base = side === "best peer" ? bestOf(row, figure) : figureAt(row, side, figure);
  if (base === undefined) return undefined;
  return bound.isDifference === true ? own - base : own / base;
}

/** One line a row: throughput, quantiles and CPU to the best peer in each. */
function nowhereBehind({ scenarios }: Results): string[][] {
  return Object.values(scenarios[NOWHERE_BEHIND]?.rows ?? {}).flatMap((row) => {
    const checks = [OPS, P50, P99, CPU].flatMap((column) => {
      const best = bestOf(row, column.figure);
      const own = figureOf(row, "sluice", column);
      if (best === undefined || own === undefined) return [];
      const ratio = own / best;
      const isMore = column === OPS;
      const isMet = isMore ? ratio >= 1 - NOISE : ratio <= 1 + NOISE;
      return [{ title: column === CPU ? "CPU" : column.title, sign: isMore ? "≥ 1" : "≤ 1", ratio, isMet }];
    });
    if (checks.length === 0) return [];
    return [
      [
        row.title,
        `${checks.map(({ title }) => title).join(", ")} to the best peer`,
        checks.map(({ sign }) => sign).join(", "),
        checks.map(({ ratio }) => formatRatio(ratio)).join(", "),
        checks.every(({ isMet }) => isMet) ? MET : MISSED,
      ],
    ];
  });
}

function limitSummary(rows: ReadonlyMap<string, RowResult>): string[][] {
  const factors = [...rows.values()].flatMap((row) => {
    const own = figureOf(row, "sluice", CPU);
    const limit = figureOf(row, "raw+p", CPU);
    return own === undefined || limit === undefined ? [] : [own / limit];
  });
  if (factors.length === 0) return [];
  const within = factors.filter((factor) => factor <= LIMIT_FACTOR).length;
  const wanted = `≤ ${formatRatio(LIMIT_FACTOR)} in ${factors.length}`;
  const verdict = within === factors.length ? MET : MISSED;
  return [["rows with a bare socket beside them", "CPU to raw+p", wanted, `in ${within}`, verdict]];
}
