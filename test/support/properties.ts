/**
 * How property-based tests run: a fixed number of runs from a seed that is printed, so that a
 * failure can be repeated. SLUICE_SEED takes a seed again; SLUICE_LONG=1 takes a hundred times as
 * many runs from a seed of its own.
 */

import type { Parameters } from "fast-check";

const LONG_FACTOR = 100;
const FIXED_SEED = 20_260_601;

const isLong = process.env.SLUICE_LONG === "1";

/** SLUICE_SEED, or another one for each long run, or the same for all others. */
export function seedOfRun(): number {
  const given = process.env.SLUICE_SEED;
  if (given !== undefined && given !== "") return Number(given);
  return isLong ? Date.now() % 2 ** 31 : FIXED_SEED;
}

/** Settings for `fc.assert`. */
export function fixedRuns(numRuns: number): Parameters<unknown> {
  const seed = seedOfRun();
  console.log(`      seed ${seed}, ${isLong ? numRuns * LONG_FACTOR : numRuns} runs`);
  return { numRuns: isLong ? numRuns * LONG_FACTOR : numRuns, seed };
}
