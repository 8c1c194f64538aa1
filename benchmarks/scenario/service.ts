/**
 * What a service does: callers, runs and requests at their own pace, on one server, on several clients and on a
 * cluster, over connections with a round trip, with a core of its own, beside another program on the client's core,
 * and with one core for client and server.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { createSide, PEER_SIDES, type SideName } from "../sides/all-sides";
import type { Load, LoopKind, Side } from "../sides/side";
import { pinProcess, startDelayProxy } from "../support/child-process";
import { Clock } from "../support/clock";
import { operationsOf } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

/** `own`: client and server have a core each. `shared`: another program computes on the client's core. `one`: one core for both. */
type Cores = "own" | "shared" | "one";

interface ServiceRow extends Row {
  readonly kind: LoopKind;
  readonly width: number;
  readonly clients: number;
  readonly operations: "mixed16" | "mixed1k";
  readonly roundTripMs: number;
  readonly cores: Cores;
}

interface ServiceLoad {
  readonly id: string;
  readonly title: string;
  readonly kind: LoopKind;
  readonly width: number;
  readonly clients?: number;
  readonly masters?: number;
  readonly operations?: "mixed16" | "mixed1k";
  readonly roundTripMs?: number;
}

const SIDES: readonly SideName[] = ["sluice", "sluice-turn", "before", ...PEER_SIDES];
const MASTERS = 3;

const callers = (width: number): ServiceLoad => ({
  id: `callers-${width}`,
  title: `${width} callers`,
  kind: "callers",
  width,
});

const LOADS: readonly ServiceLoad[] = [
  ...[5, 10, 20, 50, 200, 1000].map(callers),
  { ...callers(50), id: "callers-50-1k", title: "50 callers, 1 KiB", operations: "mixed1k" },
  ...[0.2, 1, 10].flatMap((roundTripMs) =>
    [10, 200].map((width) => ({
      ...callers(width),
      id: `callers-${width}-${roundTripMs}ms`,
      title: `${width} callers, ${roundTripMs} ms`,
      roundTripMs,
    })),
  ),
  { ...callers(40), id: "clients-2", title: "40 callers on 2 clients", clients: 2 },
  { ...callers(40), id: "clients-4", title: "40 callers on 4 clients", clients: 4 },
  ...[2000, 5000, 20_000].map((width) => ({
    id: `pace-${width}`,
    title: `${width.toLocaleString("en")} a second`,
    kind: "arrivals" as const,
    width,
  })),
  { ...callers(20), id: "cluster-20", title: "20 callers, cluster", masters: MASTERS },
  { ...callers(100), id: "cluster-100", title: "100 callers, cluster", masters: MASTERS },
  { id: "cluster-run-300", title: "300 in one run, cluster", kind: "turns", width: 300, masters: MASTERS },
];

const CORES: readonly { readonly cores: Cores; readonly title: string }[] = [
  { cores: "own", title: "" },
  { cores: "shared", title: ", core shared" },
  { cores: "one", title: ", one core" },
];

export const service: Scenario<ServiceRow> = {
  id: "service",
  rounds: 3,
  title: "Loads of a service",
  about:
    "Callers issue the next command after each reply. Runs issue all commands at once. Arrivals come at a fixed rate. Each load runs with one core for the client and one for the server, then with another program on the client's core, then with one core for client and server.",
  columns: [OPS, CPU, P50, P99],
  rows: CORES.flatMap(({ cores, title }) =>
    LOADS.map((load) => ({
      clients: 1,
      operations: "mixed16" as const,
      roundTripMs: 0,
      ...load,
      id: `service-${cores}-${load.id}`,
      title: load.title + title,
      sides: SIDES,
      cores,
    })),
  ),
  measure: measureService,
};

async function measureService(row: ServiceRow, context: SampleContext): Promise<Figures> {
  const { target, serverCpu } = context;
  const [first] = target.nodes;
  if (first === undefined) throw new Error("no server");
  const proxy = row.roundTripMs > 0 ? await startDelayProxy(first, row.roundTripMs, serverCpu) : null;
  const at = proxy === null ? target : { nodes: [proxy.address], isCluster: false };
  if (row.cores === "one" && serverCpu !== undefined) pinProcess(process.pid, serverCpu);
  const sides: Side[] = Array.from({ length: row.clients }, () => createSide(context.sideName));
  for (const side of sides) await side.connect(at, { autoPipelining: false });
  const operations = operationsOf(row.operations);
  const width = Math.ceil(row.width / row.clients);
  const loads: Load[] = await Promise.all(
    sides.map((side) => side.prepare({ kind: row.kind, width, operations })),
  );
  const pass = async (durationMs: number, record?: (ms: number) => void): Promise<number> => {
    const done = await Promise.all(loads.map((load) => load(new Clock(durationMs, 0, 1), record)));
    return done.reduce((sum, one) => sum + one, 0);
  };
  await pass(context.budget.warmMs);
  const other = row.cores === "shared" ? computeOnThisCore() : null;
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs, latencies.record));
  other?.kill();
  for (const side of sides) await side.close();
  proxy?.stop();
  return { ...figures, ...latencies.quantiles() };
}

/** Another program that inherits the cores of this process. */
function computeOnThisCore(): ChildProcess {
  return spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
}
