/**
 * The stored counts, and the definition of a regression against them.
 *
 * Bytes differ slightly between versions of the engine, so they are stored for each major version of Node. A
 * version without stored figures is compared with the nearest one, with more tolerance. Writes and promises
 * are exact.
 */

import fs from "node:fs";
import path from "node:path";
import type { CountedLoad, Counts } from "./counts";
import { resultsFolder } from "./project";

export type CountTable = Record<CountedLoad, Counts>;

const FILE = path.join(resultsFolder, "counts.json");
const TOLERANCE = 0.35;
const OTHER_VERSION_TOLERANCE = 0.4;
/** A few words: below that, noise of the engine. */
const SLACK_BYTES = 24;
/** Their number of writes depends on the clock. */
const PACED: readonly CountedLoad[] = ["turn", "turn-auto"];

export function isPaced(load: CountedLoad): boolean {
  return PACED.includes(load);
}

type Stored = Record<string, CountTable>;

export function nodeMajor(): string {
  return process.version.slice(1).split(".", 1)[0] as string;
}

function readBaseline(): Stored {
  return JSON.parse(fs.readFileSync(FILE, "utf8")) as Stored;
}

export function storeBaseline(counts: CountTable): void {
  const stored = fs.existsSync(FILE) ? readBaseline() : {};
  const rounded = JSON.parse(
    JSON.stringify(counts, (_key, value) =>
      typeof value === "number" ? Math.round(value * 10) / 10 : value,
    ),
  ) as CountTable;
  fs.mkdirSync(resultsFolder, { recursive: true });
  fs.writeFileSync(FILE, `${JSON.stringify({ ...stored, [nodeMajor()]: rounded }, undefined, 1)}\n`);
}

/** One line for each count that has grown; empty when there is no regression. */
export function regressions(counts: CountTable): string[] {
  const stored = readBaseline();
  const own = stored[nodeMajor()];
  const baseline = own ?? nearest(stored);
  const tolerance = own === undefined ? OTHER_VERSION_TOLERANCE : TOLERANCE;
  const lines: string[] = [];
  for (const load of Object.keys(baseline) as CountedLoad[]) {
    const was = baseline[load];
    const is = counts[load];
    const check = (what: keyof Counts, most: number): void => {
      if (is[what] > most) lines.push(`${load}: ${what} is ${is[what].toFixed(1)}, was ${was[what]}`);
    };
    check("bytesPerCommand", was.bytesPerCommand * (1 + tolerance) + SLACK_BYTES);
    if (!isPaced(load)) check("writesPerBatch", was.writesPerBatch + 0.05);
    check("promisesPerBatch", was.promisesPerBatch + 0.05);
  }
  return lines;
}

function nearest(stored: Stored): CountTable {
  const wanted = Number(nodeMajor());
  const majors = Object.keys(stored).sort(
    (a, b) => Math.abs(Number(a) - wanted) - Math.abs(Number(b) - wanted),
  );
  return stored[majors[0] as string] as CountTable;
}
