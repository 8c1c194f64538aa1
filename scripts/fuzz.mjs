/**
 * Random tests for any time: `npm run fuzz -- --minutes=10 --seed=1`. Each round runs the property-based
 * tests with a new seed, and a short test over an unreliable connection. The first failing round ends the run
 * and prints its seed, which `--seed=... --minutes=0` repeats.
 */

import { join } from "node:path";
import { checkout, run, toolPath } from "./run-command.mjs";

const TRIALS = [
  "unit/protocol/parser-properties",
  "fault/arguments",
  "fault/hostile-cluster",
  "fault/hostile-sentinel",
  "fault/random-programs",
  "cluster/random-programs",
  "fault/soak",
];
const SEEDS = 2 ** 31;

/**
 * @param {string} name
 * @param {number} fallback
 */
function numberOption(name, fallback) {
  const word = process.argv.slice(2).find((one) => one.startsWith(`--${name}=`));
  if (word === undefined) return fallback;
  const value = Number(word.slice(name.length + 3));
  if (Number.isFinite(value) && value >= 0) return value;
  console.error(`--${name}= wants a number`);
  process.exit(1);
}

const minutes = numberOption("minutes", 10);
let seed = numberOption("seed", Date.now() % SEEDS);
const files = TRIALS.map((name) => join(checkout, "build", "test", `${name}.test.js`));
const endAt = Date.now() + minutes * 60_000;

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
for (let round = 1; round === 1 || Date.now() < endAt; round++, seed = (seed + 1) % SEEDS) {
  console.log(`\nround ${round}, seed ${seed}`);
  const mocha = [toolPath("mocha", "mocha"), "--reporter", "dot", ...files];
  const code = await run(process.execPath, mocha, {
    env: { SLUICE_SEED: String(seed) },
    timeoutMs: 600_000,
  });
  if (code === 0) continue;
  console.error(`\nFailed with seed ${seed}: npm run fuzz -- --minutes=0 --seed=${seed}`);
  process.exit(1);
}
