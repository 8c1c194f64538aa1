/**
 * Builds the documentation site into build/site/dist: `npm run docs`, with `-- --serve` also shows it, and with
 * `-- --base=/sluice/` for a place below the root of its host.
 * The generator has a package of its own in site/, which is installed when it is first needed.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkout, ensureInstalled, mustRun, npm } from "./run-command.mjs";

const site = join(checkout, "site");
const vitepress = join(site, "node_modules", "vitepress", "bin", "vitepress.js");

await ensureInstalled();
const { devDependencies } = JSON.parse(readFileSync(join(site, "package.json"), "utf8"));
if (!Object.keys(devDependencies).every((name) => existsSync(join(site, "node_modules", name)))) {
  // Not `npm ci`: it refuses a lock file in which a binary for some other system is missing.
  const options = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  await mustRun(npm, ["install", "--prefix", site, ...options]);
}
await mustRun(process.execPath, [join("scripts", "compile.mjs")]);
await mustRun(process.execPath, [join("build", "scripts", "site", "assemble.js")]);
// Imported here because it needs the packages that are installed above.
const { bundlePlayground } = await import("./site/playground-bundle.mjs");
await bundlePlayground(join(checkout, "build", "site", "public"));
const base = process.argv.filter((argument) => argument.startsWith("--base="));
await mustRun(process.execPath, [vitepress, "build", "site", ...base]);
if (process.argv.includes("--serve"))
  await mustRun(process.execPath, [vitepress, "preview", "site", ...base]);
