/** The tables of decision 0014 from stored results: our flush policies beside the peers, and the cells in which a goal is missed. */

import { service } from "../scenario/service";
import { PEER_SIDES, type SideName } from "../sides/all-sides";
import type { Results, RowResult } from "../support/results-store";
import { CPU, OPS, P50 } from "../support/scenario";
import { SIDE_TITLES } from "./chart";
import { formatFigure, markdownTable } from "./format";
import { figureOf } from "./tables";

const SHOWN: readonly string[] = [
  "own-callers-10",
  "own-callers-50",
  "own-callers-1000",
  "own-callers-50-1k",
  "own-callers-10-1ms",
  "own-callers-200-1ms",
  "own-pace-5000",
  "own-cluster-100",
  "own-cluster-run-300",
  "shared-callers-50",
  "shared-callers-10-1ms",
  "shared-pace-5000",
  "shared-cluster-100",
  "one-callers-10",
  "one-callers-50",
  "one-cluster-100",
];
const COLUMNS: readonly { readonly side: SideName; readonly title: string }[] = [
  { side: "sluice", title: "default" },
  { side: "sluice-turn", title: '`"turn"`' },
  { side: "ioredis", title: SIDE_TITLES.ioredis },
  { side: "redis-nt", title: SIDE_TITLES["redis-nt"] },
];

interface Goal {
  readonly title: string;
  isMet(row: RowResult): boolean;
}

const GOALS: readonly Goal[] = [
  {
    title: "at least 0.95 of the most commands a second",
    isMet: (row) => ops(row, "sluice") >= 0.95 * Math.max(...EVERYBODY.map((side) => ops(row, side))),
  },
  {
    title: "at most 1.1 of the least median latency",
    isMet: (row) => p50(row, "sluice") <= 1.1 * Math.min(...EVERYBODY.map((side) => p50(row, side))),
  },
  {
    title: '`"turn"` at most 10 % cheaper where the commands a second are level',
    isMet: (row) =>
      ops(row, "sluice") > 1.05 * ops(row, "sluice-turn") ||
      cpu(row, "sluice") <= 1.1 * cpu(row, "sluice-turn"),
  },
  { title: "CPU never above that of ioredis", isMet: (row) => cpu(row, "sluice") <= cpu(row, "ioredis") },
];

const EVERYBODY: readonly SideName[] = ["sluice", "sluice-turn", ...PEER_SIDES];

function ops(row: RowResult, side: SideName): number {
  return figureOf(row, side, OPS) ?? 0;
}

function p50(row: RowResult, side: SideName): number {
  return figureOf(row, side, P50) ?? Number.POSITIVE_INFINITY;
}

function cpu(row: RowResult, side: SideName): number {
  return figureOf(row, side, CPU) ?? Number.POSITIVE_INFINITY;
}

/** Null while results are missing. */
export function flushFigures(results: Results): string | null {
  const result = results.scenarios[service.id];
  if (result === undefined) return null;
  const body = SHOWN.map((id) => {
    const row = result.rows[`service-${id}`];
    const cells = COLUMNS.map(({ side }) =>
      [OPS, P50, CPU]
        .map((column) => formatFigure(figureOf(row, side, column), column === CPU ? 2 : 0))
        .join(" / "),
    );
    return [row?.title ?? id, ...cells];
  });
  const rows = Object.values(result.rows);
  const goals = GOALS.map(({ title, isMet }) => {
    const missed = rows.filter((row) => !isMet(row)).map((row) => row.title);
    const reached = `- ${title}: ${rows.length - missed.length} of ${rows.length}`;
    return missed.length === 0 ? `${reached}.` : `${reached}; not ${missed.join("; ")}.`;
  });
  const { machine } = result;
  return [
    `Commands a second / median µs / CPU µs for each command. ${result.server}, Node ${machine.node}, ${machine.processor}, ${machine.cpus} CPUs, ` +
      `${result.measuredAt.slice(0, 10)}, medians of ${result.rounds} rounds:`,
    markdownTable({ head: ["load", ...COLUMNS.map(({ title }) => title)], body }),
    `Goals, in cells of the scenario \`${service.id}\`:`,
    goals.join("\n"),
  ].join("\n\n");
}
