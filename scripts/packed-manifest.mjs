/**
 * Takes what only a checkout needs out of package.json while npm packs it: `node scripts/packed-manifest.mjs strip`
 * before, `restore` after (npm's `prepack` and `postpack`). Without it, npm warns at the first installation from a
 * tarball that it did not run `prepare`.
 */

import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkout } from "./run-command.mjs";

const FOR_CHECKOUTS = ["scripts", "devDependencies", "workspaces", "overrides"];
const path = join(checkout, "package.json");
const original = join(checkout, "build", "package.json.original");

const [step] = process.argv.slice(2);
if (step === "strip") {
  mkdirSync(dirname(original), { recursive: true });
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  // An earlier run that was interrupted left a stripped file here: the original is still the one to keep.
  if (manifest.scripts !== undefined) copyFileSync(path, original);
  for (const field of FOR_CHECKOUTS) delete manifest[field];
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
} else if (step === "restore") {
  if (existsSync(original)) renameSync(original, path);
} else {
  console.error("packed-manifest.mjs: strip or restore");
  process.exitCode = 1;
}
