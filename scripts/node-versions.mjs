/**
 * Other versions of Node, from the registry package `node`, kept in the cache directory. Only the
 * long test run needs them.
 */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { checkout, mustRun, npm } from "./run-command.mjs";

/**
 * Path of the binary of a major version.
 * @param {string} version
 * @returns {Promise<string>}
 */
export async function nodeBinary(version) {
  const directory = join(process.env.SLUICE_CACHE ?? join(checkout, ".cache"), `node-${version}`);
  const binary = join(directory, "node_modules", "node", "bin", "node");
  if (existsSync(binary)) return binary;
  mkdirSync(directory, { recursive: true });
  console.log(`\nGetting Node ${version} ...`);
  const options = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
  await mustRun(npm, ["install", "--prefix", directory, ...options, `node@${version}`]);
  return binary;
}
