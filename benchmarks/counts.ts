/**
 * Prints the counts of the built package, and stores them as the new baseline when asked.
 *
 *   node build/benchmarks/counts.js [--update]
 */

import path from "node:path";
import { parseArgs } from "node:util";
import { findAnyServer } from "../scripts/servers/find-server";
import { ServerProcess } from "../scripts/servers/server-process";
import { terminalTable } from "./report/format";
import { type CountTable, regressions, storeBaseline } from "./support/count-baseline";
import { projectRoot } from "./support/project";
import { runCounts } from "./support/run-counts";

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { update: { type: "boolean", default: false } } });
  const server = await ServerProcess.start({ binary: await findAnyServer() });
  try {
    const counts = await runCounts(path.join(projectRoot, "built", "index.js"), server.port);
    process.stdout.write(`${table(counts)}\n`);
    if (values.update) storeBaseline(counts);
    else process.exitCode = report(regressions(counts));
  } finally {
    await server.stop();
  }
}

function table(counts: CountTable): string {
  const body = Object.entries(counts).map(([load, { bytesPerCommand, writesPerBatch, promisesPerBatch }]) => [
    load,
    bytesPerCommand.toFixed(0),
    writesPerBatch.toFixed(1),
    promisesPerBatch.toFixed(1),
  ]);
  return terminalTable({ head: ["", "bytes/command", "writes/batch", "promises/batch"], body });
}

function report(lines: readonly string[]): number {
  process.stdout.write(lines.length === 0 ? "no regression\n" : `${lines.join("\n")}\n`);
  return lines.length === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
