/** Whole requests of a small web service with four commands each: the figures of the README. */

import { measurePlainHttp } from "../applications/http-rows";
import { installPackages } from "../applications/packages";
import type { SideName } from "../sides/all-sides";
import type { Address } from "../sides/side";
import { startDelayProxy } from "../support/child-process";
import type { Figures } from "../support/meter";
import { OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { ABOVE_FLOOR } from "./applications";

interface WebRow extends Row {
  readonly roundTripMs: number;
}

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis", "redis-nt"];
const CONNECTIONS = 100;

function web(id: string, title: string, roundTripMs: number): WebRow {
  return { id, title, sides: SIDES, roundTripMs };
}

export const webService: Scenario<WebRow> = {
  id: "web-service",
  rounds: 6,
  title: "A web service, whole requests",
  about:
    "A service on Node's `http` with four GETs for each request, 100 connections of autocannon, default options of every client. The server and autocannon share a CPU of their own. The floor is the same service without Redis.",
  columns: [
    OPS,
    { figure: "floorOpsPerSecond", title: "ops/s without Redis", digits: 0, pick: "median" },
    ...ABOVE_FLOOR.slice(1, 3),
    P50,
    P99,
  ],
  rows: [web("web-http", "server beside the service", 0), web("web-http-1ms", "server 1 ms away", 1)],
  before: installPackages,
  measure: measureWeb,
};

async function measureWeb({ roundTripMs }: WebRow, context: SampleContext): Promise<Figures> {
  const to = context.target.nodes[0] as Address;
  if (roundTripMs === 0) return measurePlainHttp(CONNECTIONS, context, context.target);
  const proxy = await startDelayProxy(to, roundTripMs, context.serverCpu);
  try {
    return await measurePlainHttp(CONNECTIONS, context, { nodes: [proxy.address], isCluster: false });
  } finally {
    proxy.stop();
  }
}
