/** Records `stats()` of a client every 250 ms while it works. */

import type { Cluster, Redis } from "../../src/index";

export const PERIOD_MS = 250;

/** One period. */
export interface Sample {
  /** Seconds since the recording began. */
  readonly at: number;
  readonly perSecond: number;
  readonly perWrite: number;
  readonly inFlight: number;
  /** Moving mean; on a cluster that of the slowest node. */
  readonly roundTripMs: number;
  readonly socketBytes: number;
  /** Of MOVED and ASK, a second. */
  readonly redirects: number;
}

interface Reading {
  readonly ms: number;
  readonly fulfilled: number;
  readonly flushes: number;
  readonly written: number;
  readonly redirects: number;
  readonly inFlight: number;
  readonly socketBytes: number;
  readonly roundTripMs: number;
}

function read(client: Redis | Cluster): Reading {
  const stats = client.stats();
  const { commands, flushes, queues } = stats;
  const lines = "nodes" in stats ? Object.values(stats.nodes) : [stats];
  return {
    ms: performance.now(),
    fulfilled: commands.fulfilled,
    flushes: flushes.count,
    written: flushes.commands,
    redirects: "redirects" in stats ? stats.redirects.moved + stats.redirects.ask : 0,
    inFlight: queues.inFlight,
    socketBytes: queues.socketBytes,
    roundTripMs: Math.max(...lines.map((line) => line.roundTrip.meanMs ?? 0)),
  };
}

/** Records until the work is over. */
export async function record(client: Redis | Cluster, work: () => Promise<void>): Promise<Sample[]> {
  const samples: Sample[] = [];
  const beganMs = performance.now();
  let before = read(client);
  const timer = setInterval(() => {
    const now = read(client);
    const seconds = (now.ms - before.ms) / 1000;
    const flushes = now.flushes - before.flushes;
    samples.push({
      at: rounded((now.ms - beganMs) / 1000),
      perSecond: Math.round((now.fulfilled - before.fulfilled) / seconds),
      perWrite: flushes === 0 ? 0 : rounded((now.written - before.written) / flushes),
      inFlight: now.inFlight,
      roundTripMs: rounded(now.roundTripMs),
      socketBytes: now.socketBytes,
      redirects: Math.round((now.redirects - before.redirects) / seconds),
    });
    before = now;
  }, PERIOD_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return samples;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
