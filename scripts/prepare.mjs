/**
 * npm runs this when the package is installed from a folder or from git, and in a checkout after every
 * installation. Packages from a registry are already built, so npm does not run it for these.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { checkout, mustRun, npm } from "./run-command.mjs";

/** Set for what this starts itself, which must not begin anew. */
const MARK = "SLUICE_PREPARING";
const TOOLS = ["rolldown", "rolldown-plugin-dts", "typescript/package.json"];

function hasTools() {
  const require = createRequire(import.meta.url);
  return TOOLS.every((name) => {
    try {
      return existsSync(require.resolve(name));
    } catch {
      return false;
    }
  });
}

if (process.env[MARK] === undefined) {
  process.env[MARK] = "1";
  // A folder that is only linked comes without the tools that build it.
  if (!hasTools()) await mustRun(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  await mustRun(process.execPath, [join(checkout, "scripts", "build.mjs")]);
}
