/** Commands that arrive one by one (open loop), with a round trip of 1 ms: the client's CPU time for each. */

import { createSide, type SideName } from "../sides/all-sides";
import { isClientSide } from "../sides/side";
import { startSlowServer } from "../support/child-process";
import { keyOf, numbers } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

interface PaceRow extends Row {
  readonly perSecond: number;
  readonly roundTripMs: number;
}

const SIDES: readonly SideName[] = ["sluice", "sluice-turn", "before", "ioredis", "iovalkey", "redis-nt"];
const KEYS = 1000;

export const ownPace: Scenario<PaceRow> = {
  id: "own-pace",
  rounds: 3,
  title: "Commands at their own pace",
  about:
    "A process on the server's CPU sends a byte every 100 µs or every millisecond, and each byte causes a GET, like an incoming request. The round trip is 1 ms. CPU is that of the whole process for a command, including the read of the byte.",
  columns: [OPS, CPU, P50, P99],
  rows: [1000, 10_000].map((perSecond) => ({
    id: `pace-${perSecond}`,
    title: `${perSecond.toLocaleString("en")} a second, 1 ms line`,
    sides: SIDES,
    perSecond,
    roundTripMs: 1,
  })),
  measure: measurePace,
};

async function measurePace(row: PaceRow, context: SampleContext): Promise<Figures> {
  const { roundTripMs, perSecond } = row;
  const server = await startSlowServer(
    { commandMicros: 0, roundTripMs, ticksPerSecond: perSecond },
    context.serverCpu,
  );
  const side = createSide(context.sideName);
  if (!isClientSide(side)) throw new Error(`${side.name} offers no single commands`);
  await side.connect({ nodes: [server.address], isCluster: false }, { autoPipelining: false });
  const issues = numbers(KEYS).map((index) => side.bind({ kind: "get", key: keyOf("s", index) }));
  let latencies = new LatencyRecorder();
  let issued = 0;
  let done = 0;
  const arrive = (): void => {
    const startMs = performance.now();
    const issue = issues[issued++ % KEYS] as () => Promise<unknown>;
    void issue().then(() => {
      latencies.record(performance.now() - startMs);
      done++;
    });
  };
  server.output.on("data", (ticks: Buffer) => {
    for (let left = ticks.length; left > 0; left--) arrive();
  });
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  await pause(context.budget.warmMs * 2);
  latencies = new LatencyRecorder();
  const before = done;
  const meter = new Meter();
  meter.start();
  await pause(context.budget.measureMs * 2);
  const figures = await meter.stop(done - before);
  server.stop();
  await side.close();
  return { ...figures, ...latencies.quantiles() };
}
