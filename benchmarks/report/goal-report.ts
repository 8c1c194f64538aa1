/** Reports the result for every goal, from the results of one run. */

import { REFERENCE_SIDE, type SideName } from "../sides/all-sides";
import { type Goal, goals, LIMIT_FACTOR, LOAD_TIME_RATIO } from "../support/goals";
import type { Results, RowResult } from "../support/results-store";
import { type Column, CPU, OPS, P50, P99, RSS } from "../support/scenario";
import { boundRows } from "./bound-report";
import { formatFigure, formatRatio, type Table } from "./format";
import { figureOf, ratio } from "./tables";

interface Check {
  readonly what: string;
  readonly wanted: string;
  readonly reached: string;
  readonly isMet: boolean;
}

const LOAD_MS: Column = { figure: "loadMs", title: "load ms", digits: 1, pick: "median" };

export function goalTable(results: Results): Table {
  const rows = new Map(Object.values(results.scenarios).flatMap(({ rows }) => Object.entries(rows)));
  const body: string[][] = [];
  for (const goal of goals) {
    const row = rows.get(goal.row);
    if (row?.sides.sluice === undefined) continue;
    for (const check of checksOf(goal, row)) {
      body.push([row.title, check.what, check.wanted, check.reached, check.isMet ? "met" : "missed"]);
    }
  }
  body.push(...boundRows(results));
  return { head: ["workload", "figure", "wanted", "reached", ""], body };
}

/** Where the client stands to the bare socket with one promise and one value per command. */
export function limitTable(results: Results): Table {
  const body: string[][] = [];
  for (const { rows } of Object.values(results.scenarios)) {
    for (const row of Object.values(rows)) {
      const own = figureOf(row, "sluice", CPU);
      const limit = figureOf(row, "raw+p", CPU);
      if (own === undefined || limit === undefined) continue;
      const factor = own / limit;
      const verdict = factor <= LIMIT_FACTOR ? "within" : "beyond";
      body.push([row.title, formatFigure(own, 2), formatFigure(limit, 2), formatRatio(factor), verdict]);
    }
  }
  return { head: ["workload", "sluice CPU µs", "raw+p CPU µs", "factor", `${LIMIT_FACTOR}×`], body };
}

function checksOf(goal: Goal, row: RowResult): Check[] {
  const checks: Check[] = [];
  const atLeast = (column: Column, wanted: number | undefined, side: SideName = REFERENCE_SIDE): void => {
    const reached = side === REFERENCE_SIDE ? ratio(row, "sluice", column) : quotient(row, column, side);
    if (wanted === undefined || reached === undefined) return;
    checks.push(check(`${column.title} to ${side}`, `≥ ${formatRatio(wanted)}`, reached, reached >= wanted));
  };
  const atMost = (column: Column, wanted: number | undefined): void => {
    const reached = ratio(row, "sluice", column);
    if (wanted === undefined || reached === undefined) return;
    checks.push(
      check(`${column.title} to ${REFERENCE_SIDE}`, `≤ ${formatRatio(wanted)}`, reached, reached <= wanted),
    );
  };
  atLeast(OPS, goal.ops);
  atMost(CPU, goal.cpu);
  atMost(P50, goal.p50);
  atMost(P99, goal.p99);
  atMost(RSS, goal.rss);
  for (const [side, factor] of Object.entries(goal.rivals ?? {})) atLeast(OPS, factor, side as SideName);
  if (goal.row === "load") atMost(LOAD_MS, LOAD_TIME_RATIO);
  if (goal.ceiling !== undefined) checks.push(...ceilingCheck(goal.ceiling, row));
  return checks;
}

function check(what: string, wanted: string, reached: number, isMet: boolean): Check {
  return { what, wanted, reached: formatRatio(reached), isMet };
}

function quotient(row: RowResult, column: Column, side: SideName): number | undefined {
  const own = figureOf(row, "sluice", column);
  const other = figureOf(row, side, column);
  return own === undefined || other === undefined ? undefined : own / other;
}

function ceilingCheck({ figure, most, unit }: NonNullable<Goal["ceiling"]>, row: RowResult): Check[] {
  const reached = figureOf(row, "sluice", { figure, title: unit, digits: 0, pick: "median" });
  if (reached === undefined) return [];
  return [{ what: unit, wanted: `≤ ${most}`, reached: formatFigure(reached, 0), isMet: reached <= most }];
}
