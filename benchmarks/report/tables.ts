/**
 * Turns the result of a scenario into tables: for scenarios with load, an overview of throughput and CPU with
 * one column per side; for all scenarios, one line per row and side with every column.
 */

import { REFERENCE_SIDE, SIDE_NAMES, type SideName } from "../sides/all-sides";
import type { RowResult, ScenarioResult } from "../support/results-store";
import { type Column, CPU, OPS, P50, type Scenario } from "../support/scenario";
import { formatFigure, formatRatio, formatSpread, NO_VALUE, pickOf, type Table } from "./format";

export function figureOf(row: RowResult | undefined, side: SideName, column: Column): number | undefined {
  return pickOf(row?.sides[side]?.figures[column.figure], column.pick);
}

export function sidesIn(result: ScenarioResult): SideName[] {
  const rows = Object.values(result.rows);
  return SIDE_NAMES.filter((side) => rows.some((row) => row.sides[side] !== undefined));
}

/** Scenarios about load show throughput and CPU of all sides beside each other. */
export function hasOverview(scenario: Scenario): boolean {
  return scenario.columns.includes(P50);
}

/** Rows by sides; cells are "ops/s / CPU µs per command". */
export function overviewTable(result: ScenarioResult): Table {
  const sides = sidesIn(result);
  const body = Object.values(result.rows).map((row) => [
    row.title,
    ...sides.map((side) => {
      const ops = figureOf(row, side, OPS);
      return ops === undefined
        ? NO_VALUE
        : `${formatFigure(ops, 0)} / ${formatFigure(figureOf(row, side, CPU), 2)}`;
    }),
  ]);
  return { head: ["ops/s / CPU µs per command", ...sides], body };
}

/** Ratios to the reference side, in throughput and in CPU. */
export function ratioTable(result: ScenarioResult): Table {
  const sides = sidesIn(result).filter((side) => side !== REFERENCE_SIDE);
  const body = Object.values(result.rows).map((row) => [
    row.title,
    ...sides.map((side) => {
      const ops = formatRatio(ratio(row, side, OPS));
      return ops === NO_VALUE ? NO_VALUE : `${ops} / ${formatRatio(ratio(row, side, CPU))}`;
    }),
  ]);
  return { head: [`ratio to ${REFERENCE_SIDE}: ops / CPU`, ...sides], body };
}

export function ratio(row: RowResult | undefined, side: SideName, column: Column): number | undefined {
  const own = figureOf(row, side, column);
  const reference = figureOf(row, REFERENCE_SIDE, column);
  return own === undefined || reference === undefined ? undefined : own / reference;
}

/** One line per row and side. */
export function detailTable(scenario: Scenario, result: ScenarioResult): Table {
  const body: string[][] = [];
  for (const row of Object.values(result.rows)) {
    for (const side of sidesIn(result)) {
      const own = row.sides[side];
      if (own === undefined) continue;
      const cells = scenario.columns.map((column) =>
        formatFigure(figureOf(row, side, column), column.digits),
      );
      const first = own.figures[scenario.columns[0]?.figure ?? ""];
      const last = result.rounds > 1 && first !== undefined ? formatSpread(first) : (own.failure ?? NO_VALUE);
      body.push([row.title, side, ...cells, last]);
    }
  }
  return { head: ["", "side", ...scenario.columns.map(({ title }) => title), "spread"], body };
}
