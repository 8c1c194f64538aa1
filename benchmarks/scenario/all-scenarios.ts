/** Every scenario in the order of the page. */

import type { Scenario } from "../support/scenario";
import { allocations } from "./allocations";
import { applications } from "./applications";
import { automaticBatches } from "./automatic-batches";
import { batchMemory } from "./batch-memory";
import { cached } from "./cached";
import { cachedHttp } from "./cached-http";
import { callThenCompute } from "./call-then-compute";
import { clusterGrowth, clusterReads } from "./cluster-load";
import { connections } from "./connections";
import { consumers } from "./consumers";
import { failingTogether } from "./failing-together";
import { fewerCommands } from "./fewer-commands";
import { idleClients } from "./idle-clients";
import { lines } from "./lines";
import { loadCost } from "./load-cost";
import {
  aggregates,
  callersAndHandlers,
  explicitPipelines,
  growth,
  inFlight,
  largeValues,
  oneAtATime,
  pings,
  sameTurn,
} from "./load-rows";
import { locks } from "./locks";
import { longBatch } from "./long-batch";
import { manyNodes } from "./many-nodes";
import { micro } from "./micro";
import { overlap } from "./overlap";
import { ownPace } from "./own-pace";
import { pubsub } from "./pubsub";
import { queuedMemory } from "./queued-memory";
import { readComputeWrite } from "./read-compute-write";
import { roundTrips } from "./round-trips";
import { service } from "./service";
import { setMembers } from "./set-members";
import { surroundings } from "./surroundings";
import { traced } from "./traced";
import { webService } from "./web-service";

export const scenarios: readonly Scenario[] = [
  applications,
  webService,
  pings,
  oneAtATime,
  inFlight,
  sameTurn,
  callersAndHandlers,
  explicitPipelines,
  largeValues,
  aggregates,
  clusterReads,
  clusterGrowth,
  manyNodes,
  batchMemory,
  longBatch,
  queuedMemory,
  failingTogether,
  allocations,
  loadCost,
  micro,
  setMembers,
  readComputeWrite,
  roundTrips,
  automaticBatches,
  overlap,
  service,
  callThenCompute,
  ownPace,
  lines,
  surroundings,
  traced,
  cached,
  cachedHttp,
  pubsub,
  consumers,
  idleClients,
  connections,
  locks,
  fewerCommands,
  growth,
] as readonly Scenario[];

export function findScenario(id: string): Scenario {
  const found = scenarios.find((scenario) => scenario.id === id);
  if (found === undefined) throw new Error(`no scenario named ${id}`);
  return found;
}
