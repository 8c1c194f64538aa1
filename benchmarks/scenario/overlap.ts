/**
 * Closed loops between a client and a server that both have work to do: do they work at the same time, or in turns?
 *
 * A client that gathers everything into one write and answers everything from one read makes the two sides take
 * turns. The rows cover callers, the time the server spends on a command, the work that a caller does between two
 * commands, and the length of the line.
 */

import { createSide, type SideName } from "../sides/all-sides";
import { type ClientSide, isClientSide } from "../sides/side";
import { startSlowServer } from "../support/child-process";
import { Clock } from "../support/clock";
import { keyOf, numbers } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

interface OverlapRow extends Row {
  readonly callers: number;
  readonly serverMicros: number;
  readonly workMicros: number;
  readonly lineMs: number;
}

const CALLERS = [1, 2, 5, 10, 20, 50, 100, 200, 1000];
const SERVER_MICROS = [0, 5, 20];
const WORK_MICROS = [0, 15, 100];
const LINES_MS = [0, 0.2, 1];
const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "redis-nt"];
const KEYS = 1000;

export const overlap: Scenario<OverlapRow> = {
  id: "overlap",
  rounds: 3,
  title: "Client and server at work together",
  about:
    "Callers await a GET, work for a while and ask again; the server spends some time on every command. A client that makes both sides take turns loses up to half of what they could do. The server is a scripted one, so that its time is known; it runs on a core of its own.",
  columns: [OPS, P50, P99, CPU],
  rows: LINES_MS.flatMap((lineMs) =>
    WORK_MICROS.flatMap((workMicros) =>
      SERVER_MICROS.flatMap((serverMicros) =>
        CALLERS.map((callers) => ({
          id: `overlap-${callers}c-${serverMicros}s-${workMicros}w-${lineMs}l`,
          title: `${callers} callers, server ${serverMicros} µs, own work ${workMicros} µs, line ${lineMs} ms`,
          sides: SIDES,
          callers,
          serverMicros,
          workMicros,
          lineMs,
        })),
      ),
    ),
  ),
  measure: measureOverlap,
};

function work(micros: number): void {
  const endMs = performance.now() + micros / 1000;
  while (performance.now() < endMs);
}

/** Callers that record the time of every command: two looks at the clock are the same for all sides. */
async function run(
  side: ClientSide,
  row: OverlapRow,
  durationMs: number,
  latencies: LatencyRecorder,
): Promise<number> {
  const issues = numbers(KEYS).map((index) => side.bind({ kind: "get", key: keyOf("s", index) }));
  const clock = new Clock(durationMs, 0, 1);
  let done = 0;
  const caller = async (first: number): Promise<void> => {
    let at = first % issues.length;
    do {
      const issue = issues[at] as () => Promise<unknown>;
      at = at + 1 === issues.length ? 0 : at + 1;
      const startMs = performance.now();
      await issue();
      latencies.record(performance.now() - startMs);
      done++;
      if (row.workMicros > 0) work(row.workMicros);
    } while (!clock.expired());
  };
  await Promise.all(numbers(row.callers).map((index) => caller(index * 7)));
  return done;
}

async function measureOverlap(row: OverlapRow, context: SampleContext): Promise<Figures> {
  const server = await startSlowServer(row.serverMicros, row.lineMs, context.serverCpu);
  const side = createSide(context.sideName);
  if (!isClientSide(side)) throw new Error(`${side.name} offers no single commands`);
  await side.connect({ nodes: [server.address], isCluster: false }, { autoPipelining: false });
  await run(side, row, context.budget.warmMs, new LatencyRecorder());
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await run(side, row, context.budget.measureMs, latencies));
  await side.close();
  server.stop();
  return { ...figures, ...latencies.quantiles() };
}
