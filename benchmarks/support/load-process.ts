/**
 * Runs the load of one row: for each number of milliseconds on standard input it prints the figures as one line of JSON.
 *
 *   node load-process.js <job as JSON>
 */

import { createInterface } from "node:readline";
import { measurePass, openLoad } from "../scenario/round-trips";
import type { LoadJob } from "./load-turns";

async function main(): Promise<void> {
  const { row, target, sideName } = JSON.parse(process.argv[2] as string) as LoadJob;
  const { pass } = await openLoad(row, target, sideName);
  for await (const line of createInterface(process.stdin)) {
    process.stdout.write(`${JSON.stringify(await measurePass(pass, Number(line)))}\n`);
  }
  process.exit(0);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
