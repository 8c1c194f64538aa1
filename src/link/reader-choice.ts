/**
 * Chooses the node that serves a read. Among the nodes that can serve it, those in the zone of the client come first, then
 * those that are as near as the nearest one, if the client wants that. Among equals, chance decides. Knows neither commands
 * nor topology, and allocates nothing: the choice is made for each read.
 */

import type { RoundTrips } from "../connection/round-trips";
import { clockMs } from "../util/scheduling";

/** The tolerance of "nearest": without one, noise would send all reads to one of several equal nodes. */
const BAND_SHARE = 0.2;
const BAND_MS = 0.2;

const SAMPLE_MS = 400;
/** One late reply must not move a node out of the band. */
const GROWTH = 1 / 4;
const MOST_GROWTH = 2;
/** A node that has answered nothing for this long is tried again. */
const FORGOTTEN_MS = 10_000;

export type MeasuredTrips = Pick<RoundTrips, "takeLeastMs">;

/**
 * The distance of a node, from the shortest round trip of each period: a pause of this process makes the others longer. It
 * falls immediately and rises slowly, because a period may have a single round trip.
 */
export class Distance {
  private ms: number | null = null;
  private measuredAtMs = Number.NEGATIVE_INFINITY;
  private sampledAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly trips: MeasuredTrips) {}

  /** Null if it is unknown. */
  read(nowMs: number): number | null {
    if (this.ms === null || nowMs - this.sampledAtMs >= SAMPLE_MS) this.sample(nowMs);
    return this.ms;
  }

  private sample(nowMs: number): void {
    const leastMs = this.trips.takeLeastMs();
    const { ms } = this;
    this.sampledAtMs = nowMs;
    if (leastMs === null) {
      if (nowMs - this.measuredAtMs > FORGOTTEN_MS) this.ms = null;
      return;
    }
    this.measuredAtMs = nowMs;
    if (ms === null || leastMs < ms) this.ms = leastMs;
    else this.ms = ms + (Math.min(leastMs, ms * MOST_GROWTH) - ms) * GROWTH;
  }
}

export interface Reader {
  readonly takesReads: boolean;
  /** The availability zone, if the server reports it. */
  readonly zone: string | undefined;
  /** Null if it is unknown. */
  distanceMs(nowMs: number): number | null;
}

export interface ReaderPreference {
  /** The zone of the client. */
  readonly zone: string | undefined;
  readonly isNearest: boolean;
}

/** Null if no node takes reads. */
export function chooseReader<Node extends Reader>(
  nodes: readonly Node[],
  { zone, isNearest }: ReaderPreference,
): Node | null {
  const own = zone === undefined ? null : pick(nodes, zone, isNearest);
  return own ?? pick(nodes, undefined, isNearest);
}

/** Among the nearest, a node whose round trip is unknown counts as near. */
function pick<Node extends Reader>(
  nodes: readonly Node[],
  zone: string | undefined,
  isNearest: boolean,
): Node | null {
  const { length } = nodes;
  const nowMs = isNearest ? clockMs() : 0;
  let least = Number.POSITIVE_INFINITY;
  if (isNearest)
    for (const node of nodes)
      if (isCandidate(node, zone)) least = Math.min(least, node.distanceMs(nowMs) ?? least);
  const mostMs = least * (1 + BAND_SHARE) + BAND_MS;
  let chosen: Node | null = null;
  let count = 0;
  for (let index = 0; index < length; index++) {
    const node = nodes[index] as Node;
    if (!isCandidate(node, zone) || (isNearest && (node.distanceMs(nowMs) ?? 0) > mostMs)) continue;
    // The n-th candidate replaces the chosen one with a chance of 1 / n.
    count++;
    if (Math.random() * count < 1) chosen = node;
  }
  return chosen;
}

function isCandidate(node: Reader, zone: string | undefined): boolean {
  return node.takesReads && (zone === undefined || node.zone === zone);
}
