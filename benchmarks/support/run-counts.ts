/** Runs the counts against a server, in a fresh process with the flags they need. */

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { CountTable } from "./count-baseline";
import { COUNT_FLAGS } from "./counts";
import { seed } from "./dataset";
import { compiledFolder } from "./project";

const TIMEOUT_MS = 120_000;

/** `modulePath`: the built module whose exports are the client class. */
export async function runCounts(modulePath: string, port: number): Promise<CountTable> {
  await seed([{ host: "127.0.0.1", port }]);
  const script = path.join(compiledFolder, "support", "counts-process.js");
  const args = [...COUNT_FLAGS, script, modulePath, String(port)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: TIMEOUT_MS });
  return JSON.parse(stdout) as CountTable;
}
