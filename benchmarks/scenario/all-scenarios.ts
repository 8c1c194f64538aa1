/** Every scenario in the order of the page. */

import type { Scenario } from "../support/scenario";
import { allocations } from "./allocations";
import { batchMemory } from "./batch-memory";
import { clusterGrowth, clusterReads } from "./cluster-load";
import { idleClients } from "./idle-clients";
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
import { longBatch } from "./long-batch";
import { manyNodes } from "./many-nodes";
import { micro } from "./micro";
import { overlap } from "./overlap";
import { queuedMemory } from "./queued-memory";
import { readComputeWrite } from "./read-compute-write";
import { roundTrips } from "./round-trips";
import { setMembers } from "./set-members";

export const scenarios: readonly Scenario[] = [
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
  allocations,
  loadCost,
  micro,
  setMembers,
  readComputeWrite,
  roundTrips,
  overlap,
  idleClients,
  growth,
] as readonly Scenario[];

export function findScenario(id: string): Scenario {
  const found = scenarios.find((scenario) => scenario.id === id);
  if (found === undefined) throw new Error(`no scenario named ${id}`);
  return found;
}
