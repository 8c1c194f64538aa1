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
/** Loading is measured in processes of their own; the lowest figure has the least of other work in it. */
const STARTS = 25;
const STARTER = `
const before = process.cpuUsage();
await import(process.argv[2]);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
process.exit();
`;

function loadCpuMs(starter, path) {
  const times = Array.from({ length: STARTS }, () =>
    Number(execFileSync(process.execPath, [starter, path], { encoding: "utf8" })),
  );
  return Math.min(...times);
}

/** @returns {Promise<string[][]>} a row for each program: title, kB, compressed kB, CPU time of loading in ms */
export async function measureBundles() {
  const directory = mkdtempSync(join(tmpdir(), "sluice-bundles-"));
  const starter = join(directory, "starter.mjs");
  writeFileSync(starter, STARTER);
  const rows = [];
  for (const [title, contents] of Object.entries(PROGRAMS)) {
    const outfile = join(directory, `${rows.length}.mjs`);
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
    const code = readFileSync(outfile);
    const sizes = [code.length, gzipSync(code, { level: 9 }).length].map((bytes) =>
      (bytes / 1000).toFixed(0),
    );
    rows.push([title, ...sizes, loadCpuMs(starter, outfile).toFixed(0)]);
  }
  rmSync(directory, { recursive: true });
  rows.push(["Valkey GLIDE", "native library, cannot be bundled", "", ""]);
  return rows;
}
