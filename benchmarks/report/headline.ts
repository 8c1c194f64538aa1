/** The picture for the top of the page and of the README: throughput of a few workloads, all clients side by side. */

import fs from "node:fs";
import path from "node:path";
import type { SideName } from "../sides/all-sides";
import { imagesFolder } from "../support/project";
import type { Results } from "../support/results-store";
import { OPS } from "../support/scenario";
import { type BarGroup, drawBarPlot } from "./bar-plot";
import { formatFigure } from "./format";
import { figureOf } from "./tables";

export const HEADLINE_FILE = "throughput-by-client.svg";

const ROWS = ["pipeline-1000", "pipeline-10000", "all-1000-auto", "flight-1000-16", "handlers-200-auto"];
const SIDES: readonly SideName[] = ["sluice", "redis-nt", "glide", "iovalkey", "ioredis", "redis"];

/** Writes the file and says whether all its rows were there. */
export function writeHeadline(results: Results): boolean {
  const rows = new Map(Object.values(results.scenarios).flatMap((scenario) => Object.entries(scenario.rows)));
  const groups: BarGroup[] = [];
  for (const id of ROWS) {
    const row = rows.get(id);
    if (row === undefined) return false;
    const bars = SIDES.flatMap((side) => {
      const value = figureOf(row, side, OPS);
      return value === undefined ? [] : [{ side, value, label: `${side} ${formatFigure(value, 0)}` }];
    });
    groups.push({ title: row.title, bars });
  }
  fs.mkdirSync(imagesFolder, { recursive: true });
  fs.writeFileSync(
    path.join(imagesFolder, HEADLINE_FILE),
    drawBarPlot("Commands per second, longer is better", groups),
  );
  return true;
}
