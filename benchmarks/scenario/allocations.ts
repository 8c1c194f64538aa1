/**
 * Bytes that V8 allocates per command. The young generation is so large that nothing is collected during the
 * count, so the growth of the heap is equal to the allocated bytes.
 */

import { CLIENT_SIDES } from "../sides/all-sides";
import { isClientSide, type LoopKind } from "../sides/side";
import { countAllocatedBytes } from "../support/allocated-bytes";
import { Clock } from "../support/clock";
import { operationsOf } from "../support/dataset";
import { openSide } from "../support/measure-load";
import type { Figures } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";

interface AllocationRow extends Row {
  readonly kind: LoopKind;
  readonly width: number;
  readonly autoPipelining: boolean;
}

const WARM_UP_MS = 300;
const COUNTED_COMMANDS = 20_000;

function row(id: string, title: string, kind: LoopKind, autoPipelining = false): AllocationRow {
  return { id, title, kind, width: 1000, autoPipelining, sides: CLIENT_SIDES };
}

export const allocations: Scenario<AllocationRow> = {
  id: "allocations",
  rounds: 1,
  title: "Bytes allocated per command",
  about:
    "Growth of the V8 heap over 20,000 commands of 16 B, without garbage collection. The count does not depend on the clock. It excludes native memory, which favors glide.",
  nodeFlags: ["--min-semi-space-size=256", "--max-semi-space-size=256"],
  columns: [{ figure: "allocatedBytes", title: "bytes/command", digits: 0, pick: "median" }],
  rows: [
    row("allocated-turn", "1,000 in one turn, default", "turns"),
    row("allocated-turn-auto", "1,000 in one turn, auto-pipelining", "turns", true),
    row("allocated-pipeline", "pipeline of 1,000", "batches"),
  ],
  measure: measureAllocations,
};

async function measureAllocations(row: AllocationRow, context: SampleContext): Promise<Figures> {
  const { autoPipelining, kind, width } = row;
  const side = await openSide(context, { autoPipelining });
  if (!isClientSide(side)) throw new Error(`${side.name} allocates nothing of interest`);
  const load = await side.prepare({ kind, width, operations: operationsOf("mixed16") });
  await load(new Clock(WARM_UP_MS, 0, 1));
  const allocated = await countAllocatedBytes(async () => {
    await load(new Clock(0, COUNTED_COMMANDS / width, 1));
  });
  await side.close();
  return { allocatedBytes: allocated / COUNTED_COMMANDS };
}
