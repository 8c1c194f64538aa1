/**
 * Results as plain JSON: figures, date, machine and versions. There is one stored file, and the last run.
 *
 * A scenario is replaced as a whole, so that figures that are compared with each other always come from one
 * run.
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { packageOf, type SideName } from "../sides/all-sides";
import { projectRoot, resultsFolder } from "./project";
import type { SideSamples } from "./sampler";
import type { Column } from "./scenario";
import { type Spread, spreadOf } from "./statistics";

export interface SideResult {
  readonly figures: Record<string, Spread>;
  /** The figures of each round, in order, where rows take turns: ratios are taken within a round. */
  readonly rounds?: Record<string, readonly number[]>;
  readonly failure?: string;
}

export interface RowResult {
  readonly title: string;
  readonly sides: Partial<Record<SideName, SideResult>>;
}

export interface ScenarioResult {
  readonly title: string;
  readonly measuredAt: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly measureMs: number;
  readonly isPinned: boolean;
  /** One-minute load average before the scenario: how busy the machine was with other things. */
  readonly loadBefore: number;
  /** How long it took to measure. */
  readonly tookSeconds?: number;
  readonly server: string;
  readonly versions: Record<string, string>;
  readonly rows: Record<string, RowResult>;
}

export interface Machine {
  readonly processor: string;
  readonly cpus: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
}

export interface Results {
  readonly scenarios: Record<string, ScenarioResult>;
  /** The same rows on other runtimes, by name and version. */
  readonly runtimes?: Record<string, ScenarioResult>;
}

export const STORED_FILE = path.join(resultsFolder, "latest.json");

export function describeMachine(): Machine {
  return {
    processor: os.cpus()[0]?.model.trim() || os.arch(),
    cpus: os.availableParallelism(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release().replace(/^(\d+\.\d+).*/, "$1")} ${os.arch()}`,
    node: process.version,
  };
}

/** `compared` are the columns of rows that take turns; their figures are kept for each round. */
export function summarize(
  samples: ReadonlyMap<SideName, SideSamples>,
  title: string,
  compared: readonly Column[] = [],
): RowResult {
  const sides: Partial<Record<SideName, SideResult>> = {};
  for (const [side, { samples: taken, failure }] of samples) {
    const names = new Set(taken.flatMap((figures) => Object.keys(figures)));
    const figures: Record<string, Spread> = {};
    for (const name of names) {
      const values = taken.map((sample) => sample[name]).filter((value) => value !== undefined);
      figures[name] = spreadOf(values);
    }
    const rounds = Object.fromEntries(
      compared.map(({ figure }) => [figure, taken.map((sample) => sample[figure] ?? Number.NaN)]),
    );
    sides[side] = {
      figures,
      ...(compared.length > 0 && { rounds }),
      ...(failure !== undefined && { failure }),
    };
  }
  return { title, sides };
}

export function versionsOf(sides: readonly SideName[]): Record<string, string> {
  const versions: Record<string, string> = {};
  for (const side of sides) {
    const name = packageOf(side);
    const folder = name === undefined ? undefined : path.join(projectRoot, "node_modules", name);
    if (folder !== undefined) versions[name as string] = versionIn(folder);
    else if (side === "sluice") versions.sluice = versionIn(projectRoot);
  }
  return versions;
}

function versionIn(folder: string): string {
  return (JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as { version: string })
    .version;
}

export function readStored(file: string = STORED_FILE): Results | undefined {
  if (!fs.existsSync(file)) return undefined;
  return JSON.parse(fs.readFileSync(file, "utf8"), expand) as Results;
}

/** Scenarios and runtimes of `fresh` take the place of those in `stored`; the others stay. */
export function merge(stored: Results | undefined, fresh: Results): Results {
  return {
    scenarios: { ...stored?.scenarios, ...fresh.scenarios },
    runtimes: { ...stored?.runtimes, ...fresh.runtimes },
  };
}

export function writeResults(results: Results, file: string = STORED_FILE): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const text = JSON.stringify(results, compact, 1);
  // One line for each object of figures: the file stays readable, and changes to it too.
  fs.writeFileSync(
    file,
    `${text.replace(/"(?:figures|rounds|machine)": \{[^}]*\}/g, (object) => object.replace(/\n\s*/g, " "))}\n`,
  );
}

/** A spread is stored as "median least most", or as one number when all samples agree. Four digits say enough. */
function compact(_key: string, value: unknown): unknown {
  if (typeof value === "number") return fourDigits(value);
  if (!isSpread(value)) return value;
  const { median, least, most } = value;
  return least === most ? fourDigits(median) : [median, least, most].map(fourDigits).join(" ");
}

function fourDigits(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

function isSpread(value: unknown): value is Spread {
  return (
    typeof value === "object" && value !== null && "median" in value && "least" in value && "most" in value
  );
}

function expand(key: string, value: unknown): unknown {
  if (key !== "figures") return value;
  const figures: Record<string, Spread> = {};
  for (const [name, stored] of Object.entries(value as Record<string, string | number>)) {
    const [median = Number.NaN, least = median, most = median] = String(stored).split(" ").map(Number);
    figures[name] = { median, least, most };
  }
  return figures;
}
