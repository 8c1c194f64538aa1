/** Writes the plots that scenarios ask for, from stored results. */

import fs from "node:fs";
import path from "node:path";
import { SIDE_NAMES } from "../sides/all-sides";
import { imagesFolder } from "../support/project";
import type { ScenarioResult } from "../support/results-store";
import type { Plot, Scenario } from "../support/scenario";
import { pickOf } from "./format";
import { drawLinePlot, type Series } from "./line-plot";

/** Writes the file and says whether there was anything to draw. */
export function writePlot(scenario: Scenario, plot: Plot, result: ScenarioResult): boolean {
  const series = seriesOf(scenario, plot, result);
  if (series.length === 0) return false;
  fs.mkdirSync(imagesFolder, { recursive: true });
  fs.writeFileSync(path.join(imagesFolder, plot.file), drawLinePlot({ ...plot, series }));
  return true;
}

/** Rows of the same x come from different patterns of one side; the better one is drawn. */
function seriesOf(scenario: Scenario, plot: Plot, result: ScenarioResult): Series[] {
  const rows = scenario.rows.filter((row) => row.x !== undefined && row.id.startsWith(plot.rowPrefix ?? ""));
  const all: Series[] = [];
  for (const side of SIDE_NAMES) {
    const points = new Map<number, number>();
    for (const row of rows) {
      const value = pickOf(result.rows[row.id]?.sides[side]?.figures[plot.figure], plot.pick);
      if (value === undefined || value <= 0) continue;
      const x = row.x as number;
      const known = points.get(x);
      const isBetter = known === undefined || (plot.pick === "least" ? value < known : value > known);
      if (isBetter) points.set(x, value);
    }
    const sorted = [...points].sort((a, b) => a[0] - b[0]);
    if (sorted.length > 1) all.push({ side, points: sorted });
  }
  return all;
}
