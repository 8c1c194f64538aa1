/**
 * The rows whose load is one loop over one operation set: most of the goal table.
 *
 * `goals.ts` and the stored results refer to the row ids.
 */

import { BARE_SIDES, CLIENT_SIDES, type SideName } from "../sides/all-sides";
import { type LoadRow, measureLoad } from "../support/measure-load";
import { CPU, LOAD_COLUMNS, OPS, P50, P99, RSS, type Scenario } from "../support/scenario";

const EVERY_SIDE: readonly SideName[] = [...CLIENT_SIDES, ...BARE_SIDES];
/** For curves and sizes between others: iovalkey runs as ioredis does, redis without its timeout is the faster one. */
const CURVE_SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "redis-nt", "glide"];

function row(fields: Omit<LoadRow, "sides"> & Partial<Pick<LoadRow, "sides">>): LoadRow {
  return { sides: EVERY_SIDE, ...fields };
}

export const oneAtATime: Scenario<LoadRow> = {
  id: "one-at-a-time",
  title: "One at a time",
  about:
    "One caller awaits each reply before the next command. The kernel and the wake-up of two processes take nearly all of the time.",
  columns: LOAD_COLUMNS,
  rows: [
    row({ id: "sequential-get", title: "GET, awaited", kind: "callers", width: 1, operations: "get16" }),
    row({ id: "sequential-set", title: "SET, awaited", kind: "callers", width: 1, operations: "set16" }),
  ],
  measure: measureLoad,
};

export const inFlight: Scenario<LoadRow> = {
  id: "in-flight",
  title: "Many in flight, default options",
  about:
    "Parallel loops, each of which awaits its reply before the next command, with alternating SETs and GETs.",
  columns: LOAD_COLUMNS,
  rows: [
    row({
      id: "flight-50-16",
      title: "50 in flight, 16 B",
      kind: "callers",
      width: 50,
      operations: "mixed16",
    }),
    row({
      id: "flight-1000-16",
      title: "1,000 in flight, 16 B",
      kind: "callers",
      width: 1000,
      operations: "mixed16",
    }),
    row({
      id: "flight-50-1k",
      title: "50 in flight, 1 KiB",
      kind: "callers",
      width: 50,
      operations: "mixed1k",
    }),
    row({
      id: "flight-1000-1k",
      title: "1,000 in flight, 1 KiB",
      kind: "callers",
      width: 1000,
      operations: "mixed1k",
    }),
  ],
  measure: measureLoad,
};

export const sameTurn: Scenario<LoadRow> = {
  id: "same-turn",
  title: "1,000 random reads in one turn",
  about:
    "Repeated `Promise.all` of 1,000 random `ttl`, `exists` and `get`: with default options, and with automatic pipelining if the client has the option. Latency is that of all 1,000.",
  columns: LOAD_COLUMNS,
  rows: [
    row({
      id: "all-1000-default",
      title: "Promise.all of 1,000, default",
      kind: "turns",
      width: 1000,
      operations: "reads",
    }),
    row({
      id: "all-1000-auto",
      title: "Promise.all of 1,000, auto-pipelining",
      kind: "turns",
      width: 1000,
      operations: "reads",
      autoPipelining: true,
    }),
  ],
  measure: measureLoad,
};

export const callersAndHandlers: Scenario<LoadRow> = {
  id: "callers-and-handlers",
  title: "200 callers, 200 handlers",
  about:
    "Callers continue in the turn in which their reply arrived. Handlers issue each command from an event-loop callback of their own, like request handlers of a web server.",
  columns: LOAD_COLUMNS,
  rows: [
    row({
      id: "callers-100-get",
      title: "GET, 100 callers, default",
      kind: "callers",
      width: 100,
      operations: "get16",
    }),
    row({
      id: "callers-200-auto",
      title: "200 callers, auto-pipelining",
      kind: "callers",
      width: 200,
      operations: "mixed16",
      autoPipelining: true,
    }),
    row({
      id: "handlers-200-auto",
      title: "200 handlers, auto-pipelining",
      kind: "handlers",
      width: 200,
      operations: "mixed16",
      autoPipelining: true,
    }),
    row({
      id: "handlers-200-default",
      title: "200 handlers, default",
      kind: "handlers",
      width: 200,
      operations: "mixed16",
    }),
  ],
  measure: measureLoad,
};

const PIPELINE_SIZES = [1, 2, 5, 10, 50, 100, 1000, 10_000, 100_000, 1_000_000];
/** Points of the curves without a goal. */
const BETWEEN = [2, 5, 50, 1_000_000];

export const explicitPipelines: Scenario<LoadRow> = {
  id: "explicit-pipelines",
  title: "Explicit pipelines by size",
  about:
    "One batch after the other, each built by chained calls and awaited, with alternating SETs and GETs. node-redis: `multi().execAsPipeline()`. glide: `Batch`, not atomic. Latency is that of the whole batch.",
  columns: LOAD_COLUMNS,
  plots: [
    {
      file: "throughput-by-depth",
      title: "Throughput by pipeline depth",
      xTitle: "commands per pipeline",
      yTitle: "commands per second",
      figure: "opsPerSecond",
      pick: "median",
    },
    {
      file: "memory-by-depth",
      title: "Peak memory by pipeline depth",
      xTitle: "commands per pipeline",
      yTitle: "MiB",
      figure: "peakRssMiB",
      pick: "median",
    },
  ],
  rows: PIPELINE_SIZES.map((size) =>
    row({
      id: `pipeline-${size}`,
      title: `pipeline of ${size.toLocaleString("en")}`,
      kind: "batches",
      width: size,
      operations: "mixed16",
      x: size,
      isLong: size >= 100_000,
      ...(BETWEEN.includes(size) ? { sides: CURVE_SIDES } : {}),
    }),
  ),
  measure: measureLoad,
};

export const largeValues: Scenario<LoadRow> = {
  id: "large-values",
  title: "Large values",
  about:
    "GET of 1 MiB one at a time, SET of 64 KiB from 16 callers, and SET of 1 MiB from 4. The text is ASCII.",
  columns: LOAD_COLUMNS,
  rows: [
    row({ id: "get-mib-string", title: "GET 1 MiB string", kind: "callers", width: 1, operations: "getMiB" }),
    row({
      id: "get-mib-buffer",
      title: "GET 1 MiB Buffer",
      kind: "callers",
      width: 1,
      operations: "getMiBBuffer",
    }),
    row({
      id: "set-64k-string",
      title: "SET 64 KiB string",
      kind: "callers",
      width: 16,
      operations: "set64k",
    }),
    row({ id: "set-mib-string", title: "SET 1 MiB string", kind: "callers", width: 4, operations: "setMiB" }),
    row({
      id: "set-mib-buffer",
      title: "SET 1 MiB Buffer",
      kind: "callers",
      width: 4,
      operations: "setMiBBuffer",
    }),
  ],
  measure: measureLoad,
};

export const aggregates: Scenario<LoadRow> = {
  id: "aggregates",
  title: "Replies of many elements",
  about:
    "One at a time: a list of 10,000 elements, a hash of 1,000 fields as an object, and 1,000 values by MGET.",
  columns: LOAD_COLUMNS,
  rows: [
    row({ id: "lrange-10k", title: "LRANGE 10,000", kind: "callers", width: 1, operations: "lrange10k" }),
    row({ id: "hgetall-1000", title: "HGETALL 1,000", kind: "callers", width: 1, operations: "hgetall1000" }),
    row({ id: "mget-1000", title: "MGET 1,000", kind: "callers", width: 1, operations: "mget1000" }),
  ],
  measure: measureLoad,
};

const PINGS = 10_000;

export const pings: Scenario<LoadRow> = {
  id: "pings",
  title: "10,000 PINGs",
  about: "10,000 PINGs: each awaited before the next, all issued in one turn, and all in one pipeline.",
  rounds: 2,
  columns: [{ figure: "secondsPerTenThousand", title: "seconds", digits: 4, pick: "median" }, OPS, CPU],
  rows: [
    row({
      id: "pings-awaited",
      title: "awaited one by one",
      kind: "callers",
      width: 1,
      operations: "ping",
      sides: CURVE_SIDES,
    }),
    row({
      id: "pings-turn",
      title: "issued in one turn",
      kind: "turns",
      width: PINGS,
      operations: "ping",
      sides: CURVE_SIDES,
    }),
    row({
      id: "pings-pipeline",
      title: "one pipeline",
      kind: "batches",
      width: PINGS,
      operations: "ping",
      sides: CURVE_SIDES,
    }),
  ],
  measure: async (pingRow, context) => {
    const figures = await measureLoad(pingRow, context);
    return { ...figures, secondsPerTenThousand: PINGS / (figures.opsPerSecond as number) };
  },
};

const GROWTH_COLUMNS = [OPS, CPU, P50, P99, RSS] as const;
const VALUE_SIZES = [1, 16, 256, 4096, 65_536, 1_048_576, 16_777_216];
const CALLER_COUNTS = [1, 10, 100, 1000, 10_000];

export const growth: Scenario<LoadRow> = {
  id: "growth",
  title: "Growth curves",
  about:
    "The cost of a command for values from 1 B to 16 MiB (16 callers, 2 with 16 MiB, alternating SETs and GETs), and for 1 to 10,000 callers (16 B, automatic pipelining if the client has it). The section on explicit pipelines has batches from 1 to 1,000,000.",
  rounds: 1,
  columns: GROWTH_COLUMNS,
  plots: [
    {
      file: "cpu-by-value-size",
      title: "CPU per command by value size",
      xTitle: "size of the value",
      xIsBytes: true,
      yTitle: "CPU µs per command",
      figure: "cpuMicros",
      pick: "least",
      rowPrefix: "value-",
    },
    {
      file: "throughput-by-callers",
      title: "Throughput by number of callers",
      xTitle: "callers",
      yTitle: "commands per second",
      figure: "opsPerSecond",
      pick: "median",
      rowPrefix: "callers-",
    },
  ],
  rows: [
    ...VALUE_SIZES.map((bytes) =>
      row({
        id: `value-${bytes}`,
        title: `values of ${bytes.toLocaleString("en")} B`,
        kind: "callers",
        width: bytes > 1_048_576 ? 2 : 16,
        operations: `size${bytes}`,
        x: bytes,
        sides: CURVE_SIDES,
      }),
    ),
    ...CALLER_COUNTS.map((count) =>
      row({
        id: `callers-${count}`,
        title: `${count.toLocaleString("en")} callers`,
        kind: "callers",
        width: count,
        operations: "mixed16",
        autoPipelining: true,
        x: count,
        sides: CURVE_SIDES,
      }),
    ),
  ],
  measure: measureLoad,
};
