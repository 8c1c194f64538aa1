/** Sizes of a bundled program with each client, the CPU time of loading it, and the size of the package; for docs/platforms.md. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { checkout, commandOf, npm } from "./run-command.mjs";

/** Titles of the programs, with their package and code. */
const PROGRAMS = {
  "sluice, `import { Redis }`": [
    "sluice",
    'import { Redis } from "sluice"; new Redis({ lazyConnect: true }).get;',
  ],
  "sluice, default import": ["sluice", 'import Redis from "sluice"; new Redis({ lazyConnect: true }).get;'],
  ioredis: ["ioredis", 'import Redis from "ioredis"; new Redis({ lazyConnect: true }).get;'],
  iovalkey: ["iovalkey", 'import Redis from "iovalkey"; new Redis({ lazyConnect: true }).get;'],
  "node-redis": ["redis", 'import { createClient } from "redis"; createClient().get;'],
};
const NATIVE = "@valkey/valkey-glide";
const PACK = ["pack", "--dry-run", "--json", "--ignore-scripts", "--no-workspaces", "--loglevel=error"];
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

/** The folder of a package as Node finds it from another package. */
function folderOf(name, from) {
  const nested = join(from, "node_modules", name);
  return existsSync(nested) ? nested : join(checkout, "node_modules", name);
}

function bytesIn(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  const own = files.filter(
    (one) => one.isFile() && !join(one.parentPath, "/").slice(folder.length).startsWith("/node_modules/"),
  );
  return own.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
}

function packedBytes() {
  const [file, ...first] = commandOf(npm);
  const [packed] = JSON.parse(execFileSync(file, [...first, ...PACK], { cwd: checkout, encoding: "utf8" }));
  return packed.unpackedSize;
}

/** Bytes of a package and everything that it depends on, each once. */
function installedBytes(folder, counted = new Set()) {
  if (counted.has(folder) || !existsSync(folder)) return 0;
  counted.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  const names = Object.keys({ ...dependencies, ...optionalDependencies });
  const own = folder === checkout ? packedBytes() : bytesIn(folder);
  return names.reduce((sum, name) => sum + installedBytes(folderOf(name, folder), counted), own);
}

function installedMb(name) {
  const folder = name === "sluice" ? checkout : folderOf(name, checkout);
  return (installedBytes(folder) / 1e6).toFixed(1);
}

/** @returns {Promise<string[][]>} a row for each program: title, kB, compressed kB, CPU time of loading in ms, MB of the packages */
export async function measureBundles() {
  const directory = mkdtempSync(join(tmpdir(), "sluice-bundles-"));
  const starter = join(directory, "starter.mjs");
  writeFileSync(starter, STARTER);
  const bundles = [];
  for (const [title, [name, contents]] of Object.entries(PROGRAMS)) {
    const path = join(directory, `${bundles.length}.mjs`);
    bundles.push({ title, name, path, code: await bundle(contents, path), loadMs: Number.POSITIVE_INFINITY });
  }
  for (let start = 0; start < STARTS; start++) {
    for (const one of bundles) one.loadMs = Math.min(one.loadMs, loadCpuMs(starter, one.path));
  }
  rmSync(directory, { recursive: true });
  const rows = bundles.map(({ title, name, code, loadMs }) => {
    const compressed = gzipSync(code, { level: 9 });
    const sizes = [code.length / 1000, compressed.length / 1000, loadMs].map((size) => size.toFixed(0));
    return [title, ...sizes, installedMb(name)];
  });
  return [...rows, ["valkey-glide", "native library, cannot be bundled", "–", "–", installedMb(NATIVE)]];
}
