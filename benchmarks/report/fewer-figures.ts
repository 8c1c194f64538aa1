/** The figures of docs/fewer-commands.md, from stored results: a thousand reads as they are and as fewer commands. */

import type { Results } from "../support/results-store";
import { type Column, CPU, OPS } from "../support/scenario";
import { formatFigure, markdownTable } from "./format";
import { figureOf } from "./tables";

const SERVER: Column = { figure: "serverCpuMicros", title: "server CPU", digits: 3, pick: "least" };

const CASES: readonly { readonly id: string; readonly title: string }[] = [
  { id: "fewer-turn-get", title: "1,000 `GET` in one turn, `merge`" },
  { id: "fewer-turn-hget", title: "1,000 `HGET` of one hash in one turn, `merge`" },
  { id: "fewer-turn-same", title: "1,000 `GET` of one key in one turn, `coalesce`" },
  { id: "fewer-pipeline-get", title: "1,000 `GET` in a pipeline, `merge`" },
  { id: "fewer-pipeline-hget", title: "1,000 `HGET` of one hash in a pipeline, `merge`" },
];

/** Null while results are missing; rows that were not measured yet are left out. */
export function fewerFigures(results: Results): string | null {
  const rows = results.scenarios["fewer-commands"]?.rows;
  if (rows === undefined) return null;
  const body = CASES.filter(({ id }) => `${id}-on` in rows).map(({ id, title }) => {
    const [off, on] = [rows[`${id}-off`], rows[`${id}-on`]];
    const both = (column: Column): string =>
      [off, on].map((row) => formatFigure(figureOf(row, "sluice", column), column.digits)).join(" → ");
    return [title, both(OPS), both(CPU), both(SERVER)];
  });
  return markdownTable({ head: ["without → with", "ops/s", "client CPU µs", "server CPU µs"], body });
}
