/**
 * The figures of all clients of the process, added up by server. A counter never falls: what a client
 * has counted stays when the client ends, or finds another server.
 *
 *   client A   10 --------- 30 ends       what each has counted since the last look
 *   client B         5 ----- 8 ---- 9     is added to the sum of its server
 *   server     10   15      38     39
 */

import type { Attributes } from "@opentelemetry/api";
import type { ClusterStats, RedisStats } from "../client/stats";
import type { ServerContext } from "../observability/channels";
import { hooks, type ObservedClient } from "../observability/hooks";
import { poolOf } from "./operations";

/** Null: the client has no such figure. */
export type Figure = readonly [value: number | null, attributes?: Attributes | undefined];
/** A cluster, as the hooks show it; its nodes are clients themselves. */
type ObservedCluster = ClusterStats & ServerContext;

/** How one metric is read from `stats()`. A reading has as many figures each time, in the same order. */
export interface Reading {
  readonly name: string;
  readonly kind: "counter" | "upDownCounter" | "gauge";
  readonly unit: string;
  readonly description: string;
  /** Of several clients of one server the largest counts, not the sum. */
  readonly isMaximum?: boolean;
  read(stats: RedisStats): readonly Figure[];
  /** The figures that a cluster has besides those of its nodes; absent = nothing. */
  readCluster?(stats: ClusterStats): readonly Figure[];
}

/** The figures of a server: one list for each reading. */
type Figures = (readonly Figure[])[];

export class ClientFigures {
  /** Sums of the counters; the other readings have empty lists. */
  private readonly sums = new Map<string, Figures>();
  /** The counters of a client as they were when they were last looked at. */
  private readonly seen = new WeakMap<ObservedClient, Figures>();

  constructor(private readonly readings: readonly Reading[]) {}

  /** By server, as the conventions name a pool. */
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

  /** Adds what the counters of a client have grown by; the server that it has now is theirs. */
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
  // A cluster lacks readings that its nodes have.
  const [longer, shorter] = some.length < others.length ? [others, some] : [some, others];
  return longer.map(([value, attributes], at) => {
    const other = shorter[at]?.[0] ?? null;
    if (value === null || other === null) return [value ?? other, attributes];
    return [isMaximum ? Math.max(value, other) : value + other, attributes];
  });
}
