/**
 * Measures one kind of load on one side: check, warm up, measure, then measure again with the time of every
 * command.
 *
 * Latency has a separate pass, because reading the clock twice per command would be a large part of the
 * result.
 */

import { createSide } from "../sides/all-sides";
import { type ConnectChoices, isClientSide, type Line, type LoopKind, type Side } from "../sides/side";
import { BareClient, serverInfo } from "./bare-client";
import { Clock } from "./clock";
import { checkReply, type OperationSet, operationsOf } from "./dataset";
import { type Figures, Meter } from "./meter";
import type { Row, SampleContext } from "./scenario";
import { LatencyRecorder } from "./statistics";

export interface LoadRow extends Row {
  readonly kind: LoopKind;
  readonly width: number;
  readonly operations: OperationSet;
  readonly autoPipelining?: boolean;
  readonly line?: Line;
  readonly isPatched?: boolean;
  readonly hasStorage?: boolean;
  /** Least time that it runs before it is measured; by default the budget's. */
  readonly leastWarmMs?: number;
}

/** Commands in one turn or batch, from which on each is timed and the clock is asked after each. */
const WIDE = 1000;
/** From here on one takes seconds. */
const VERY_WIDE = 1_000_000;
const LEAST_TURNS = 3;
const CHECKED_OPERATIONS = 6;

export async function measureLoad(row: LoadRow, context: SampleContext): Promise<Figures> {
  const { autoPipelining = false, line = "tcp", isPatched = false } = row;
  const choices = { autoPipelining, line, isPatched };
  const side = await openSide(context, choices);
  const figures = await measureOn(side, row, context);
  await side.close();
  return figures;
}

export async function openSide(context: SampleContext, choices: ConnectChoices): Promise<Side> {
  const side = createSide(context.sideName);
  await side.connect(context.target, choices);
  return side;
}

/** The same for a side that is connected already, for instance through a proxy. */
export async function measureOn(side: Side, row: LoadRow, context: SampleContext): Promise<Figures> {
  await checkSide(side, row);
  const { kind, width, hasStorage = false } = row;
  const load = await side.prepare({ kind, width, hasStorage, operations: operationsOf(row.operations) });
  const pass = (durationMs: number, record?: (ms: number) => void): Promise<number> =>
    load(clockOf(row, durationMs), record);
  const { budget, target } = context;
  await pass(Math.max(budget.warmMs, row.leastWarmMs ?? 0));
  const latencies = new LatencyRecorder();
  const server = await ServerMeter.open(target.nodes);
  const meter = new Meter();
  await server.start();
  meter.start();
  const commands = await pass(budget.measureMs, isWide(row) ? latencies.record : undefined);
  const figures = await meter.stop(commands);
  Object.assign(figures, await server.stop(commands));
  if (!isWide(row)) await pass(budget.latencyMs, latencies.record);
  return { ...figures, ...latencies.quantiles() };
}

/** Reading the clock before and after a thousand commands costs nothing, so no separate pass is needed. */
function isWide({ kind, width }: LoadRow): boolean {
  return (kind === "turns" || kind === "batches") && width >= WIDE;
}

function clockOf(row: LoadRow, durationMs: number): Clock {
  if (isWide(row)) return new Clock(durationMs, row.width >= VERY_WIDE ? 1 : LEAST_TURNS, 1);
  if (row.operations === "size16777216") return new Clock(durationMs, 0, 1);
  return row.kind === "turns" || row.kind === "batches"
    ? new Clock(durationMs, 0, 8)
    : new Clock(durationMs, 0);
}

async function checkSide(side: Side, row: LoadRow): Promise<void> {
  if (!isClientSide(side)) return;
  const operations = operationsOf(row.operations);
  for (const operation of operations.slice(0, CHECKED_OPERATIONS)) {
    checkReply(operation, await side.bind(operation)());
  }
  if (row.kind !== "batches") return;
  const replies = await side.bindBatch(operations, CHECKED_OPERATIONS)();
  if (!Array.isArray(replies) || replies.length !== CHECKED_OPERATIONS) {
    throw new Error("a batch did not give one result per command");
  }
}

/** The server's own counters around the measured stretch, summed over its nodes. */
class ServerMeter {
  private before: Figures = {};

  private constructor(private readonly clients: readonly BareClient[]) {}

  static async open(nodes: SampleContext["target"]["nodes"]): Promise<ServerMeter> {
    return new ServerMeter(await Promise.all(nodes.map((node) => BareClient.open(node))));
  }

  async start(): Promise<void> {
    this.before = await this.read();
  }

  async stop(commands: number): Promise<Figures> {
    const after = await this.read();
    for (const client of this.clients) client.close();
    const per = (name: string): number => ((after[name] ?? 0) - (this.before[name] ?? 0)) / commands;
    return {
      serverCpuMicros: per("cpuSeconds") * 1e6,
      serverReadsPerThousand: per("reads") * 1000,
      serverWritesPerThousand: per("writes") * 1000,
    };
  }

  private async read(): Promise<Figures> {
    const sum: Figures = { cpuSeconds: 0, reads: 0, writes: 0 };
    for (const client of this.clients) {
      const cpu = await serverInfo(client, "cpu");
      const stats = await serverInfo(client, "stats");
      sum.cpuSeconds =
        (sum.cpuSeconds ?? 0) + (cpu.get("used_cpu_user") ?? 0) + (cpu.get("used_cpu_sys") ?? 0);
      sum.reads = (sum.reads ?? 0) + (stats.get("total_reads_processed") ?? 0);
      sum.writes = (sum.writes ?? 0) + (stats.get("total_writes_processed") ?? 0);
    }
    return sum;
  }
}
