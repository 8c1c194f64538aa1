/** A number of callers that each issue their next call after a reply, with the time of each call. */

import { Clock } from "../support/clock";
import { type Figures, Meter } from "../support/meter";
import type { Budget } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

export interface ClosedLoop {
  readonly callers: number;
  /** What one call counts for. */
  readonly perCall: number;
  call(caller: number): Promise<unknown>;
}

/**
 * Packages of many functions take that long until the compiler is done with them. After 0.2 s its threads, which share
 * the client's CPU, held up one call in a hundred for milliseconds, and CPU per call was half as much again.
 */
const LEAST_WARM_MS = 1500;

/** Calls of applications are expensive: reading the clock twice for each does not matter. */
export async function measureClosedLoop(loop: ClosedLoop, budget: Budget): Promise<Figures> {
  await runLoop(loop, Math.max(budget.warmMs, LEAST_WARM_MS), new LatencyRecorder(1));
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await runLoop(loop, budget.measureMs, latencies));
  return { ...figures, ...latencies.quantiles() };
}

async function runLoop(loop: ClosedLoop, durationMs: number, latencies: LatencyRecorder): Promise<number> {
  const clock = new Clock(durationMs, 0, 1);
  let done = 0;
  const caller = async (index: number): Promise<void> => {
    do {
      const startMs = performance.now();
      await loop.call(index);
      latencies.record(performance.now() - startMs);
      done += loop.perCall;
    } while (!clock.expired());
  };
  await Promise.all(Array.from({ length: loop.callers }, (_, index) => caller(index)));
  return done;
}
