/**
 * The cost of loading a package: time of `require` in a new process, and bytes of code.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { CLIENT_SIDES, packageOf, type SideName } from "../sides/all-sides";
import type { Figures } from "../support/meter";
import { projectRoot } from "../support/project";
import type { Row, SampleContext, Scenario } from "../support/scenario";

const LOADS = 7;
const KIBIBYTE = 1024;
const PROBE = `const start = performance.now();
require(process.argv[1]);
process.stdout.write(String(performance.now() - start));
process.exit(0);`;

export const loadCost: Scenario = {
  id: "load-cost",
  rounds: 1,
  title: "Load time and size",
  about:
    "Median time of `require` in seven new processes, and the size of the code (`.js`, `.mjs`, `.cjs`, `.node`, without declarations and source maps), of the package alone and with its dependencies.",
  isOffline: true,
  columns: [
    { figure: "loadMs", title: "load ms", digits: 1, pick: "median" },
    { figure: "ownKiB", title: "own code KiB", digits: 0, pick: "median" },
    { figure: "allKiB", title: "with dependencies KiB", digits: 0, pick: "median" },
  ],
  rows: [{ id: "load", title: "require", sides: CLIENT_SIDES.filter((side) => side !== "redis-nt") }],
  measure: measureLoadCost,
};

async function measureLoadCost(_row: Row, context: SampleContext): Promise<Figures> {
  const entry = entryOf(context.sideName);
  const times = Array.from({ length: LOADS }, () =>
    Number(execFileSync(process.execPath, ["-e", PROBE, entry])),
  );
  times.sort((a, b) => a - b);
  const folder = packageFolder(context.sideName);
  const seen = new Set<string>();
  const ownBytes = codeBytes(folder);
  return {
    loadMs: times[LOADS >> 1] as number,
    ownKiB: ownBytes / KIBIBYTE,
    allKiB: (ownBytes + dependencyBytes(manifestFolder(folder), seen)) / KIBIBYTE,
  };
}

function entryOf(side: SideName): string {
  const name = packageOf(side);
  return name === undefined ? packageFolder(side) : require.resolve(name);
}

function packageFolder(side: SideName): string {
  if (side === "sluice") return path.join(projectRoot, "built");
  if (side === "before") return process.env.BENCH_BEFORE as string;
  return path.join(projectRoot, "node_modules", packageOf(side) as string);
}

function manifestFolder(folder: string): string {
  return fs.existsSync(path.join(folder, "package.json")) ? folder : path.dirname(folder);
}

function codeBytes(folder: string): number {
  let bytes = 0;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "node_modules") bytes += codeBytes(file);
    else if (entry.isFile() && /\.(js|mjs|cjs|node)$/.test(entry.name)) bytes += fs.statSync(file).size;
  }
  return bytes;
}

/** Everything that npm installs for it and that is installed here; each package once. */
function dependencyBytes(folder: string, seen: Set<string>): number {
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
  let bytes = 0;
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    const nested = path.join(folder, "node_modules", name);
    const dependency = fs.existsSync(nested) ? nested : path.join(projectRoot, "node_modules", name);
    if (seen.has(dependency) || !fs.existsSync(dependency)) continue;
    seen.add(dependency);
    bytes += codeBytes(dependency) + dependencyBytes(dependency, seen);
  }
  return bytes;
}
