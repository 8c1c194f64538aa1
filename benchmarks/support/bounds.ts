/**
 * Goals that are absolute figures, or ratios to another row or to the best peer of the same row. `goals.ts`
 * contains the ratios to ioredis. All goals are reported and never asserted.
 */

import type { SideName } from "../sides/all-sides";

export interface Bound {
  readonly row: string;
  readonly figure: string;
  /** What the figure is, for the table. */
  readonly title: string;
  readonly digits?: number;
  /** One of the two. */
  readonly most?: number;
  readonly least?: number;
  /** A ratio to another row of the same side, or to a peer, or to the best of them; absent: the figure itself. */
  readonly to?: { readonly row?: string; readonly side?: SideName | "best peer" };
  /** The difference to that row instead of the ratio. */
  readonly isDifference?: boolean;
}

const CPU = { figure: "cpuMicros", title: "CPU µs/command" } as const;
const BEST = { side: "best peer" } as const;

function message(row: string, most: number): Bound {
  return { row, figure: "cpuMicros", title: "CPU µs/message", digits: 2, most };
}

export const bounds: readonly Bound[] = [
  { row: "callers-100-get", figure: "opsPerSecond", title: "ops/s", least: 1_000_000 },
  { row: "compute-after-call", figure: "opsPerSecond", title: "ops/s", least: 0.95, to: { side: "ioredis" } },
  { row: "storage-on", ...CPU, most: 1.15, to: { row: "storage-off" } },
  { row: "patched-on", ...CPU, most: 2, to: { row: "patched-off" } },
  { row: "idle-200", figure: "idleCpuMs", title: "idle, CPU ms a second", most: 1, to: { side: "ioredis" } },
  {
    row: "idle-subscribers-50",
    figure: "idleCpuMs",
    title: "idle, CPU ms a second",
    most: 1,
    to: { side: "ioredis" },
  },
  { row: "connect-500", figure: "heapKib", title: "heap KiB each", digits: 1, most: 10 },
  { row: "connect-500", figure: "rssKib", title: "RSS KiB each", digits: 1, most: 35 },
  { row: "connect-500", figure: "connectMicros", title: "CPU µs each", most: 1, to: { side: "iovalkey" } },
  { row: "pace-1000", ...CPU, most: 1, to: BEST },
  { row: "pace-10000", ...CPU, most: 1, to: BEST },
  { row: "first-reply", figure: "roundTrips", title: "round trips", digits: 2, most: 1.1 },
  { row: "request-connection", ...CPU, title: "CPU µs/request", most: 1, to: { side: "redis-nt" } },
  { row: "thaw", figure: "replyMs", title: "ms to the reply", most: 500 },
  message("messages-16-resp2", 0.45),
  message("messages-16-resp3", 0.45),
  message("messages-16-buffer", 0.45),
  message("messages-16-100", 0.45),
  message("messages-pattern", 0.45),
  message("messages-shard", 0.45),
  message("messages-1k", 1.2),
  { row: "messages-beside", figure: "p99Micros", title: "p99 µs", most: 1, to: BEST },
  {
    row: "app-http-100",
    figure: "aboveFloorMicros",
    title: "CPU µs a request above the floor",
    digits: 1,
    most: 6,
  },
  {
    row: "app-http-200",
    figure: "aboveFloorMicros",
    title: "CPU µs a request above the floor",
    digits: 1,
    most: 6,
  },
  { row: "traced-pipeline-100-on", ...CPU, most: 1.3, to: { row: "traced-pipeline-100-off" } },
  { row: "traced-pipeline-1000-on", ...CPU, most: 1.3, to: { row: "traced-pipeline-1000-off" } },
  { row: "traced-turn-100-on", ...CPU, most: 1.5, to: { row: "traced-turn-100-off" } },
  {
    row: "traced-single-1-on",
    ...CPU,
    digits: 2,
    most: 1.25,
    to: { row: "traced-single-1-off" },
    isDifference: true,
  },
  { row: "traced-single-1-on", ...CPU, most: 1, to: { row: "traced-single-1-hand" } },
  { row: "traced-pipeline-100-stopped", ...CPU, most: 1.01, to: { row: "traced-pipeline-100-off" } },
  { row: "traced-single-1-stopped", ...CPU, most: 1.01, to: { row: "traced-single-1-off" } },
  { row: "cached-awaited", ...CPU, digits: 3, most: 0.1 },
  { row: "cached-turn", ...CPU, digits: 3, most: 0.075 },
  { row: "cached-peek", ...CPU, digits: 3, most: 0.035 },
  { row: "cached-awaited-ready", ...CPU, digits: 3, most: 0.1 },
  { row: "cached-turn-ready", ...CPU, digits: 3, most: 0.075 },
  { row: "cached-peek-ready", ...CPU, digits: 3, most: 0.035 },
  {
    row: "app-http-cached",
    figure: "cpuTimesFloor",
    title: "CPU a request, times the floor",
    digits: 2,
    most: 1.1,
  },
  {
    row: "fewer-turn-get-on",
    figure: "opsPerSecond",
    title: "ops/s",
    least: 1.5,
    to: { row: "fewer-turn-get-off" },
  },
  {
    row: "fewer-pipeline-get-on",
    figure: "opsPerSecond",
    title: "ops/s",
    least: 1.6,
    to: { row: "fewer-pipeline-get-off" },
  },
  {
    row: "fewer-turn-get-on",
    figure: "serverCpuMicros",
    title: "server CPU µs/command",
    most: 0.45,
    to: { row: "fewer-turn-get-off" },
  },
];

/** Rows in which no peer is to be better in any of these by more than `NOISE`. */
export const NOWHERE_BEHIND = "applications";
export const NOISE = 0.05;

/** What a cell of the grid of callers, server, work and line is to reach. */
export const GRID_GOALS = [
  { figure: "opsPerSecond", title: "ops/s to the best peer", least: 1.05, to: ["ioredis", "redis-nt"] },
  { figure: "p50Micros", title: "p50 to the best peer", most: 1, to: ["ioredis", "redis-nt"] },
  { figure: "p99Micros", title: "p99 to the best peer", most: 1, to: ["ioredis", "redis-nt"] },
  { figure: "cpuMicros", title: "CPU to one write a turn", most: 1.1, to: ["sluice-turn"] },
] as const satisfies readonly {
  figure: string;
  title: string;
  least?: number;
  most?: number;
  to: readonly SideName[];
}[];
