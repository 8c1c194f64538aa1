/** Compilers and package managers in the versions of test/package/tools, kept in the cache from run to run. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory, checkoutDirectory } from "../../scripts/servers/cache-directory";

const run = promisify(execFile);
const home = join(checkoutDirectory(), "test", "package", "tools");

/** The directory with the node_modules of the tools. */
export async function installTools(): Promise<string> {
  const key = createHash("sha256")
    .update(readFileSync(join(home, "package-lock.json")))
    .digest("hex")
    .slice(0, 16);
  const directory = join(cacheDirectory(), "tools", key);
  if (existsSync(join(directory, "installed"))) return directory;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(home, name), join(directory, name));
  // Every compiler calls itself tsc: they are run by their scripts.
  const options = ["--no-bin-links", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["ci", ...options], { cwd: directory });
  writeFileSync(join(directory, "installed"), "");
  return directory;
}
