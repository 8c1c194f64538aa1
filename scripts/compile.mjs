/**
 * Compiles src, test, scripts, benchmarks and the test kit into build/, file by file and only files that have
 * changed. It does not check types: `npm run build:test` does.
 */

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, version } from "esbuild";
import { checkout } from "./run-command.mjs";

const ROOTS = ["src", "test", "scripts", "benchmarks", "testing/src", "testing/test"];
/** Compiled elsewhere, each with settings of its own. */
const ELSEWHERE = /^test\/(?:types|package\/fixtures|consumers)\//;
const output = join(checkout, "build");
const stampPath = join(output, "compiler.txt");

/**
 * @param {string} path from the checkout
 * @returns {string} the compiled file
 */
export function compiledPath(path) {
  return join(output, path.replace(/\.ts$/, ".js"));
}

function filesIn(root, directory, ending) {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((path) => `${root}/${path.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(ending) && !path.endsWith(".d.ts") && !ELSEWHERE.test(path));
}

/** Another compiler or other settings: everything is compiled anew. */
function stamp() {
  return `${version} ${statSync(import.meta.filename).mtimeMs}`;
}

function isStale(path) {
  const compiled = compiledPath(path);
  return !existsSync(compiled) || statSync(compiled).mtimeMs < statSync(join(checkout, path)).mtimeMs;
}

/** Removes the outputs of files that are gone: they would still be found and run. */
function removeOrphans(sources) {
  for (const root of ROOTS) {
    for (const path of filesIn(root, join(output, root), ".js")) {
      if (sources.has(path.replace(/\.js$/, ".ts"))) continue;
      for (const end of ["", ".map"]) rmSync(join(output, `${path}${end}`), { force: true });
    }
  }
}

/** Tests of the built package get its modules in the place of those that are compiled here. */
const TARGET_SWITCH = {
  js: `"use strict"; if (process.env.SLUICE_TARGET === "built") { const shipped = require(${JSON.stringify(
    join(checkout, "test", "support", "shipped-modules.cjs"),
  )})(__filename.slice(${output.length + 1}, -3).replaceAll("\\\\", "/")); if (shipped !== null) return void (module.exports = shipped); }`,
};

function settings(entryPoints) {
  return {
    entryPoints,
    outdir: output,
    outbase: ".",
    absWorkingDir: checkout,
    format: "cjs",
    platform: "node",
    target: "es2022",
    sourcemap: true,
    sourcesContent: false,
    logLevel: "warning",
    logOverride: { "commonjs-variable-in-esm": "silent" },
  };
}

/** As in the package, require() of the entry gives the class, with the named exports on it. */
const ENTRY = "src/index.ts";
const CLASS_IS_MODULE = {
  js: `const names = __toCommonJS(src_exports);
module.exports = Object.defineProperties(names.Redis, Object.getOwnPropertyDescriptors(names));`,
};

const REPLACEABLE = /^export (?:abstract )?(?:class|(?:async )?function\*?) (\w+)/gm;

/** Exports are fixed once a module runs; tests that put a watching double in place of one do it through these. */
function addSetters(path) {
  const names = Array.from(
    readFileSync(join(checkout, path), "utf8").matchAll(REPLACEABLE),
    ([, name]) => name,
  );
  const setters = names.map((name) => `set ${name}(value) { ${name} = value; }`).join(", ");
  const code = `\nObject.defineProperty(module.exports, Symbol.for("sluice.setters"), { value: { ${setters} } });\n`;
  if (names.length > 0) appendFileSync(compiledPath(path), code);
}

/** Brings build/ up to date; the number of files that had changed. */
export async function compile() {
  if (!existsSync(stampPath) || readFileSync(stampPath, "utf8") !== stamp()) {
    for (const root of ROOTS) rmSync(join(output, root), { recursive: true, force: true });
  }
  const sources = ROOTS.flatMap((root) => filesIn(root, join(checkout, root), ".ts"));
  removeOrphans(new Set(sources));
  const stale = sources.filter(isStale);
  const isSource = (path) => /^(?:testing\/)?src\//.test(path);
  const plain = stale.filter((path) => !isSource(path));
  const modules = stale.filter((path) => isSource(path) && path !== ENTRY);
  if (plain.length > 0) await build(settings(plain));
  if (modules.length > 0) await build({ ...settings(modules), banner: TARGET_SWITCH });
  if (stale.includes(ENTRY)) {
    await build({ ...settings([ENTRY]), banner: TARGET_SWITCH, footer: CLASS_IS_MODULE });
  }
  for (const path of modules) addSetters(path);
  mkdirSync(output, { recursive: true });
  writeFileSync(stampPath, stamp());
  return stale.length;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const count = await compile();
  console.log(`${count} files compiled`);
}
