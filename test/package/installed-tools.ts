/**
 * The tools that the package is tried with, in the versions of test/package/tools (compilers and package managers) and of
 * test/package/runners (test runners), kept in the cache from run to run.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory, checkoutDirectory } from "../../scripts/servers/cache-directory";

const run = promisify(execFile);

/** The directory with the node_modules of the tools or of the runners. */
export async function installTools(kind: "tools" | "runners" = "tools"): Promise<string> {
  const home = join(checkoutDirectory(), "test", "package", kind);
  const key = createHash("sha256")
    .update(readFileSync(join(home, "package-lock.json")))
    .digest("hex")
    .slice(0, 16);
  const directory = join(cacheDirectory(), kind, key);
  if (existsSync(join(directory, "installed"))) return directory;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(home, name), join(directory, name));
  // Every compiler calls itself tsc: they are run by their scripts.
  // Not `npm ci`: it refuses a lock file in which a binary for some other system is missing.
  const options = [
    "--no-save",
    "--no-bin-links",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  await run("npm", ["install", ...options], { cwd: directory });
  writeFileSync(join(directory, "installed"), "");
  return directory;
}
