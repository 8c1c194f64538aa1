/** A call, then a computation in the same turn: is the command written before the computation or after it? */

import { createSide, type SideName } from "../sides/all-sides";
import { isClientSide } from "../sides/side";
import { startSlowServer } from "../support/child-process";
import { Clock } from "../support/clock";
import { keyOf } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { OPS, P50, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

const SIDES: readonly SideName[] = ["sluice", "sluice-turn", "before", "ioredis", "iovalkey", "redis-nt"];
const COMPUTE_MS = 5;
const ROUND_TRIP_MS = 5;

export const callThenCompute: Scenario = {
  id: "call-then-compute",
  rounds: 1,
  title: "A call, then computing",
  about:
    "The caller issues a GET, computes for 5 ms, and then awaits the reply. The round trip is 5 ms. If the client writes the command immediately, both happen at the same time.",
  columns: [OPS, P50],
  rows: [
    { id: "compute-after-call", title: "GET, 5 ms of computing, reply; round trip of 5 ms", sides: SIDES },
  ],
  measure: measureComputing,
};

async function measureComputing(_row: Row, context: SampleContext): Promise<Figures> {
  const server = await startSlowServer({ commandMicros: 0, roundTripMs: ROUND_TRIP_MS }, context.serverCpu);
  const side = createSide(context.sideName);
  if (!isClientSide(side)) throw new Error(`${side.name} offers no single commands`);
  await side.connect({ nodes: [server.address], isCluster: false }, { autoPipelining: false });
  const issue = side.bind({ kind: "get", key: keyOf("s", 1) });
  const pass = async (durationMs: number, latencies: LatencyRecorder): Promise<number> => {
    const clock = new Clock(durationMs, 0, 1);
    let done = 0;
    do {
      const startMs = performance.now();
      const reply = issue();
      while (performance.now() < startMs + COMPUTE_MS);
      await reply;
      latencies.record(performance.now() - startMs);
      done++;
    } while (!clock.expired());
    return done;
  };
  await pass(context.budget.warmMs, new LatencyRecorder(1));
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs, latencies));
  await side.close();
  server.stop();
  return { ...figures, ...latencies.quantiles() };
}
