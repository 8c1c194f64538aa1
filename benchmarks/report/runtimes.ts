/** Core rows on several runtimes: one column each, the client beside ioredis and the bare socket. */

import { RUNTIME_ROWS, RUNTIME_SIDES } from "../scenario/runtimes";
import type { Results, RowResult } from "../support/results-store";
import { CPU } from "../support/scenario";
import { formatFigure, formatRatio, NO_VALUE, type Table } from "./format";
import { figureOf } from "./tables";

/** Cells are "sluice / ioredis / raw+p (sluice to raw+p)", CPU per command. */
export function runtimesTable({ runtimes = {} }: Results): Table {
  const names = Object.keys(runtimes).sort(byVersion);
  const body = RUNTIME_ROWS.flatMap((id) => {
    const rows = names.map((name) => runtimes[name]?.rows[id]);
    const title = rows.find((row) => row !== undefined)?.title;
    return title === undefined ? [] : [[title, ...rows.map(cellOf)]];
  });
  return { head: ["CPU µs per command", ...names], body };
}

/** Node before Bun, older before newer. */
function byVersion(one: string, other: string): number {
  const [oneName = "", oneVersion = ""] = one.split(" ");
  const [otherName = "", otherVersion = ""] = other.split(" ");
  return (
    otherName.localeCompare(oneName) || Number.parseInt(oneVersion, 10) - Number.parseInt(otherVersion, 10)
  );
}

function cellOf(row: RowResult | undefined): string {
  const figures = RUNTIME_SIDES.map((side) => figureOf(row, side, CPU));
  const [own, , floor] = figures;
  const cell = figures.map((value) => formatFigure(value, 2)).join(" / ");
  if (own === undefined) return NO_VALUE;
  return floor === undefined ? cell : `${cell} (${formatRatio(own / floor)})`;
}
