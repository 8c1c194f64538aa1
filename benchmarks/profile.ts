/**
 * Prints where sluice spends its CPU time in rows of the suite: kernel, garbage collection, and the most
 * expensive functions. Shares refer to the samples of V8's profiler in which the main thread was busy. Stores
 * nothing.
 *
 *   node build/benchmarks/profile.js [--side=sluice] [--ms=3000] <row> ...
 */

import { Session } from "node:inspector/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { markdownTable } from "./report/format";
import { scenarios } from "./scenario/all-scenarios";
import type { SideName } from "./sides/all-sides";
import type { Side } from "./sides/side";
import { BenchServers } from "./support/bench-servers";
import { findPinning, pinProcess } from "./support/child-process";
import { Clock } from "./support/clock";
import { operationsOf } from "./support/dataset";
import { type LoadRow, openSide } from "./support/measure-load";
import { Meter } from "./support/meter";

const SAMPLE_MICROS = 500;
const WARM_MS = 500;
const SHOWN_FUNCTIONS = 4;
/** What the profiler calls the time in which the main thread did nothing. */
const IDLE = "(idle)";
const COLLECTOR = "(garbage collector)";

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples?: readonly number[] | undefined;
}

async function main(): Promise<void> {
  const options = {
    side: { type: "string", default: "sluice" },
    ms: { type: "string", default: "3000" },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const pinning = findPinning();
  if (pinning !== undefined) pinProcess(process.pid, pinning.clientCpu);
  const servers = await BenchServers.find(pinning?.serverCpu);
  const body: string[][] = [];
  try {
    const target = await servers.target(undefined);
    for (const row of positionals.map(rowOf)) {
      const context = { sideName: values.side as SideName, target, serverCpu: undefined, budget: NO_BUDGET };
      const side = await openSide(context, { autoPipelining: row.autoPipelining ?? false });
      body.push([row.title, ...(await profile(side, row, Number(values.ms)))]);
      await side.close();
    }
  } finally {
    await servers.stop();
  }
  const head = ["workload", "CPU µs", "kernel", "collector", "page faults", "dearest functions, by samples"];
  process.stdout.write(`${markdownTable({ head, body })}\n`);
}

const NO_BUDGET = { warmMs: 0, measureMs: 0, latencyMs: 0 };

function rowOf(id: string): LoadRow {
  const row = scenarios.flatMap(({ rows }) => rows).find((one) => one.id === id);
  if (row === undefined || !("operations" in row)) throw new Error(`no row of a plain load has the id ${id}`);
  return row as LoadRow;
}

async function profile(side: Side, { kind, width, operations }: LoadRow, ms: number): Promise<string[]> {
  const load = await side.prepare({ kind, width, operations: operationsOf(operations) });
  await load(new Clock(WARM_MS, 1, 1));
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_MICROS });
  await session.post("Profiler.start");
  const meter = new Meter();
  const faultsBefore = process.resourceUsage().minorPageFault;
  meter.start();
  const commands = await load(new Clock(ms, 1, 1));
  const faults = (process.resourceUsage().minorPageFault - faultsBefore) / commands;
  const { cpuMicros = 0, userCpuMicros = 0 } = await meter.stop(commands);
  const shares = sharesOf((await session.post("Profiler.stop")).profile);
  session.disconnect();
  const dearest = [...shares].filter(([name]) => name !== COLLECTOR).slice(0, SHOWN_FUNCTIONS);
  return [
    cpuMicros.toFixed(2),
    percent((cpuMicros - userCpuMicros) / cpuMicros),
    percent(shares.get(COLLECTOR) ?? 0),
    faults.toFixed(faults < 1 ? 2 : 0),
    dearest.map(([name, share]) => `${name} ${percent(share)}`).join(", "),
  ];
}

/** Share of each function's own samples in all that were not idle, the largest first. */
function sharesOf({ nodes, samples = [] }: Profile): Map<string, number> {
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]));
  const busy = samples.map((id) => names.get(id) ?? "").filter((name) => name !== IDLE);
  const counts = new Map<string, number>();
  for (const name of busy) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return new Map(sorted.map(([name, count]) => [name, count / busy.length]));
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  return functionName || `${path.basename(url)}:${lineNumber + 1}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
