/**
 * Core rows that are also measured on other runtimes: `--runtime=` names their executables. Only the sample
 * processes run on these. The suite and the server do not change.
 */

import { execFileSync } from "node:child_process";
import type { SideName } from "../sides/all-sides";
import type { Row, Scenario } from "../support/scenario";
import { scenarios } from "./all-scenarios";

export const RUNTIME_ROWS: readonly string[] = [
  "sequential-get",
  "flight-50-16",
  "flight-1000-16",
  "all-1000-default",
  "callers-200-auto",
  "handlers-200-default",
  "pipeline-100",
  "pipeline-1000",
  "hgetall-1000",
  "storage-off",
  "storage-on",
];

export const RUNTIME_SIDES: readonly SideName[] = ["sluice", "ioredis", "raw+p"];
export const RUNTIME_ROUNDS = 2;

/** Rows with the scenarios that measure them; with words, those whose ids contain one. */
export function runtimePlan(words: readonly string[]): { readonly scenario: Scenario; readonly row: Row }[] {
  return scenarios.flatMap((scenario) =>
    scenario.rows
      .filter(({ id }) => RUNTIME_ROWS.includes(id))
      .filter(({ id }) => words.length === 0 || words.some((word) => id.includes(word)))
      .map((row) => ({ scenario, row })),
  );
}

/** "Node 24.1.0", as the executable itself says. */
export function nameOfRuntime(executable: string): string {
  const ask = (what: string): string => execFileSync(executable, ["-p", what], { encoding: "utf8" }).trim();
  const bun = ask("process.versions.bun || ''");
  return bun === "" ? `Node ${ask("process.versions.node")}` : `Bun ${bun}`;
}
