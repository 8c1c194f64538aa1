/**
 * Closed loops between a client and a server that both have work to do: do they work at the same time, or in
 * turns?
 *
 * If a client collects all commands into one write and processes all replies of one read together, client and
 * server work in turns. The grid covers callers, server time per command, the work of a caller between two
 * commands, and the round trip. A row is measured in one process for all numbers of callers, from few to
 * many. The names of figures end with the number of callers, as in `opsPerSecond50`.
 */

import { createSide, type SideName } from "../sides/all-sides";
import { type ClientSide, isClientSide } from "../sides/side";
import { startSlowServer } from "../support/child-process";
import { Clock } from "../support/clock";
import { keyOf, numbers } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import type { Column, Row, SampleContext, Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

export interface OverlapRow extends Row {
  readonly serverMicros: number;
  readonly workMicros: number;
  readonly lineMs: number;
}

export const CALLERS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 1000];
export const SERVER_MICROS: readonly number[] = [0, 5, 20];
export const WORK_MICROS: readonly number[] = [0, 15, 100];
export const LINES_MS: readonly number[] = [0, 0.2, 1];
const SIDES: readonly SideName[] = ["sluice", "sluice-turn", "before", "ioredis", "redis-nt"];
const KEYS = 1000;
const WARM_MS = 40;
/**
 * Compiler threads share the client's CPU: while they are at work, few callers wait for milliseconds. So each process
 * warms up with callers in groups of these sizes first, for so long each and as they are measured, except that they
 * have no work of their own: with 100 µs of it the code would run a fifteenth as often. After 700 ms with 20 callers
 * only and without a record of their times, 10 callers did 66,000 commands a second, and 83,000 in the next sample.
 */
const FIRST_WARM_MS = 500;
const FIRST_WARM_CALLERS: readonly number[] = [20, 10];
/** One sample of a cell is off by a tenth now and then, and the best peer is the better of two. */
const ROUNDS = 3;
const MEASURE_MS = 150;
/** Each caller gets so many turns at least, also where all of them together work for a tenth of a second. */
const LEAST_TURNS = 3;

/** The figure of one cell. */
export function cellFigure(
  figure: "opsPerSecond" | "p50Micros" | "p99Micros" | "cpuMicros",
  callers: number,
) {
  return `${figure}${callers}`;
}

export const overlap: Scenario<OverlapRow> = {
  id: "overlap",
  rounds: ROUNDS,
  title: "Client and server at work together",
  about: `Callers await a GET, work for some time, and ask again. The server spends some time on every command. If client and server only work in turns, up to half of the throughput is lost. The server is scripted, so its time is known. It has a core of its own, and delays its replies to simulate the round trip. Each cell is measured for ${MEASURE_MS} ms. "sluice, one write a turn" is \`flushPolicy: "turn"\`.`,
  columns: CALLERS.map(
    (callers): Column => ({
      figure: cellFigure("opsPerSecond", callers),
      title: `ops/s, ${callers.toLocaleString("en")} callers`,
      digits: 0,
      pick: "median",
    }),
  ),
  rows: LINES_MS.flatMap((lineMs) =>
    WORK_MICROS.flatMap((workMicros) =>
      SERVER_MICROS.map((serverMicros) => ({
        id: gridRowId(lineMs, workMicros, serverMicros),
        title: `server ${serverMicros} µs, own work ${workMicros} µs, line ${lineMs} ms`,
        sides: SIDES,
        serverMicros,
        workMicros,
        lineMs,
      })),
    ),
  ),
  measure: measureOverlap,
};

export function gridRowId(lineMs: number, workMicros: number, serverMicros: number): string {
  return `overlap-${serverMicros}s-${workMicros}w-${lineMs}l`;
}

function work(micros: number): void {
  const endMs = performance.now() + micros / 1000;
  while (performance.now() < endMs);
}

interface Cell {
  readonly row: OverlapRow;
  readonly callers: number;
  readonly durationMs: number;
}

/** Callers that record the time of every command: two looks at the clock are the same for all sides. */
async function run(side: ClientSide, cell: Cell, latencies: LatencyRecorder): Promise<number> {
  const { callers, durationMs } = cell;
  const { workMicros } = cell.row;
  const issues = numbers(KEYS).map((index) => side.bind({ kind: "get", key: keyOf("s", index) }));
  const clock = new Clock(durationMs, callers * LEAST_TURNS, 1);
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
      if (workMicros > 0) work(workMicros);
    } while (!clock.expired());
  };
  await Promise.all(numbers(callers).map((index) => caller(index * 7)));
  return done;
}

async function measureOverlap(row: OverlapRow, context: SampleContext): Promise<Figures> {
  const server = await startSlowServer(
    { commandMicros: row.serverMicros, roundTripMs: row.lineMs },
    context.serverCpu,
  );
  const side = createSide(context.sideName);
  if (!isClientSide(side)) throw new Error(`${side.name} offers no single commands`);
  await side.connect({ nodes: [server.address], isCluster: false }, { autoPipelining: false });
  for (const callers of FIRST_WARM_CALLERS) {
    const quickRow = { ...row, workMicros: 0 };
    await run(side, { row: quickRow, callers, durationMs: FIRST_WARM_MS }, new LatencyRecorder());
  }
  const figures: Figures = {};
  for (const callers of CALLERS) {
    await run(side, { row, callers, durationMs: WARM_MS }, new LatencyRecorder());
    const latencies = new LatencyRecorder();
    const meter = new Meter();
    meter.start();
    const found = await meter.stop(await run(side, { row, callers, durationMs: MEASURE_MS }, latencies));
    const { p50Micros, p99Micros } = latencies.quantiles() ?? {};
    const { opsPerSecond, cpuMicros } = found;
    for (const [name, value] of Object.entries({ opsPerSecond, cpuMicros, p50Micros, p99Micros })) {
      if (value !== undefined) figures[`${name}${callers}`] = value;
    }
  }
  await side.close();
  server.stop();
  return figures;
}
