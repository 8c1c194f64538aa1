/**
 * How long the event loop is blocked while a batch of one million commands is built, sent and answered.
 *
 * The caller's own loop builds the batch, so its time is measured separately from the time after `exec`.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { CLIENT_SIDES } from "../sides/all-sides";
import { isClientSide } from "../sides/side";
import { operationsOf } from "../support/dataset";
import { openSide } from "../support/measure-load";
import { type Figures, Meter } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

interface LongBatchRow extends Row {
  readonly size: number;
}

const NANOS_PER_MS = 1e6;

export const longBatch: Scenario<LongBatchRow> = {
  id: "long-batch",
  title: "Event-loop delay while a batch of 1,000,000 runs",
  about:
    "From `exec()` to the result: the delay of a timer that is due every millisecond (99th percentile and maximum), and the pauses of the garbage collector. The time in which the caller builds the batch does not count.",
  columns: [
    { figure: "totalSeconds", title: "seconds", digits: 2, pick: "median" },
    { figure: "delayP99Ms", title: "delay p99 ms", digits: 1, pick: "median" },
    { figure: "delayMaxMs", title: "delay max ms", digits: 0, pick: "median" },
    { figure: "gcMaxMs", title: "longest GC pause ms", digits: 0, pick: "median" },
    { figure: "gcMs", title: "GC ms in all", digits: 0, pick: "median" },
  ],
  rows: [
    { id: "loop-delay-100k", title: "batch of 100,000", size: 100_000, sides: CLIENT_SIDES },
    { id: "loop-delay-1m", title: "batch of 1,000,000", size: 1_000_000, sides: CLIENT_SIDES, isLong: true },
  ],
  measure: measureLongBatch,
};

async function measureLongBatch(row: LongBatchRow, context: SampleContext): Promise<Figures> {
  const side = await openSide(context, { autoPipelining: false });
  if (!isClientSide(side) || side.queueBatch === undefined) throw new Error(`${side.name} has no batches`);
  const operations = operationsOf("mixed16");
  const warmUp = side.bindBatch(operations, 1000);
  for (let round = 0; round < 20; round++) await warmUp();
  const batch = side.queueBatch(operations, row.size);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const meter = new Meter();
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.enable();
  meter.start();
  await batch.send();
  const figures = await meter.stop(row.size);
  // The last delay is only recorded when the timer fires once more.
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  await side.close();
  return {
    ...figures,
    totalSeconds: (figures.elapsedMs as number) / 1000,
    delayP99Ms: delay.percentile(99) / NANOS_PER_MS,
    delayMaxMs: delay.max / NANOS_PER_MS,
  };
}
