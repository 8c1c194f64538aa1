/**
 * The interface of a scenario: rows to be measured on some sides, and how their figures are shown.
 *
 * `measure` runs in a fresh process for each row, side and round. It connects, checks, warms up, measures and
 * returns figures; the runner knows nothing about their meaning beyond the columns named here.
 */

import type { SideName } from "../sides/all-sides";
import type { Address, Target } from "../sides/side";
import type { Figures } from "./meter";

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly sides: readonly SideName[];
  /** Position on the horizontal axis of the scenario's plot. */
  readonly x?: number;
  /** Number of cluster nodes the row needs; absent: one plain server. */
  readonly masters?: number;
  /** Left out of quick runs, sampled once in others. */
  readonly isLong?: boolean;
}

/** How long the parts of one sample last. */
export interface Budget {
  readonly warmMs: number;
  readonly measureMs: number;
  readonly latencyMs: number;
}

export interface SampleContext {
  readonly sideName: SideName;
  readonly target: Target;
  readonly budget: Budget;
  /** CPU of the server, for helper processes that belong to its side of the wire; absent: not pinned. */
  readonly serverCpu: number | undefined;
}

export interface Column {
  readonly figure: string;
  readonly title: string;
  readonly digits: number;
  /** CPU time is judged by its least sample, everything else by the median. */
  readonly pick: "median" | "least";
}

export interface Plot {
  readonly file: string;
  readonly title: string;
  readonly xTitle: string;
  /** Places on the horizontal axis are sizes. */
  readonly xIsBytes?: boolean;
  readonly yTitle: string;
  readonly figure: string;
  readonly pick: "median" | "least";
  /** Only rows whose id begins with this. */
  readonly rowPrefix?: string;
  /** One more line below the title. */
  readonly note?: string;
}

export interface Scenario<R extends Row = Row> {
  readonly id: string;
  readonly title: string;
  /** What is done and why it matters: goes into the page. */
  readonly about: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column[];
  readonly plots?: readonly Plot[];
  /** Most rounds, where fewer will do: curves, and counts that do not vary. */
  readonly rounds?: number;
  /** Rows with the same key take turns in each round, because their figures are compared. Absent: one row after another. */
  readonly comparedBy?: (row: R) => string;
  /** Needs no server at all. */
  readonly isOffline?: boolean;
  /** The runner watches the server's memory while the sample runs and adds `serverPeakMiB`. */
  readonly watchesServerMemory?: boolean;
  /** V8 flags of the sample process. */
  readonly nodeFlags?: readonly string[];
  /** Done once by the runner before the first sample. */
  before?(): void;
  /** Versions of packages beside the clients. */
  versions?(): Record<string, string>;
  measure(row: R, context: SampleContext): Promise<Figures>;
}

export interface SampleJob {
  readonly scenario: string;
  readonly row: string;
  readonly side: SideName;
  readonly nodes: readonly Address[];
  readonly isCluster: boolean;
  readonly unixPath?: string | undefined;
  readonly tls?: Target["tls"];
  readonly budget: Budget;
  readonly serverCpu: number | undefined;
}

export const OPS: Column = { figure: "opsPerSecond", title: "ops/s", digits: 0, pick: "median" };
export const CPU: Column = { figure: "cpuMicros", title: "CPU µs/command", digits: 2, pick: "least" };
export const P50: Column = { figure: "p50Micros", title: "p50 µs", digits: 0, pick: "median" };
export const P99: Column = { figure: "p99Micros", title: "p99 µs", digits: 0, pick: "median" };
export const RSS: Column = { figure: "peakRssMiB", title: "peak RSS MiB", digits: 0, pick: "median" };
export const SERVER_CPU: Column = {
  figure: "serverCpuMicros",
  title: "server CPU µs/command",
  digits: 2,
  pick: "least",
};
export const LOAD_COLUMNS: readonly Column[] = [OPS, CPU, P50, P99, RSS, SERVER_CPU];
