/**
 * The metrics of all clients of the process, summed up by server. A counter never decreases: the counts of a
 * client remain when it ends or moves to another server.
 *
 *   client A   10 --------- 30 ends       the increase of each client since the last
 *   client B         5 ----- 8 ---- 9     reading is added to the sum of its server
 *   server     10   15      38     39
 */

import type { Attributes } from "@opentelemetry/api";
import type { ClusterStats, RedisStats } from "../client/stats";
import type { ServerContext } from "../observability/channels";
import { hooks, type ObservedClient } from "../observability/hooks";
import { poolOf } from "./operations";

/** Null: the client does not have this metric. */
export type Figure = readonly [value: number | null, attributes?: Attributes | undefined];
/** The `stats()` of a cluster in `hooks.clients`; its nodes are clients themselves. */
type ObservedCluster = ClusterStats & ServerContext;

/** How one metric is read from `stats()`. A reading always has the same number and order of values. */
export interface Reading {
  readonly name: string;
  readonly kind: "counter" | "upDownCounter" | "gauge";
  readonly unit: string;
  readonly description: string;
  /** For several clients of one server the largest value counts, not the sum. */
  readonly isMaximum?: boolean;
  read(stats: RedisStats): readonly Figure[];
  /** The values of a cluster besides those of its nodes; absent = no values. */
  readCluster?(stats: ClusterStats): readonly Figure[];
}

/** The values of a server: one list for each reading. */
type Figures = (readonly Figure[])[];

export class ClientFigures {
  /** Sums of the counters; the other readings have empty lists. */
  private readonly sums = new Map<string, Figures>();
  /** The counters of a client at the last reading. */
  private readonly seen = new WeakMap<ObservedClient, Figures>();

  constructor(private readonly readings: readonly Reading[]) {}

  /** By server, under the pool name of the conventions. */
  read(): ReadonlyMap<string, Figures> {
    const present = new Map<string, Figures>();
    for (const client of hooks.clients) {
      const [server, now] = this.look(client);
      const gauges = now.map((figures, index) => (this.isCounter(index) ? [] : figures));
      present.set(server, this.join(present.get(server), gauges));
    }
    const all = new Map<string, Figures>();
    for (const [server, counters] of this.sums) {
      const gauges = present.get(server);
      all.set(
        server,
        counters.map((figures, index) => (this.isCounter(index) ? figures : (gauges?.[index] ?? []))),
      );
    }
    return all;
  }

  /** Adds the increase of a client's counters to its current server. */
  readonly look = (client: ObservedClient): readonly [server: string, figures: Figures] => {
    const [server, now] = this.figuresOf(client);
    const seen = this.seen.get(client);
    const grown = now.map((figures, index) => (this.isCounter(index) ? since(figures, seen?.[index]) : []));
    this.sums.set(server, this.join(this.sums.get(server), grown));
    this.seen.set(client, now);
    return [server, now];
  };

  private figuresOf(client: ObservedClient): readonly [server: string, figures: Figures] {
    const stats = client.stats() as RedisStats | ObservedCluster;
    if ("nodes" in stats) {
      return [poolOf(stats), this.readings.map((reading) => reading.readCluster?.(stats) ?? [])];
    }
    return [stats.server, this.readings.map((reading) => reading.read(stats))];
  }

  private isCounter(index: number): boolean {
    return this.readings[index]?.kind === "counter";
  }

  private join(some: Figures | undefined, others: Figures): Figures {
    return some === undefined
      ? others
      : some.map((figures, index) =>
          joinFigures(figures, others[index] ?? [], this.readings[index]?.isMaximum === true),
        );
  }
}

function since(now: readonly Figure[], before: readonly Figure[] | undefined): readonly Figure[] {
  return now.map(([value, attributes], at) => [
    value === null ? null : value - (before?.[at]?.[0] ?? 0),
    attributes,
  ]);
}

function joinFigures(
  some: readonly Figure[],
  others: readonly Figure[],
  isMaximum: boolean,
): readonly Figure[] {
  // A cluster lacks some readings of its nodes.
  const [longer, shorter] = some.length < others.length ? [others, some] : [some, others];
  return longer.map(([value, attributes], at) => {
    const other = shorter[at]?.[0] ?? null;
    if (value === null || other === null) return [value ?? other, attributes];
    return [isMaximum ? Math.max(value, other) : value + other, attributes];
  });
}
