/**
 * The instruments: those of the conventions for database clients (the ones about connections are in
 * development), and additional ones for a pipelining client. All except the histograms are read from `stats()`
 * on collection, so they cost nothing in between.
 */

import type { BatchObservableResult, Histogram, Meter, Observable } from "@opentelemetry/api";
import type { ClusterStats, RedisStats } from "../client/stats";
import { hooks } from "../observability/hooks";
import { ClientFigures, type Figure, type Reading } from "./client-figures";

/** The buckets of the conventions, in seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

export interface Histograms {
  readonly duration: Histogram;
  readonly queueWait: Histogram;
  readonly windowWait: Histogram;
  readonly createTime: Histogram;
}

export function makeHistograms(meter: Meter): Histograms {
  const make = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: BUCKETS } });
  return {
    duration: make(
      "db.client.operation.duration",
      "Duration of database client operations. A batch is one operation.",
    ),
    queueWait: make("sluice.queue.wait", "Time from exec() to the write of the first command of the batch."),
    windowWait: make(
      "sluice.window.wait",
      "Time for which an automatic batch collected commands before its write.",
    ),
    createTime: make("db.client.connection.create_time", "The time it took to create a new connection."),
  };
}

const STATE = "db.client.connection.state";

const READINGS: readonly Reading[] = [
  {
    name: "db.client.connection.count",
    kind: "upDownCounter",
    unit: "{connection}",
    description:
      "The number of connections that are currently in the state described by the state attribute.",
    read: ({ status, queues }) => {
      const isReady = status === "ready";
      const isUsed = isReady && queues.inFlight + queues.unsent > 0;
      return [
        [isUsed ? 1 : 0, { [STATE]: "used" }],
        [isReady && !isUsed ? 1 : 0, { [STATE]: "idle" }],
      ];
    },
  },
  {
    name: "db.client.connection.pending_requests",
    kind: "upDownCounter",
    unit: "{request}",
    description: "The number of commands that wait for a connection.",
    read: ({ queues }) => [[queues.offline]],
    readCluster: (stats) => [[waitingAbove(stats)]],
  },
  {
    name: "sluice.flushes",
    kind: "counter",
    unit: "{flush}",
    description: "Writes to the socket.",
    read: ({ flushes }) => [[flushes.count]],
  },
  {
    name: "sluice.flushed.commands",
    kind: "counter",
    unit: "{command}",
    description: "Written commands. Divided by sluice.flushes: commands per write.",
    read: ({ flushes }) => [[flushes.commands]],
  },
  {
    name: "sluice.io",
    kind: "counter",
    unit: "By",
    description: "Bytes read and written.",
    read: ({ bytesRead, bytesWritten }) => [
      [bytesRead, { "network.io.direction": "receive" }],
      [bytesWritten, { "network.io.direction": "transmit" }],
    ],
  },
  {
    name: "sluice.queue.length",
    kind: "gauge",
    unit: "{command}",
    description: "Waiting commands, by queue.",
    read: ({ queues: { offline, gathered, unsent, inFlight }, bounds }) => [
      [offline, { "sluice.queue": "offline" }],
      [gathered, { "sluice.queue": "gathered" }],
      [unsent, { "sluice.queue": "unsent" }],
      [inFlight, { "sluice.queue": "in_flight" }],
      [bounds?.waiting ?? null, { "sluice.queue": "bounds" }],
    ],
    readCluster: (stats) => [
      [waitingAbove(stats), { "sluice.queue": "offline" }],
      [null, { "sluice.queue": "gathered" }],
      [null, { "sluice.queue": "unsent" }],
      [null, { "sluice.queue": "in_flight" }],
      [stats.bounds?.waiting ?? null, { "sluice.queue": "bounds" }],
    ],
  },
  {
    name: "sluice.round_trip.mean",
    kind: "gauge",
    isMaximum: true,
    unit: "s",
    description: "Moving mean of the time from a write to its first reply.",
    read: ({ roundTrip }) => [[seconds(roundTrip.meanMs)]],
  },
  {
    name: "sluice.round_trip.p99",
    kind: "gauge",
    isMaximum: true,
    unit: "s",
    description: "99th percentile of the time from a write to its first reply in the last minute.",
    read: ({ roundTrip }) => [[seconds(roundTrip.p99Ms)]],
  },
  {
    name: "sluice.window",
    kind: "gauge",
    isMaximum: true,
    unit: "{batch}",
    description: "Automatic batches that may be in flight.",
    read: ({ window }) => [[window]],
  },
  {
    name: "sluice.stalls",
    kind: "counter",
    unit: "{stall}",
    description: "Periods in which the socket accepted no data.",
    read: ({ stalls }) => [[stalls.count]],
  },
  {
    name: "sluice.stall.time",
    kind: "counter",
    unit: "s",
    description: "Time in which the socket accepted no data.",
    read: ({ stalls }) => [[seconds(stalls.ms)]],
  },
  {
    name: "sluice.connections.lost",
    kind: "counter",
    unit: "{connection}",
    description: "Ready connections that were lost.",
    read: ({ connections }) => [[connections.lost]],
  },
  {
    name: "sluice.commands.resent",
    kind: "counter",
    unit: "{command}",
    description: "Written commands that were sent again because their connection was lost.",
    read: ({ connections }) => [[connections.resent]],
  },
  {
    name: "sluice.redirects",
    kind: "counter",
    unit: "{command}",
    description: "Commands and transactions that cluster nodes redirected or deferred, by reply.",
    read: () => [],
    readCluster: ({ redirects }) => [
      [redirects.moved, { "sluice.redirect.kind": "MOVED" }],
      [redirects.ask, { "sluice.redirect.kind": "ASK" }],
      [redirects.tryAgain, { "sluice.redirect.kind": "TRYAGAIN" }],
      [redirects.clusterDown, { "sluice.redirect.kind": "CLUSTERDOWN" }],
      [redirects.other, { "sluice.redirect.kind": "OTHER" }],
    ],
  },
  {
    name: "sluice.cache.reads",
    kind: "counter",
    unit: "{command}",
    description:
      "Reads of clients with a cache, by result. A joined read waited for the reply to another one.",
    read: readCacheReads,
    readCluster: readCacheReads,
  },
  {
    name: "sluice.cache.evictions",
    kind: "counter",
    unit: "{answer}",
    description: "Replies that the cache evicted.",
    read: ({ cache }) => [[cache?.evictions ?? null]],
    readCluster: ({ cache }) => [[cache?.evictions ?? null]],
  },
  {
    name: "sluice.cache.invalidations",
    kind: "counter",
    unit: "{key}",
    description: "Changed keys that the server reported.",
    read: ({ cache }) => [[cache?.invalidations ?? null]],
    readCluster: ({ cache }) => [[cache?.invalidations ?? null]],
  },
  {
    name: "sluice.cache.size",
    kind: "upDownCounter",
    unit: "By",
    description: "Memory of the replies in the cache.",
    read: ({ cache }) => [[cache?.bytes ?? null]],
    readCluster: ({ cache }) => [[cache?.bytes ?? null]],
  },
];

function readCacheReads({ cache }: Pick<RedisStats, "cache">): readonly Figure[] {
  return [
    [cache?.hits ?? null, { "sluice.cache.result": "hit" }],
    [cache?.misses ?? null, { "sluice.cache.result": "miss" }],
    [cache?.joined ?? null, { "sluice.cache.result": "joined" }],
  ];
}

/** Commands that wait for the cluster, or for their turn after a redirect, and not for a node. */
function waitingAbove({ queues, nodes }: ClusterStats): number {
  return Object.values(nodes).reduce((left, node) => left - node.queues.offline, queues.offline);
}

/** Reads the metrics of all clients on each collection, until the returned function is called. */
export function observeClients(meter: Meter): () => void {
  const instruments = READINGS.map((reading) => makeObservable(meter, reading));
  const figures = new ClientFigures(READINGS);
  const callback = (result: BatchObservableResult): void => {
    for (const [server, all] of figures.read()) {
      for (const [index, values] of all.entries()) {
        for (const [value, attributes] of values) {
          if (value === null) continue;
          const instrument = instruments[index] as Observable;
          result.observe(instrument, value, { "db.client.connection.pool.name": server, ...attributes });
        }
      }
    }
  };
  meter.addBatchObservableCallback(callback, instruments);
  const { look } = figures;
  hooks.left = look;
  return () => {
    meter.removeBatchObservableCallback(callback, instruments);
    if (hooks.left === look) hooks.left = null;
  };
}

function makeObservable(meter: Meter, { name, kind, unit, description }: Reading): Observable {
  const options = { unit, description };
  if (kind === "counter") return meter.createObservableCounter(name, options);
  if (kind === "gauge") return meter.createObservableGauge(name, options);
  return meter.createObservableUpDownCounter(name, options);
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
