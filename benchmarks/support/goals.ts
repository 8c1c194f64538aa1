/**
 * The performance goals, as ratios to ioredis in the same run.
 *
 * `ops` at least, `cpu` and `p50`, `p99`, `rss` at most. `rivals` are other sides that must be beaten by a
 * factor in ops. Goals are reported line by line and never asserted: timings depend on the machine.
 */

import type { SideName } from "../sides/all-sides";

export interface Goal {
  readonly row: string;
  readonly ops?: number;
  readonly cpu?: number;
  readonly p50?: number;
  readonly p99?: number;
  readonly rss?: number;
  readonly rivals?: Partial<Record<SideName, number>>;
  /** Ceiling of one figure of sluice itself. */
  readonly ceiling?: { readonly figure: string; readonly most: number; readonly unit: string };
}

export const goals: readonly Goal[] = [
  { row: "sequential-get", ops: 1, cpu: 1 },
  { row: "sequential-set", ops: 1, cpu: 1 },
  { row: "flight-50-16", ops: 2.8, cpu: 0.2, p99: 0.5 },
  { row: "flight-50-1k", ops: 3.3, cpu: 0.2, p99: 0.5 },
  { row: "flight-1000-16", ops: 10, cpu: 0.08, rivals: { "redis-nt": 3 } },
  { row: "flight-1000-1k", ops: 5, cpu: 0.15, rivals: { "redis-nt": 3 } },
  { row: "all-1000-default", ops: 7, cpu: 0.07, rivals: { "redis-nt": 2.2 } },
  { row: "all-1000-auto", ops: 5.5, cpu: 0.09, rivals: { "redis-nt": 2.2 } },
  { row: "callers-200-auto", ops: 3.5, cpu: 0.18, p50: 0.45 },
  { row: "handlers-200-auto", ops: 2.8, cpu: 0.25 },
  { row: "handlers-200-default", ops: 4.2, cpu: 0.17 },
  { row: "pipeline-10", ops: 1.7, cpu: 0.45 },
  { row: "pipeline-100", ops: 4.5, cpu: 0.13 },
  { row: "pipeline-1000", ops: 6.5, cpu: 0.08, rivals: { redis: 2.2, "redis-nt": 2.2, glide: 2.2 } },
  { row: "pipeline-10000", ops: 8, cpu: 0.06, rivals: { redis: 4.5, "redis-nt": 4.5, glide: 4.5 } },
  { row: "pipeline-100000", ops: 12, cpu: 0.05, rss: 0.25 },
  { row: "get-mib-string", ops: 3, cpu: 0.28 },
  { row: "get-mib-buffer", ops: 1.2, cpu: 0.7 },
  { row: "lrange-10k", ops: 3.8, cpu: 0.18 },
  { row: "hgetall-1000", ops: 3.6, cpu: 0.27 },
  { row: "mget-1000", ops: 4.2, cpu: 0.22 },
  { row: "set-64k-string", ops: 2.4, cpu: 0.42 },
  { row: "set-mib-string", ops: 3.8, cpu: 0.25 },
  { row: "set-mib-buffer", ops: 3.4, cpu: 0.28 },
  { row: "cluster-all-default", ops: 6, cpu: 0.1 },
  { row: "cluster-all-auto", ops: 4, cpu: 0.15 },
  {
    row: "queued-100k",
    ceiling: { figure: "queuedBytes", most: 200, unit: "bytes held per queued command" },
  },
  { row: "load", ceiling: { figure: "ownKiB", most: 400, unit: "KiB of code" } },
];

/** Load time is to be less than half of ioredis's. */
export const LOAD_TIME_RATIO = 0.5;

/** The aim beyond the table: CPU per command within this factor of "raw+p". */
export const LIMIT_FACTOR = 1.5;
