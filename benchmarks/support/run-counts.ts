/** Runs the counts against a server, in a fresh process with the flags they need. */

import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { CountTable } from "./count-baseline";
import { COUNT_FLAGS } from "./counts";
import { seed } from "./dataset";
import { compiledFolder } from "./project";

const TIMEOUT_MS = 120_000;

/**
 * @param modulePath The built module whose exports are the client class.
 * @param telemetryPath The one of `sluice/otel`, which is to have listened and to have ceased before the count.
 */
export async function runCounts(
  modulePath: string,
  port: number,
  telemetryPath?: string,
): Promise<CountTable> {
  await seed([{ host: "127.0.0.1", port }]);
  const script = path.join(compiledFolder, "support", "counts-process.js");
  const own = [modulePath, String(port), ...(telemetryPath === undefined ? [] : [telemetryPath])];
  const args = [...COUNT_FLAGS, script, ...own];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: TIMEOUT_MS });
  return JSON.parse(stdout) as CountTable;
}
