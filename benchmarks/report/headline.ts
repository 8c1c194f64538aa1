/**
 * The picture at the top of the README and of the benchmark page: the CPU time of a command in the process
 * that issues it, for all clients and for the ways in which services issue commands.
 */

import type { SideName } from "../sides/all-sides";
import type { Results, ScenarioResult } from "../support/results-store";
import { CPU } from "../support/scenario";
import { type Bar, writeBars } from "./bars";
import { captionOf } from "./chart";
import { formatFigure, pickOf } from "./format";

export const HEADLINE = "cpu-by-client";
export const HEADLINE_TITLE = "CPU microseconds per command, shorter is better";

const ROWS: readonly { readonly id: string; readonly title: string }[] = [
  { id: "handlers-200-default", title: "200 request handlers, a command each" },
  { id: "all-1000-default", title: "1,000 commands issued in one turn" },
  { id: "pipeline-100", title: "explicit pipelines of 100" },
  { id: "flight-50-16", title: "50 callers, each awaits its reply" },
];
const SIDES: readonly SideName[] = ["sluice", "ioredis", "iovalkey", "redis", "redis-nt", "glide"];

/** Writes the files and says whether all rows were there. */
export async function writeHeadline(results: Results): Promise<boolean> {
  const measured = Object.values(results.scenarios);
  const bars: Bar[] = [];
  let last: ScenarioResult | undefined;
  for (const { id, title } of ROWS) {
    const result = measured.find(({ rows }) => rows[id] !== undefined);
    if (result === undefined) return false;
    last = result;
    for (const side of SIDES) {
      const spread = result.rows[id]?.sides[side]?.figures[CPU.figure];
      const value = pickOf(spread, CPU.pick);
      if (spread === undefined || value === undefined) continue;
      bars.push({ workload: title, side, value, label: `${formatFigure(value, 2)} µs` });
    }
  }
  if (last === undefined) return false;
  await writeBars({
    file: HEADLINE,
    title: HEADLINE_TITLE,
    caption: captionOf(last, SIDES),
    workloads: ROWS.map(({ title }) => title),
    bars,
  });
  return true;
}
