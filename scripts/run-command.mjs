/** Runs a program of the project's tools. If it fails, prints its name and ends the process. */

import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
export const npm = "npm";
const isWindows = process.platform === "win32";

/**
 * The command that starts a program. npm is a script for the shell on Windows, which Node does not start without one: there its
 * code is run by this Node itself.
 * @param {string} program
 * @returns {[file: string, ...args: string[]]}
 */
export function commandOf(program) {
  if (program !== npm || !isWindows) return [program];
  const beside = join(dirname(process.execPath), "node_modules", "npm", "bin", "npm-cli.js");
  return [process.execPath, process.env.npm_execpath ?? beside];
}

/** Ends a program and its child processes. On Windows, which has no process groups, a tool ends the tree. */
function killTree({ pid }) {
  if (isWindows) spawnSync("taskkill", ["/pid", String(pid), "/t", "/f"]);
  else process.kill(-pid, "SIGKILL");
}

/**
 * Resolves with the exit code (null if a signal ended it).
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, timeoutMs?: number, logPath?: string }} [options]
 *   `logPath`: a file that takes what the program writes, instead of the terminal
 * @returns {Promise<number | null>}
 */
export function run(program, args, options = {}) {
  const hasLimit = options.timeoutMs !== undefined;
  const log = options.logPath === undefined ? "inherit" : openSync(options.logPath, "a");
  return new Promise((resolve, reject) => {
    const [file, ...first] = commandOf(program);
    const child = spawn(file, [...first, ...args], {
      cwd: options.cwd ?? checkout,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", log, log],
      // A group of its own: what the program has started ends with it when the time is up.
      detached: hasLimit && !isWindows,
    });
    const killGroup = () => killTree(child);
    if (hasLimit) process.once("exit", killGroup);
    const timer = hasLimit ? setTimeout(killGroup, options.timeoutMs) : undefined;
    child.once("error", reject);
    child.once("exit", (code) => {
      clearTimeout(timer);
      if (log !== "inherit") closeSync(log);
      process.removeListener("exit", killGroup);
      resolve(code);
    });
  });
}

/**
 * Like `run`, but ends this process when the program fails.
 * @param {string} program
 * @param {readonly string[]} args
 */
export async function mustRun(program, args) {
  const code = await run(program, args);
  if (code === 0) return;
  console.error(`\n${program} ${args.join(" ")} failed.`);
  process.exit(code ?? 1);
}

/**
 * Runs a tool of node_modules by its script, without npx.
 * @param {string} packageName
 * @param {string} binary
 * @returns {string}
 */
export function toolPath(packageName, binary) {
  const directory = join(checkout, "node_modules", packageName);
  const { bin } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
  return join(directory, typeof bin === "string" ? bin : bin[binary]);
}

/** True if node_modules has every package of the lock file in its version. */
function isInstalled() {
  const installedPath = join(checkout, "node_modules", ".package-lock.json");
  if (!existsSync(installedPath)) return false;
  const wanted = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8")).packages;
  const installed = JSON.parse(readFileSync(installedPath, "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, entry]) => path === "" || entry.optional || installed[path]?.version === entry.version,
  );
}

/** Installs what package-lock.json names, unless it is there already. */
export async function ensureInstalled() {
  if (isInstalled()) return;
  console.log("Installing dependencies ...");
  await mustRun(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
}
