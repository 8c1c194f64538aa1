/** Tables that cut across scenarios: system calls, garbage collection. */

import type { SideName } from "../sides/all-sides";
import type { Results, RowResult } from "../support/results-store";
import type { Column } from "../support/scenario";
import { formatFigure, NO_VALUE, type Table } from "./format";
import { figureOf } from "./tables";

const ROWS = [
  "sequential-get",
  "flight-1000-16",
  "all-1000-default",
  "all-1000-auto",
  "callers-200-auto",
  "handlers-200-default",
  "handlers-200-auto",
  "pipeline-1000",
];
const SIDES: readonly SideName[] = ["sluice", "ioredis", "iovalkey", "redis-nt", "glide"];

function median(figure: string): Column {
  return { figure, title: figure, digits: 1, pick: "median" };
}

/**
 * Writes and reads per 1,000 commands: the client's own system calls, and how often the server read and wrote.
 * glide's native half does its own input and output by calls that this counter does not see.
 */
export function systemCallTable(results: Results): Table {
  const columns = [
    "writeCallsPerThousand",
    "readCallsPerThousand",
    "serverReadsPerThousand",
    "serverWritesPerThousand",
  ];
  return crossTable(results, (row, side) => {
    const values = columns.map((figure) => figureOf(row, side, median(figure)));
    if (values.every((value) => value === undefined)) return undefined;
    const shown = values.map((value, at) => (side === "glide" && at < 2 ? NO_VALUE : formatFigure(value, 1)));
    return shown.join(" / ");
  });
}

export function garbageTable(results: Results): Table {
  return crossTable(results, (row, side) => {
    const share = figureOf(row, side, median("gcSharePercent"));
    if (share === undefined) return undefined;
    return `${formatFigure(share, 0)} % / ${formatFigure(figureOf(row, side, median("gcMaxMs")), 1)} ms`;
  });
}

function crossTable(results: Results, cell: (row: RowResult, side: SideName) => string | undefined): Table {
  const rows = new Map(Object.values(results.scenarios).flatMap((scenario) => Object.entries(scenario.rows)));
  const body: string[][] = [];
  for (const id of ROWS) {
    const row = rows.get(id);
    if (row === undefined) continue;
    body.push([row.title, ...SIDES.map((side) => cell(row, side) ?? NO_VALUE)]);
  }
  return { head: ["", ...SIDES], body };
}
