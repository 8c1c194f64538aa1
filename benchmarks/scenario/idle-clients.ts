/**
 * Many clients that do nothing: what connecting them costs, what they hold, and what they cost while nothing is due.
 *
 * A service has a connection for each of its parts, and some have one for each tenant. Timers of their own would wake
 * the process all the time.
 */

import { createSide, type SideName } from "../sides/all-sides";
import type { Side } from "../sides/side";
import { operationsOf } from "../support/dataset";
import { heldBytes } from "../support/held-bytes";
import type { Figures } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

interface IdleRow extends Row {
  readonly clients: number;
}

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt"];
const KIBIBYTE = 1024;
/** Long enough for some rounds of whatever looks after silent connections. */
const IDLE_MS = 8000;
/** What connecting has begun in the background is over. */
const SETTLE_MS = 500;

export const idleClients: Scenario<IdleRow> = {
  id: "idle-clients",
  rounds: 2,
  title: "Clients that do nothing",
  about:
    "Clients of one process connect, answer one command each and are left alone for 8 s: CPU time of connecting one, memory it holds (heap and external, after the collector ran), and CPU time a second of all of them together.",
  nodeFlags: ["--expose-gc"],
  columns: [
    { figure: "connectMicros", title: "connect, CPU µs each", digits: 0, pick: "least" },
    { figure: "kibPerClient", title: "KiB per client", digits: 1, pick: "median" },
    { figure: "idleCpuMs", title: "idle, CPU ms a second", digits: 2, pick: "least" },
  ],
  rows: [50, 200].map((clients) => ({
    id: `idle-${clients}`,
    title: `${clients} idle clients`,
    clients,
    sides: SIDES,
    isLong: true,
  })),
  measure: measureIdleClients,
};

function cpuMicros(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return user + system;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function connectOne({ sideName, target }: SampleContext): Promise<Side> {
  const side = createSide(sideName);
  await side.connect(target, { autoPipelining: false });
  await side.prepare({ kind: "callers", width: 1, operations: operationsOf("reads") });
  return side;
}

async function measureIdleClients({ clients }: IdleRow, context: SampleContext): Promise<Figures> {
  // The library itself, and what it makes once, is not part of it.
  const first = await connectOne(context);
  const before = await heldBytes();
  const startCpu = process.cpuUsage();
  const sides = await Promise.all(Array.from({ length: clients }, () => connectOne(context)));
  const connectMicros = cpuMicros(startCpu) / clients;
  await pause(SETTLE_MS);
  const kibPerClient = ((await heldBytes()) - before) / clients / KIBIBYTE;
  const idleCpu = process.cpuUsage();
  const startMs = performance.now();
  await pause(IDLE_MS);
  const idleCpuMs = cpuMicros(idleCpu) / (performance.now() - startMs);
  for (const side of [first, ...sides]) await side.close();
  return { connectMicros, kibPerClient, idleCpuMs };
}
