/**
 * One sample: this process measures one row on one side once, prints the figures as one line of JSON, and ends.
 *
 *   node sample-process.js <job as JSON>
 */

import { findScenario } from "../scenario/all-scenarios";
import type { Row, SampleJob, Scenario } from "./scenario";

async function main(): Promise<void> {
  const job = JSON.parse(process.argv[2] as string) as SampleJob;
  const scenario: Scenario = findScenario(job.scenario);
  const row = scenario.rows.find(({ id }) => id === job.row) as Row;
  const { nodes, isCluster, unixPath, tls } = job;
  const target = { nodes, isCluster, unixPath, tls };
  const figures = await scenario.measure(row, {
    sideName: job.side,
    target,
    budget: job.budget,
    serverCpu: job.serverCpu,
  });
  process.stdout.write(`${JSON.stringify({ figures })}\n`, () => process.exit(0));
}

main().catch((error: unknown) => {
  // One line: the rest of a "module not found" is the list of who asked for it.
  const failure = (error instanceof Error ? error.message : String(error)).split("\n", 1)[0];
  process.stdout.write(`${JSON.stringify({ failure })}\n`, () => process.exit(1));
});

// A parent that is gone takes its samples with it.
process.stdin.resume();
process.stdin.on("close", () => process.exit(1));
