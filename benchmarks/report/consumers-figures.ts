/** The figures of docs/consumers.md, from stored results: `consume()` beside a loop written by hand. */

import { consumers } from "../scenario/consumers";
import type { SideName } from "../sides/all-sides";
import type { Results } from "../support/results-store";
import { formatFigure, markdownTable } from "./format";
import { figureOf } from "./tables";

const SIDES: readonly (readonly [SideName, title: string])[] = [
  ["sluice", "`consume()`"],
  ["ioredis", "a loop on ioredis"],
];

/** Null while results are missing. */
export function consumersFigures(results: Results): string | null {
  const measured = results.scenarios[consumers.id]?.rows;
  if (measured === undefined) return null;
  const body = SIDES.map(([side, title]) => [
    title,
    ...consumers.columns.map((column) => {
      // Each figure belongs to one of the rows.
      const [figure] = consumers.rows.flatMap(({ id }) => figureOf(measured[id], side, column) ?? []);
      return formatFigure(figure, column.digits);
    }),
  ]);
  return markdownTable({ head: ["", ...consumers.columns.map(({ title }) => title)], body });
}
