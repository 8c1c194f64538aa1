/** Tables across scenarios: the gain of batching, system calls, garbage collection. */

import type { SideName } from "../sides/all-sides";
import type { Results, RowResult } from "../support/results-store";
import { type Column, OPS } from "../support/scenario";
import { formatFigure, formatRatio, NO_VALUE, type Table } from "./format";
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

interface Comparison {
  readonly title: string;
  /** Ids of the two rows. */
  readonly of: string;
  readonly to: string;
  /** Whose row the second is; absent: the column's own side. */
  readonly toSide?: SideName;
}

const COMPARISONS: readonly Comparison[] = [
  {
    title: "10,000 PINGs: one pipeline to one by one",
    of: "pings-pipeline",
    to: "pings-awaited",
  },
  { title: "10,000 PINGs: one turn to one by one", of: "pings-turn", to: "pings-awaited" },
  { title: "pipeline of 10,000 to pipelines of 1", of: "pipeline-10000", to: "pipeline-1" },
  {
    title: "1,000 reads a turn: auto-pipelining to ioredis's default",
    of: "all-1000-auto",
    to: "all-1000-default",
    toSide: "ioredis",
  },
  {
    title: "1,000 reads a turn: default to ioredis's default",
    of: "all-1000-default",
    to: "all-1000-default",
    toSide: "ioredis",
  },
  {
    title: "the same on three masters: auto-pipelining to ioredis's default",
    of: "cluster-all-auto",
    to: "cluster-all-default",
    toSide: "ioredis",
  },
  {
    title: "the same on three masters: default to ioredis's default",
    of: "cluster-all-default",
    to: "cluster-all-default",
    toSide: "ioredis",
  },
  { title: "10,000 set members: one SADD to a pipeline", of: "sadd-one", to: "sadd-pipelined" },
  { title: "1,000,000 commands: 100 batches to one", of: "million-by-10k", to: "million-unbounded" },
  { title: "1,000,000 commands: bulk() to one batch", of: "million-bulk", to: "million-unbounded" },
  { title: "1,000,000 commands: bulk() to 100 batches", of: "million-bulk", to: "million-by-10k" },
];

/** How much faster one way is than another, in commands per second. */
export function gainTable(results: Results): Table {
  const rows = rowsOf(results);
  const body: string[][] = [];
  for (const { title, of, to, toSide } of COMPARISONS) {
    const cells = SIDES.map((side) => {
      const own = figureOf(rows.get(of), side, OPS);
      const base = figureOf(rows.get(to), toSide ?? side, OPS);
      return own === undefined || base === undefined ? NO_VALUE : formatRatio(own / base);
    });
    if (cells.some((cell) => cell !== NO_VALUE)) body.push([title, ...cells]);
  }
  return { head: ["", ...SIDES], body };
}

function rowsOf(results: Results): Map<string, RowResult> {
  return new Map(Object.values(results.scenarios).flatMap((scenario) => Object.entries(scenario.rows)));
}

function crossTable(results: Results, cell: (row: RowResult, side: SideName) => string | undefined): Table {
  const rows = rowsOf(results);
  const body: string[][] = [];
  for (const id of ROWS) {
    const row = rows.get(id);
    if (row === undefined) continue;
    body.push([row.title, ...SIDES.map((side) => cell(row, side) ?? NO_VALUE)]);
  }
  return { head: ["", ...SIDES], body };
}
