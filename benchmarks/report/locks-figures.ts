/** The figures of docs/locks.md, from stored results: contenders for one lock, with several packages. */

import { locks } from "../scenario/locks";
import type { Results } from "../support/results-store";
import { formatFigure, markdownTable } from "./format";
import { figureOf } from "./tables";

const SHOWN = ["commandsEach", "p50Ms", "p99Ms", "cpuMicros", "underFaults", "doubleHolders"];

/** Null while results are missing. */
export function locksFigures(results: Results): string | null {
  const measured = results.scenarios[locks.id]?.rows;
  if (measured === undefined) return null;
  const columns = locks.columns.filter(({ figure }) => SHOWN.includes(figure));
  const body = locks.rows.flatMap(({ id, title, sides: [side] }) => {
    const row = measured[id];
    if (row === undefined || side === undefined) return [];
    return [[title, ...columns.map((column) => formatFigure(figureOf(row, side, column), column.digits))]];
  });
  return markdownTable({ head: ["20 contenders", ...columns.map(({ title }) => title)], body });
}
