/**
 * Many idle clients: the cost of connecting them, their memory, and their CPU time while they are idle.
 *
 * A service has a connection for each of its parts, and some services have one for each tenant. A separate
 * timer for each connection would wake the process all the time.
 */

import { createSide, type SideName } from "../sides/all-sides";
import { IoredisSide } from "../sides/ioredis-side";
import type { NodeRedisSide } from "../sides/node-redis-side";
import type { Side } from "../sides/side";
import { operationsOf } from "../support/dataset";
import { heldBytes } from "../support/held-bytes";
import type { Figures } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

interface IdleRow extends Row {
  readonly clients: number;
  readonly isSubscribed?: boolean;
  /** What they cost while they do nothing is not waited for. */
  readonly isBrief?: boolean;
}

interface Subscriber {
  subscribe(channel: string, listener?: () => void): Promise<unknown>;
}

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt"];
const KIBIBYTE = 1024;
/** Long enough for some rounds of whatever looks after silent connections. */
const IDLE_MS = 6000;
/** What connecting and the first command have begun in the background is over, with a last look after a reply. */
const SETTLE_MS = 3000;
/** No more than the server's queue of connections that it has not accepted yet. */
const AT_ONCE = 100;

export const idleClients: Scenario<IdleRow> = {
  id: "idle-clients",
  rounds: 1,
  title: "Clients that do nothing",
  about:
    "Clients of one process connect, run one command each, and are then idle. The measurement begins 3 s later and takes 6 s. Figures: CPU time to connect one client, its memory after garbage collection (heap, heap and external, growth of the resident set), and CPU time a second of all clients together.",
  nodeFlags: ["--expose-gc"],
  columns: [
    { figure: "connectMicros", title: "connect, CPU µs each", digits: 0, pick: "least" },
    { figure: "heapKib", title: "heap KiB each", digits: 1, pick: "median" },
    { figure: "kibPerClient", title: "with external KiB each", digits: 1, pick: "median" },
    { figure: "rssKib", title: "RSS KiB each", digits: 1, pick: "median" },
    { figure: "idleCpuMs", title: "idle, CPU ms a second", digits: 2, pick: "least" },
  ],
  rows: [
    { id: "idle-200", title: "200 idle clients", clients: 200, sides: SIDES },
    {
      id: "idle-subscribers-50",
      title: "50 idle subscribers",
      clients: 50,
      isSubscribed: true,
      sides: SIDES,
    },
    { id: "connect-500", title: "500 connects", clients: 500, isBrief: true, sides: SIDES },
  ],
  measure: measureIdleClients,
};

function cpuMicros(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function connectOne({ isSubscribed }: IdleRow, { sideName, target }: SampleContext): Promise<Side> {
  const side = createSide(sideName);
  await side.connect(target, { autoPipelining: false });
  await side.prepare({ kind: "callers", width: 1, operations: operationsOf("ping") });
  if (isSubscribed !== true) return side;
  const client = side instanceof IoredisSide ? side.connected() : (side as NodeRedisSide).connection();
  await (client as Subscriber).subscribe("idle", () => undefined);
  return side;
}

async function connectAll(row: IdleRow, context: SampleContext): Promise<Side[]> {
  const sides: Side[] = [];
  while (sides.length < row.clients) {
    const length = Math.min(AT_ONCE, row.clients - sides.length);
    sides.push(...(await Promise.all(Array.from({ length }, () => connectOne(row, context)))));
  }
  return sides;
}

async function measureIdleClients(row: IdleRow, context: SampleContext): Promise<Figures> {
  // The library itself, and what it makes once, is not part of it.
  const first = await connectOne(row, context);
  const before = await heldBytes();
  const { heapUsed, rss } = process.memoryUsage();
  const startCpu = process.cpuUsage();
  const sides = await connectAll(row, context);
  const connectMicros = cpuMicros(startCpu) / row.clients;
  await pause(SETTLE_MS);
  const perClient = (bytes: number): number => bytes / row.clients / KIBIBYTE;
  const kibPerClient = perClient((await heldBytes()) - before);
  const after = process.memoryUsage();
  const figures: Figures = {
    connectMicros,
    heapKib: perClient(after.heapUsed - heapUsed),
    kibPerClient,
    rssKib: perClient(after.rss - rss),
  };
  if (row.isBrief !== true) {
    const idleCpu = process.cpuUsage();
    const startMs = performance.now();
    await pause(IDLE_MS);
    figures.idleCpuMs = cpuMicros(idleCpu) / (performance.now() - startMs);
  }
  for (const side of [first, ...sides]) await side.close();
  return figures;
}
