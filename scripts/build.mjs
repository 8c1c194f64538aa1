/**
 * Builds the package: the compiler writes CommonJS and declarations to built/, the CommonJS files
 * become one, then the ES module entry is made, which re-exports that one copy. Its names are those that Node itself finds in the
 * CommonJS entry, so that they cannot go stale.
 */

import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "./bundle.mjs";
import { checkout, mustRun, toolPath } from "./run-command.mjs";

const built = join(checkout, "built");
/** Names that a namespace of a CommonJS module has besides its exports. */
const NOT_EXPORTS = ["default", "module.exports", "__esModule"];

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

async function namesOf(path) {
  const entry = join(built, path);
  const namespace = await import(pathToFileURL(entry).href);
  const main = createRequire(import.meta.url)(entry);
  const names = Object.keys(namespace).filter((name) => !NOT_EXPORTS.includes(name));
  for (const name of names) {
    if (!IDENTIFIER.test(name)) throw new Error(`Export ${name} cannot be named in an ES module`);
    if (main[name] === undefined) throw new Error(`Export ${name} is announced but not there`);
  }
  return names.sort();
}

function writeModuleEntry(names) {
  const code = [
    "// Made by the build: the same classes as require() gives, under the names of an ES module.",
    'import sluice from "./index.js";',
    ...names.map((name) => `export const ${name} = sluice.${name};`),
    "export default sluice;",
    "",
  ];
  writeFileSync(join(built, "index.mjs"), code.join("\n"));
  const types = ['export * from "./index.js";', 'export { Redis as default } from "./index.js";', ""];
  writeFileSync(join(built, "index.d.mts"), types.join("\n"));
}

rmSync(built, { recursive: true, force: true });
// Comments stay in the declarations, where editors show them, and leave the code.
const compiler = [toolPath("typescript", "tsc"), "-p", "tsconfig.json"];
await mustRun(process.execPath, [...compiler, "--declaration", "false", "--removeComments"]);
await mustRun(process.execPath, [...compiler, "--emitDeclarationOnly"]);
// The compiler indents by four spaces; a tab each and no semicolons make the package a seventh smaller and read the same.
const formatter = toolPath("@biomejs/biome", "biome");
const layout = ["--config-path", join("scripts", "built-format.json"), "--log-level=error"];
await mustRun(process.execPath, [formatter, "format", "--write", ...layout, "built"]);
const entries = {};
for (const path of ["index.js", "Command.js", "utils/index.js"]) entries[path] = await namesOf(path);
bundle(built, entries);
writeModuleEntry(entries["index.js"]);
