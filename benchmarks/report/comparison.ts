/**
 * Compares a run with the stored one: what became cheaper, and what became more expensive.
 *
 * It compares the lowest CPU time per command, because other load on the machine affects it least.
 * Differences within `NOISE_PERCENT` are not shown.
 */

import { SIDE_NAMES } from "../sides/all-sides";
import type { Results } from "../support/results-store";
import { CPU } from "../support/scenario";
import { formatFigure, type Table } from "./format";
import { figureOf } from "./tables";

const NOISE_PERCENT = 15;

export function comparisonTable(stored: Results, fresh: Results): Table {
  const body: string[][] = [];
  for (const [id, scenario] of Object.entries(fresh.scenarios)) {
    for (const [rowId, row] of Object.entries(scenario.rows)) {
      const old = stored.scenarios[id]?.rows[rowId];
      for (const side of SIDE_NAMES) {
        const before = figureOf(old, side, CPU);
        const after = figureOf(row, side, CPU);
        if (before === undefined || after === undefined) continue;
        const percent = (after / before - 1) * 100;
        if (Math.abs(percent) < NOISE_PERCENT) continue;
        const sign = percent > 0 ? "+" : "−";
        body.push([
          row.title,
          side,
          formatFigure(before, 2),
          formatFigure(after, 2),
          `${sign}${Math.abs(percent).toFixed(0)} %`,
        ]);
      }
    }
  }
  return { head: ["CPU µs per command", "side", "stored", "now", "change"], body };
}
