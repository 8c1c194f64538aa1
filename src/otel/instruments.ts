/**
 * The instruments. Those of the conventions for database clients, of which the ones about connections
 * are in development, and those that only a pipelining client has. All but the histograms are read
 * from `stats()` when somebody collects, so they cost nothing in between.
 */

import type { Attributes, BatchObservableResult, Histogram, Meter, Observable } from "@opentelemetry/api";
import type { CacheStats } from "../caching/cache-report";
import type { RedisStats } from "../client/stats";
import { hooks } from "../observability/hooks";

/** The conventions' buckets, in seconds. */
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
    duration: make("db.client.operation.duration", "Duration of database client operations; a batch is one."),
    queueWait: make("sluice.queue.wait", "Time from exec() to the write of the first command of the batch."),
    windowWait: make("sluice.window.wait", "Time for which an automatic batch was gathered before it left."),
    createTime: make("db.client.connection.create_time", "The time it took to create a new connection."),
  };
}

type Kind = "counter" | "upDownCounter" | "gauge";
type Figure = readonly [value: number | null, attributes?: Attributes];

interface Reading {
  readonly name: string;
  readonly kind: Kind;
  readonly unit: string;
  readonly description: string;
  /** @param cache Of a client with the option `cache`. */
  read(stats: RedisStats, cache: CacheStats | null): readonly Figure[];
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
    description: "The number of pending requests for an open connection: commands that wait offline.",
    read: ({ queues }) => [[queues.offline]],
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
    description: "Commands written; divided by sluice.flushes, the commands per write.",
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
    description: "Commands that wait, by where.",
    read: ({ queues: { offline, gathered, unsent, inFlight }, bounds }) => [
      [offline, { "sluice.queue": "offline" }],
      [gathered, { "sluice.queue": "gathered" }],
      [unsent, { "sluice.queue": "unsent" }],
      [inFlight, { "sluice.queue": "in_flight" }],
      [bounds?.waiting ?? null, { "sluice.queue": "bounds" }],
    ],
  },
  {
    name: "sluice.round_trip.mean",
    kind: "gauge",
    unit: "s",
    description: "Moving mean of the time from a write to its first reply.",
    read: ({ roundTrip }) => [[seconds(roundTrip.meanMs)]],
  },
  {
    name: "sluice.round_trip.p99",
    kind: "gauge",
    unit: "s",
    description: "99th percentile of the time from a write to its first reply, of the last minute.",
    read: ({ roundTrip }) => [[seconds(roundTrip.p99Ms)]],
  },
  {
    name: "sluice.window",
    kind: "gauge",
    unit: "{batch}",
    description: "Automatic batches that may be unanswered.",
    read: ({ window }) => [[window]],
  },
  {
    name: "sluice.stalls",
    kind: "counter",
    unit: "{stall}",
    description: "Times that the socket took no more bytes.",
    read: ({ stalls }) => [[stalls.count]],
  },
  {
    name: "sluice.stall.time",
    kind: "counter",
    unit: "s",
    description: "Time for which the socket took no more bytes.",
    read: ({ stalls }) => [[seconds(stalls.ms)]],
  },
  {
    name: "sluice.connections.lost",
    kind: "counter",
    unit: "{connection}",
    description: "Ready connections that ended without being asked to.",
    read: ({ connections }) => [[connections.lost]],
  },
  {
    name: "sluice.commands.resent",
    kind: "counter",
    unit: "{command}",
    description: "Written commands that went back to the queue because their connection was lost.",
    read: ({ connections }) => [[connections.resent]],
  },
  {
    name: "sluice.cache.reads",
    kind: "counter",
    unit: "{command}",
    description:
      "Reads of clients with a cache, by what became of them; a joined one waited for the answer to another.",
    read: (_, cache) => [
      [cache?.hits ?? null, { "sluice.cache.result": "hit" }],
      [cache?.misses ?? null, { "sluice.cache.result": "miss" }],
      [cache?.joined ?? null, { "sluice.cache.result": "joined" }],
    ],
  },
  {
    name: "sluice.cache.evictions",
    kind: "counter",
    unit: "{answer}",
    description: "Answers that the cache dropped to make room.",
    read: (_, cache) => [[cache?.evictions ?? null]],
  },
  {
    name: "sluice.cache.invalidations",
    kind: "counter",
    unit: "{key}",
    description: "Keys that the server said have changed.",
    read: (_, cache) => [[cache?.invalidations ?? null]],
  },
  {
    name: "sluice.cache.size",
    kind: "upDownCounter",
    unit: "By",
    description: "Memory that the answers in the cache take.",
    read: (_, cache) => [[cache?.bytes ?? null]],
  },
];

/** Reads the figures of all clients whenever somebody collects, until the returned function is called. */
export function observeClients(meter: Meter): () => void {
  const instruments = READINGS.map((reading) => makeObservable(meter, reading));
  const callback = (result: BatchObservableResult): void => {
    for (const [server, all] of readClients()) {
      for (const [index, figures] of all.entries()) {
        for (const [value, attributes] of figures) {
          const instrument = instruments[index] as Observable;
          result.observe(instrument, value, { "db.client.connection.pool.name": server, ...attributes });
        }
      }
    }
  };
  meter.addBatchObservableCallback(callback, instruments);
  return () => meter.removeBatchObservableCallback(callback, instruments);
}

type Sum = readonly [value: number, attributes: Attributes | undefined];

/** The figures by server; those of several clients of one server are added, of gauges of time the largest counts. */
function readClients(): Map<string, Sum[][]> {
  const byServer = new Map<string, Sum[][]>();
  for (const client of hooks.clients) {
    const stats = client.stats() as RedisStats;
    const before = byServer.get(stats.server);
    const cache = hasCache(client.options) ? ((client.cache?.stats() ?? null) as CacheStats | null) : null;
    const figures = READINGS.map((reading, index) => {
      const now = reading.read(stats, cache);
      return now.flatMap(([value, attributes], at): Sum[] => {
        const other = before?.[index]?.[at]?.[0];
        if (value === null) return other === undefined ? [] : [[other, attributes]];
        if (other === undefined) return [[value, attributes]];
        const isLargest = reading.name.startsWith("sluice.round_trip") || reading.name === "sluice.window";
        return [[isLargest ? Math.max(value, other) : value + other, attributes]];
      });
    });
    byServer.set(stats.server, figures);
  }
  return byServer;
}

function hasCache(options: { cache?: unknown }): boolean {
  return Boolean(options.cache);
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
