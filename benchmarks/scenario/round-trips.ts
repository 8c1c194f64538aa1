/**
 * The same loads with more latency: a proxy in a separate process adds 0.05, 1, 10 and 250 ms to each round
 * trip.
 */

import { createSide, type SideName } from "../sides/all-sides";
import type { Address, ConnectChoices, LoopKind, Side, Target } from "../sides/side";
import { startDelayProxy } from "../support/child-process";
import { Clock } from "../support/clock";
import { type OperationSet, operationsOf } from "../support/dataset";
import { type LoadProcess, startLoad } from "../support/load-turns";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder, spreadOf } from "../support/statistics";

export interface RoundTripRow extends Row {
  readonly delayMs: number;
  readonly kind: LoopKind;
  readonly width: number;
  readonly choices: ConnectChoices;
  /** Default: 16 B. */
  readonly operations?: OperationSet;
}

export const DELAYS_MS: readonly number[] = [0.05, 1, 10, 250];
/** Every pattern is measured for so many round trips at least. */
const LEAST_ROUND_TRIPS = 5;
/** Two settings that take turns have so many each, each half as long as another measurement. */
const TURNS = 8;
const TURNS_PER_MEASURE = 2;
/** The figures of a setting divided by those of the setting beside it, by the name of the figure. */
export const RATIOS: ReadonlyMap<string, string> = new Map(
  [OPS, P50, CPU].map(({ figure }) => [figure, `${figure}Ratio`]),
);
const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "redis-nt", "glide"];

interface Pattern {
  readonly id: string;
  readonly title: string;
  readonly kind: LoopKind;
  readonly width: number;
  readonly choices: ConnectChoices;
  readonly sides: readonly SideName[];
}

const ARRIVALS = { kind: "arrivals", width: 5000 } as const;

const PATTERNS: readonly Pattern[] = [
  {
    id: "awaited",
    title: "one at a time",
    kind: "callers",
    width: 1,
    choices: { autoPipelining: false },
    sides: ["sluice", "before", "ioredis"],
  },
  {
    id: "callers",
    title: "200 callers, default",
    kind: "callers",
    width: 200,
    choices: { autoPipelining: false },
    sides: SIDES,
  },
  {
    id: "callers-auto",
    title: "200 callers, one automatic batch in flight",
    kind: "callers",
    width: 200,
    choices: { autoPipelining: true },
    sides: ["sluice", "before", "ioredis"],
  },
  {
    id: "callers-unlimited",
    title: "200 callers, any number of automatic batches",
    kind: "callers",
    width: 200,
    choices: { autoPipelining: true, maxInFlight: Number.POSITIVE_INFINITY },
    sides: ["sluice", "before"],
  },
  {
    id: "callers-adaptive",
    title: "200 callers, adaptive window",
    kind: "callers",
    width: 200,
    choices: { autoPipelining: true, maxInFlight: "adaptive" },
    sides: ["sluice", "before"],
  },
  {
    id: "arrivals",
    title: "5,000 a second, default",
    ...ARRIVALS,
    choices: { autoPipelining: false },
    sides: SIDES,
  },
  {
    id: "arrivals-auto",
    title: "5,000 a second, one automatic batch in flight",
    ...ARRIVALS,
    choices: { autoPipelining: true },
    sides: ["sluice", "before", "ioredis"],
  },
  {
    id: "arrivals-unlimited",
    title: "5,000 a second, any number of automatic batches",
    ...ARRIVALS,
    choices: { autoPipelining: true, maxInFlight: Number.POSITIVE_INFINITY },
    sides: ["sluice", "before"],
  },
  {
    id: "arrivals-adaptive",
    title: "5,000 a second, adaptive window",
    ...ARRIVALS,
    choices: { autoPipelining: true, maxInFlight: "adaptive" },
    sides: ["sluice", "before"],
  },
  {
    id: "pipeline",
    title: "pipelines of 1,000",
    kind: "batches",
    width: 1000,
    choices: { autoPipelining: false },
    sides: SIDES,
  },
];

export const roundTrips: Scenario<RoundTripRow> = {
  id: "round-trips",
  rounds: 1,
  title: "Longer round trips",
  about:
    "A proxy process delays every byte by half of the added round trip in each direction. Callers issue the next command after each reply. Arrivals come at a fixed rate of 5,000 a second in small bursts, and wait for a batch in flight. Latency is that of one command, and for pipelines of the whole batch. With 250 ms, a caller that awaits each reply receives four replies a second with any client.",
  columns: [OPS, P50, P99, CPU],
  plots: [
    {
      file: "throughput-by-round-trip",
      title: "Throughput of 200 callers by round trip",
      xTitle: "added milliseconds",
      yTitle: "commands per second",
      figure: "opsPerSecond",
      pick: "median",
      rowPrefix: "trip-callers-",
      note: "Automatic pipelining on where that is faster and the client has the switch",
    },
  ],
  rows: DELAYS_MS.flatMap((delayMs) =>
    PATTERNS.map(({ id, title, kind, width, choices, sides }) => ({
      id: `trip-${id}-${delayMs}`,
      title: `+${delayMs} ms, ${title}`,
      delayMs,
      kind,
      width,
      choices,
      sides,
      x: delayMs,
    })),
  ),
  measure: measureRoundTrips,
};

export async function measureRoundTrips(row: RoundTripRow, context: SampleContext): Promise<Figures> {
  const line = await openLine(row, context);
  const { side, pass } = await openLoad(row, line.target, context.sideName);
  await pass(context.budget.warmMs);
  const figures = await measurePass(pass, context.budget.measureMs);
  await side.close();
  line.close();
  return figures;
}

/**
 * Two settings of one client take turns, each in a process of its own. Their ratios are steadier than those of
 * processes that follow each other, because a disturbance of the machine lasts longer than a turn. In one process, each
 * setting would run the code that the engine has compiled for both. The other figures are those of the row's own setting.
 */
export async function measureBeside(
  row: RoundTripRow,
  other: ConnectChoices,
  context: SampleContext,
): Promise<Figures> {
  const line = await openLine(row, context);
  const { sideName } = context;
  const [own, beside] = [row.choices, other].map((choices) =>
    startLoad({ row: { ...row, choices }, target: line.target, sideName }),
  ) as [LoadProcess, LoadProcess];
  for (const load of [own, beside]) await load.pass(context.budget.warmMs);
  const turns: { own: Figures; beside: Figures }[] = [];
  const turnMs = context.budget.measureMs / TURNS_PER_MEASURE;
  for (let turn = 0; turn < TURNS; turn++) {
    const isFirst = turn % 2 === 0;
    const early = await (isFirst ? own : beside).pass(turnMs);
    const late = await (isFirst ? beside : own).pass(turnMs);
    turns.push(isFirst ? { own: early, beside: late } : { own: late, beside: early });
  }
  for (const load of [own, beside]) load.stop();
  line.close();
  const median = (figureOf: (turn: (typeof turns)[number]) => number): number =>
    spreadOf(turns.map(figureOf)).median;
  const figures: Figures = {};
  for (const name of Object.keys(turns[0]?.own ?? {}))
    figures[name] = median((turn) => turn.own[name] as number);
  for (const [name, ratio] of RATIOS)
    figures[ratio] = median((turn) => (turn.own[name] as number) / (turn.beside[name] as number));
  return figures;
}

export type Pass = (durationMs: number, record?: (ms: number) => void) => Promise<number>;

async function openLine(
  { delayMs }: RoundTripRow,
  { target, serverCpu }: SampleContext,
): Promise<{ target: Target; close(): void }> {
  const to = target.nodes[0] as Address;
  const proxy = delayMs > 0 ? await startDelayProxy(to, delayMs, serverCpu) : null;
  return { target: { nodes: [proxy?.address ?? to], isCluster: false }, close: () => proxy?.stop() };
}

export async function openLoad(
  row: RoundTripRow,
  target: Target,
  sideName: SideName,
): Promise<{ side: Side; pass: Pass }> {
  const side = createSide(sideName);
  await side.connect(target, row.choices);
  const { kind, width, delayMs, operations = "mixed16" } = row;
  const load = await side.prepare({ kind, width, operations: operationsOf(operations) });
  return {
    side,
    pass: (durationMs, record) =>
      load(new Clock(Math.max(durationMs, delayMs * LEAST_ROUND_TRIPS), 0, 1), record),
  };
}

export async function measurePass(pass: Pass, durationMs: number): Promise<Figures> {
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  // Two looks at the clock per command do not matter here: the line is the bottleneck.
  const figures = await meter.stop(await pass(durationMs, latencies.record));
  return { ...figures, ...latencies.quantiles() };
}
