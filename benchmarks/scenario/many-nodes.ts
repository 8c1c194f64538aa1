/**
 * A simulated cluster of hundreds of nodes: connecting, routing, memory per node, and how long a refresh takes.
 */

import { once } from "node:events";
import { CLIENT_SIDES, createSide } from "../sides/all-sides";
import { IoredisSide } from "../sides/ioredis-side";
import type { Address, Side } from "../sides/side";
import { spawnNode } from "../support/child-process";
import { Clock } from "../support/clock";
import { operationsOf } from "../support/dataset";
import { heldBytes } from "../support/held-bytes";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, type Row, type SampleContext, type Scenario } from "../support/scenario";

interface ManyNodesRow extends Row {
  readonly nodes: number;
}

interface Refreshing {
  refreshSlotsCache(callback: (error?: Error | null) => void): void;
}

const KIBIBYTE = 1024;
const REFRESHES = 5;
const SEEDS = 3;
/** Hundreds of connections are made while it warms up, and one turn over all of them takes tens of milliseconds. */
const LONGER = 3;

export const manyNodes: Scenario<ManyNodesRow> = {
  id: "many-nodes",
  rounds: 1,
  title: "A large cluster, simulated",
  about:
    "One process serves as 1, 10, 100 or 300 nodes, and 1,000 random reads in one turn reach nearly all of them. That process limits the throughput. CPU per command, memory per node (heap and external, after garbage collection) and the time of a slot refresh are those of the client.",
  isOffline: true,
  columns: [
    { figure: "connectMs", title: "ready after ms", digits: 0, pick: "median" },
    OPS,
    CPU,
    { figure: "kibPerNode", title: "KiB per node", digits: 1, pick: "median" },
    { figure: "refreshMs", title: "refresh ms", digits: 1, pick: "median" },
  ],
  rows: [1, 10, 100, 300].map((nodes) => ({
    id: `many-nodes-${nodes}`,
    title: nodes === 1 ? "1 node" : `${nodes} nodes`,
    nodes,
    sides: CLIENT_SIDES,
    x: nodes,
  })),
  measure: measureManyNodes,
};

async function measureManyNodes(row: ManyNodesRow, context: SampleContext): Promise<Figures> {
  const cluster = spawnNode({
    script: "support/light-cluster.js",
    args: [String(row.nodes)],
    cpu: context.serverCpu,
  });
  const [text] = (await once(cluster.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  const ports = JSON.parse(text.toString()) as number[];
  const nodes: Address[] = ports.slice(0, SEEDS).map((port) => ({ host: "127.0.0.1", port }));
  const side = createSide(context.sideName);
  const before = await heldBytes();
  const startMs = performance.now();
  await side.connect({ nodes, isCluster: true }, { autoPipelining: true });
  const connectMs = performance.now() - startMs;
  const load = await side.prepare({ kind: "turns", width: 1000, operations: operationsOf("reads") });
  await load(new Clock(LONGER * context.budget.warmMs, 3, 1));
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await load(new Clock(LONGER * context.budget.measureMs, 3, 1)));
  const kibPerNode = ((await heldBytes()) - before) / row.nodes / KIBIBYTE;
  const refresh = await refreshTime(side);
  await side.close();
  cluster.stdin?.end();
  return { ...figures, connectMs, kibPerNode, ...refresh };
}

/** Only the ioredis API lets a caller ask for a refresh. */
async function refreshTime(side: Side): Promise<Figures> {
  if (!(side instanceof IoredisSide)) return {};
  const cluster = side.connected() as unknown as Refreshing;
  const startMs = performance.now();
  for (let round = 0; round < REFRESHES; round++) {
    await new Promise<void>((resolve, reject) => {
      cluster.refreshSlotsCache((error) => (error instanceof Error ? reject(error) : resolve()));
    });
  }
  return { refreshMs: (performance.now() - startMs) / REFRESHES };
}
