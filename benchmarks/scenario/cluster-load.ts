/**
 * Clusters of one to three masters: random reads over all slots, and how cost grows with nodes and batch.
 *
 * Explicit pipelines over all slots exist in sluice and in glide only; node-redis takes the commands of one turn.
 */

import { CLIENT_SIDES, type SideName } from "../sides/all-sides";
import { type LoadRow, measureLoad } from "../support/measure-load";
import { LOAD_COLUMNS, type Scenario } from "../support/scenario";

const MASTERS = 3;
const CURVE_SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "redis-nt", "glide"];
const BATCH_SIDES: readonly SideName[] = ["sluice", "before", "redis-nt", "glide"];

function row(fields: Omit<LoadRow, "sides" | "masters"> & Partial<LoadRow>): LoadRow {
  return { sides: CLIENT_SIDES, masters: MASTERS, ...fields };
}

export const clusterReads: Scenario<LoadRow> = {
  id: "cluster-reads",
  title: "Cluster of three masters",
  about:
    "1,000 random `ttl`, `exists` and `get` over all slots in one turn, 200 callers, and pipelines with keys of all nodes. All three masters share the server's CPU.",
  columns: LOAD_COLUMNS,
  rows: [
    row({
      id: "cluster-all-default",
      title: "Promise.all of 1,000, default",
      kind: "turns",
      width: 1000,
      operations: "reads",
    }),
    row({
      id: "cluster-all-auto",
      title: "Promise.all of 1,000, auto-pipelining",
      kind: "turns",
      width: 1000,
      operations: "reads",
      autoPipelining: true,
    }),
    row({
      id: "cluster-callers-auto",
      title: "200 callers, auto-pipelining",
      kind: "callers",
      width: 200,
      operations: "mixed16",
      autoPipelining: true,
    }),
    row({
      id: "cluster-pipeline-1000",
      title: "pipeline of 1,000 over all slots",
      kind: "batches",
      width: 1000,
      operations: "mixed16",
      sides: BATCH_SIDES,
    }),
  ],
  measure: measureLoad,
};

export const clusterGrowth: Scenario<LoadRow> = {
  id: "cluster-growth",
  rounds: 1,
  title: "Cost from one to three masters",
  about:
    "Commands of one turn over all slots, with 1, 2 and 3 masters, and with 10 to 10,000 commands a turn.",
  columns: LOAD_COLUMNS,
  plots: [
    {
      file: "cluster-cpu-by-masters",
      title: "CPU per command by number of masters, 1,000 commands a turn",
      xTitle: "masters",
      yTitle: "CPU µs per command",
      figure: "cpuMicros",
      pick: "least",
      rowPrefix: "cluster-masters-",
    },
    {
      file: "cluster-cpu-by-batch",
      title: "CPU per command on three masters by commands per turn",
      xTitle: "commands per turn",
      yTitle: "CPU µs per command",
      figure: "cpuMicros",
      pick: "least",
      rowPrefix: "cluster-turn-",
    },
  ],
  rows: [
    ...[1, 2, 3].map((masters) =>
      row({
        id: `cluster-masters-${masters}`,
        title: `1,000 a turn, ${masters} ${masters === 1 ? "master" : "masters"}`,
        kind: "turns",
        width: 1000,
        operations: "reads",
        autoPipelining: true,
        masters,
        x: masters,
        sides: CURVE_SIDES,
      }),
    ),
    ...[10, 100, 1000, 10_000].map((width) =>
      row({
        id: `cluster-turn-${width}`,
        title: `${width.toLocaleString("en")} a turn, 3 masters`,
        kind: "turns",
        width,
        operations: "reads",
        autoPipelining: true,
        x: width,
        sides: CURVE_SIDES,
      }),
    ),
  ],
  measure: measureLoad,
};
