/**
 * Bytes that one command of a pipeline holds: while it is queued, and when all results have arrived.
 *
 * All commands share argument values that exist before, which are not counted. Everything else is counted
 * after a garbage collection: the sum of heap, external memory and array buffers. The memory of glide's
 * native part is not visible to V8, so it is not counted.
 */

import { CLIENT_SIDES } from "../sides/all-sides";
import { isClientSide } from "../sides/side";
import { operationsOf } from "../support/dataset";
import { heldBytes } from "../support/held-bytes";
import { openSide } from "../support/measure-load";
import type { Figures } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

const COMMANDS = 100_000;

export const queuedMemory: Scenario = {
  id: "queued-memory",
  rounds: 1,
  title: "Memory held per pipeline command",
  about:
    "A pipeline of 100,000 SETs and GETs of 16 B: bytes per command before `exec`, and with the results while the pipeline is still referenced. Argument arrays count, argument values do not.",
  columns: [
    { figure: "queuedBytes", title: "queued, bytes/command", digits: 0, pick: "median" },
    { figure: "answeredBytes", title: "with results, bytes/command", digits: 0, pick: "median" },
    { figure: "peakRssMiB", title: "peak RSS MiB", digits: 0, pick: "median" },
  ],
  rows: [{ id: "queued-100k", title: "pipeline of 100,000", sides: CLIENT_SIDES }],
  measure: measureQueued,
};

async function measureQueued(_row: Row, context: SampleContext): Promise<Figures> {
  const side = await openSide(context, { autoPipelining: false });
  if (!isClientSide(side) || side.queueBatch === undefined) throw new Error(`${side.name} cannot queue`);
  const operations = operationsOf("mixed16");
  await side.queueBatch(operations, 10).send();
  const before = await heldBytes();
  const batch = side.queueBatch(operations, COMMANDS);
  const queued = await heldBytes();
  const results = await batch.send();
  const answered = await heldBytes();
  const isKept = Array.isArray(results) && results.length === COMMANDS && batch.held !== undefined;
  if (!isKept) throw new Error("results are missing");
  await side.close();
  return {
    queuedBytes: (queued - before) / COMMANDS,
    answeredBytes: (answered - before) / COMMANDS,
    peakRssMiB: process.resourceUsage().maxRSS / 1024,
  };
}
