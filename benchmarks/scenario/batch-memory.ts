/**
 * One million SET and GET: as one batch, and as consecutive batches of 10,000. The goals are the same speed,
 * and constant memory of client and server. The runner monitors the server's memory during each sample.
 */

import { CLIENT_SIDES } from "../sides/all-sides";
import { IoredisSide } from "../sides/ioredis-side";
import { freshKey, type Operation } from "../sides/operation";
import { type ClientSide, isClientSide } from "../sides/side";
import { operationsOf } from "../support/dataset";
import { openSide } from "../support/measure-load";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, type Row, RSS, type SampleContext, type Scenario } from "../support/scenario";

interface BatchMemoryRow extends Row {
  readonly total: number;
  readonly batchSize: number;
  /** By `bulk()`, which pauses its producer, instead of by pipelines. */
  readonly isBulk?: boolean;
}

interface BulkClient {
  bulk(
    source: Iterable<readonly unknown[]>,
    options: { batchSize: number },
  ): { summary(): Promise<{ succeeded: number }> };
}

const OWN_SIDES = ["sluice", "before"] as const;
const MILLION = 1_000_000;
const WARM_UP_COMMANDS = 20_000;

export const batchMemory: Scenario<BatchMemoryRow> = {
  id: "batch-memory",
  title: "One batch or many",
  about:
    "1,000,000 alternating SETs and GETs of 16 B: as one batch, as awaited batches of 10,000, and by `bulk()`, which keeps two batches of 10,000 in flight. Server memory is the largest increase over the idle state, sampled every 25 ms: replies that a busy client has not read yet.",
  watchesServerMemory: true,
  columns: [OPS, CPU, RSS, { figure: "serverPeakMiB", title: "server peak MiB", digits: 1, pick: "median" }],
  rows: [
    {
      id: "million-unbounded",
      title: "one batch of 1,000,000",
      total: MILLION,
      batchSize: MILLION,
      sides: CLIENT_SIDES,
      isLong: true,
    },
    {
      id: "million-by-10k",
      title: "100 batches of 10,000",
      total: MILLION,
      batchSize: 10_000,
      sides: CLIENT_SIDES,
      isLong: true,
    },
    {
      id: "million-bulk",
      title: "bulk() of 1,000,000",
      total: MILLION,
      batchSize: 10_000,
      isBulk: true,
      sides: OWN_SIDES,
      isLong: true,
    },
    {
      id: "ten-million-bulk",
      title: "bulk() of 10,000,000",
      total: 10 * MILLION,
      batchSize: 10_000,
      isBulk: true,
      sides: OWN_SIDES,
      isLong: true,
    },
  ],
  measure: measureBatches,
};

async function measureBatches(row: BatchMemoryRow, context: SampleContext): Promise<Figures> {
  const side = await openSide(context, { autoPipelining: false });
  if (!isClientSide(side)) throw new Error(`${side.name} has no batches`);
  const figures = row.isBulk === true ? await runBulk(side, row) : await run(side, row);
  await side.close();
  return figures;
}

async function run(side: ClientSide, row: BatchMemoryRow): Promise<Figures> {
  const operations = operationsOf("mixed16");
  const warmUp = side.bindBatch(operations, 1000);
  for (let done = 0; done < WARM_UP_COMMANDS; done += 1000) await warmUp();
  const issue = side.bindBatch(operations, row.batchSize);
  const meter = new Meter();
  meter.start();
  for (let done = 0; done < row.total; done += row.batchSize) await issue();
  return meter.stop(row.total);
}

async function runBulk(side: ClientSide, row: BatchMemoryRow): Promise<Figures> {
  if (!(side instanceof IoredisSide)) throw new Error(`${side.name} has no bulk`);
  const client = side.connected() as unknown as BulkClient;
  const options = { batchSize: row.batchSize };
  await client.bulk(commandsUpTo(WARM_UP_COMMANDS), options).summary();
  const meter = new Meter();
  meter.start();
  const { succeeded } = await client.bulk(commandsUpTo(row.total), options).summary();
  if (succeeded !== row.total) throw new Error(`${row.total - succeeded} commands failed`);
  return meter.stop(row.total);
}

/** Argument values exist before, as for the other rows; the arrays that hold them are made on the way. */
function* commandsUpTo(count: number): Generator<readonly unknown[]> {
  const operations = operationsOf("mixed16");
  for (let index = 0; index < count; index++) {
    const operation = operations[index % operations.length] as Operation;
    if (operation.kind === "set") yield ["set", freshKey(operation.key), operation.value];
    else if (operation.kind === "get") yield ["get", freshKey(operation.key)];
  }
}
