/**
 * Small reads while large values are read by the same client: a connection answers in order, so without a second one
 * every small reply waits behind a large one.
 */

import { createSide, type SideName } from "../sides/all-sides";
import type { IoredisLike, IoredisSide } from "../sides/ioredis-side";
import type { Address } from "../sides/side";
import { startNarrowLine } from "../support/child-process";
import type { Figures } from "../support/meter";
import { OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

interface LanesRow extends Row {
  /** Of each large value; 0: nothing large is read. */
  readonly largeBytes: number;
  /** Of the line from the server; absent: the loopback device. */
  readonly line?: { readonly megabytesPerSecond: number; readonly roundTripMs: number };
  readonly connections?: { readonly lanes: number; readonly bulk: number };
  /** The process holds so many objects beside, as a service does. */
  readonly heldObjects?: number;
}

const MEBIBYTE = 1024 * 1024;
const ONLY_SLUICE: readonly SideName[] = ["sluice", "before"];
const ALL: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey"];
const BULK = { lanes: 1, bulk: 1 };
const NEAR = { line: { megabytesPerSecond: 100, roundTripMs: 0 } };
/** As far as the line on which waiting behind large values was first measured. */
const FAR = { line: { megabytesPerSecond: 100, roundTripMs: 8 } };
/** So that a p99 stands on some hundreds of samples although each may take a tenth of a second. */
const LEAST_MEASURE_MS = 3000;
/**
 * Some 60 MB. In a heap of a few MB the engine begins a full collection for each 12 to 30 MB of Buffers, in a larger
 * one hardly ever: without these objects such collections decide about p99, and how often they come is different for
 * every client.
 */
const SERVICE = { heldObjects: 300_000 };

/** By this process, which takes one sample. */
const held: object[] = [];

export const lanes: Scenario<LanesRow> = {
  id: "lanes",
  rounds: 3,
  title: "Small beside large",
  about:
    "One caller awaits small GETs, one after another, while another caller of the same client awaits GETs of a large value: over a line of 100 MB/s that all connections share, with a round trip of 8 ms and without, and over the loopback device, there also in a process that holds 60 MB of objects, as a service does. With `connections: { bulk: 1 }` what is large has a connection of its own. Operations are the small ones.",
  columns: [OPS, P50, P99],
  rows: [
    { id: "lanes-far-alone", title: "100 MB/s, 8 ms, alone", sides: ALL, largeBytes: 0, ...FAR },
    {
      id: "lanes-far-one",
      title: "100 MB/s, 8 ms, beside 8 MiB, one connection",
      sides: ALL,
      largeBytes: 8 * MEBIBYTE,
      ...FAR,
    },
    {
      id: "lanes-far-bulk",
      title: "100 MB/s, 8 ms, beside 8 MiB, bulk: 1",
      sides: ONLY_SLUICE,
      largeBytes: 8 * MEBIBYTE,
      connections: BULK,
      ...FAR,
    },
    { id: "lanes-near-alone", title: "100 MB/s, no delay, alone", sides: ALL, largeBytes: 0, ...NEAR },
    {
      id: "lanes-near-one",
      title: "100 MB/s, no delay, beside 8 MiB, one connection",
      sides: ALL,
      largeBytes: 8 * MEBIBYTE,
      ...NEAR,
    },
    {
      id: "lanes-near-bulk",
      title: "100 MB/s, no delay, beside 8 MiB, bulk: 1",
      sides: ONLY_SLUICE,
      largeBytes: 8 * MEBIBYTE,
      connections: BULK,
      ...NEAR,
    },
    { id: "lanes-loopback-alone", title: "loopback, alone", sides: ALL, largeBytes: 0 },
    {
      id: "lanes-loopback-one",
      title: "loopback, beside 1 MiB, one connection",
      sides: ALL,
      largeBytes: MEBIBYTE,
    },
    {
      id: "lanes-loopback-bulk",
      title: "loopback, beside 1 MiB, bulk: 1",
      sides: ONLY_SLUICE,
      largeBytes: MEBIBYTE,
      connections: BULK,
    },
    {
      id: "lanes-service-alone",
      title: "loopback, heap of 60 MB, alone",
      sides: ALL,
      largeBytes: 0,
      ...SERVICE,
    },
    {
      id: "lanes-service-one",
      title: "loopback, heap of 60 MB, beside 1 MiB, one connection",
      sides: ALL,
      largeBytes: MEBIBYTE,
      ...SERVICE,
    },
    {
      id: "lanes-service-bulk",
      title: "loopback, heap of 60 MB, beside 1 MiB, bulk: 1",
      sides: ONLY_SLUICE,
      largeBytes: MEBIBYTE,
      connections: BULK,
      ...SERVICE,
    },
  ],
  measure: measureLanes,
};

async function measureLanes(row: LanesRow, context: SampleContext): Promise<Figures> {
  const { connections, largeBytes, heldObjects = 0 } = row;
  for (let id = 0; id < heldObjects; id++) held.push({ id, name: `user${id}`, tags: [id, id + 1] });
  const to = context.target.nodes[0] as Address;
  const line = row.line === undefined ? undefined : await startNarrowLine(to, row.line, context.serverCpu);
  const side = createSide(context.sideName) as IoredisSide;
  const nodes = [line?.address ?? to];
  await side.connect({ nodes, isCluster: false }, { autoPipelining: false, connections });
  const client = side.connected();
  await client.set("small:1", "0123456789abcdef");
  if (largeBytes > 0) await client.set("large:1", Buffer.alloc(largeBytes, "x"));
  const figures = await readBeside(client, largeBytes > 0, context);
  await client.set("large:1", "");
  await side.close();
  line?.stop();
  return figures;
}

async function readBeside(client: IoredisLike, hasLarge: boolean, context: SampleContext): Promise<Figures> {
  const { warmMs, measureMs } = context.budget;
  let isOver = false;
  const readLarge = async (): Promise<void> => {
    while (!isOver) await client.getBuffer("large:1");
  };
  const large = hasLarge ? readLarge() : Promise.resolve();
  await readSmall(client, Math.max(warmMs, LEAST_MEASURE_MS / 3));
  const figures = await readSmall(client, Math.max(measureMs, LEAST_MEASURE_MS));
  isOver = true;
  await large;
  return figures;
}

async function readSmall(client: IoredisLike, forMs: number): Promise<Figures> {
  const latencies = new LatencyRecorder();
  const startMs = performance.now();
  let nowMs = startMs;
  let operations = 0;
  while (nowMs - startMs < forMs) {
    await client.get("small:1");
    const doneMs = performance.now();
    latencies.record(doneMs - nowMs);
    nowMs = doneMs;
    operations++;
  }
  return { opsPerSecond: operations / ((nowMs - startMs) / 1000), ...latencies.quantiles() };
}
