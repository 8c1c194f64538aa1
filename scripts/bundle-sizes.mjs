/** Sizes of a bundled program with each client, and the CPU time of loading it; for docs/platforms.md. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { checkout } from "./run-command.mjs";

const PROGRAMS = {
  "sluice, `import { Redis }`": 'import { Redis } from "sluice"; new Redis({ lazyConnect: true }).get;',
  "sluice, default import": 'import Redis from "sluice"; new Redis({ lazyConnect: true }).get;',
  ioredis: 'import Redis from "ioredis"; new Redis({ lazyConnect: true }).get;',
  iovalkey: 'import Redis from "iovalkey"; new Redis({ lazyConnect: true }).get;',
  "node-redis": 'import { createClient } from "redis"; createClient().get;',
};
/** Each start is a process of its own, and the programs take turns. The lowest figure contains the least other work. */
const STARTS = 25;
const STARTER = `
const before = process.cpuUsage();
await import(process.argv[2]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
process.exit();
`;

function loadCpuMs(starter, path) {
  return Number(execFileSync(process.execPath, [starter, path], { encoding: "utf8" }));
}

/** @returns {Promise<Buffer>} the code of the bundle, which is also in the file */
async function bundle(contents, outfile) {
  await build({
    stdin: { contents, resolveDir: join(checkout, "scripts") },
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    // The peers are CommonJS, and ask for modules of Node with require().
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    outfile,
  });
  return readFileSync(outfile);
}

/** @returns {Promise<string[][]>} a row for each program: title, kB, compressed kB, CPU time of loading in ms */
export async function measureBundles() {
  const directory = mkdtempSync(join(tmpdir(), "sluice-bundles-"));
  const starter = join(directory, "starter.mjs");
  writeFileSync(starter, STARTER);
  const bundles = [];
  for (const [title, contents] of Object.entries(PROGRAMS)) {
    const path = join(directory, `${bundles.length}.mjs`);
    bundles.push({ title, path, code: await bundle(contents, path), loadMs: Number.POSITIVE_INFINITY });
  }
  for (let start = 0; start < STARTS; start++) {
    for (const one of bundles) one.loadMs = Math.min(one.loadMs, loadCpuMs(starter, one.path));
  }
  rmSync(directory, { recursive: true });
  const rows = bundles.map(({ title, code, loadMs }) => {
    const compressed = gzipSync(code, { level: 9 });
    return [title, ...[code.length / 1000, compressed.length / 1000, loadMs].map((size) => size.toFixed(0))];
  });
  return [...rows, ["valkey-glide", "native library, cannot be bundled", "", ""]];
}
