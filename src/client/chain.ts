/**
 * Builds the chain of dispatchers for the options of a client, from the bottom up:
 *
 *   [WriteObserver ->] [ClientCache ->] [Admission ->] [BlockingLease ->] [AutoPipeliner ->] [Merger ->]
 *     [ReplicaReads ->] [Tracking ->] link
 *                   \-> links of replicas
 *
 * The code of the parts in brackets is loaded only when an option needs it.
 */

import type { Command } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import { socketTimeouts } from "../connection/connection";
import type { BlockingLease } from "../leases/blocking-lease";
import type { Admission, Bounds } from "../link/admission";
import type { Link } from "../link/link";
import type { Merger, MergerOwner } from "../merging/merger";
import type { AutoPipeliner } from "../pipeline/auto-pipeliner";
import { LatePart } from "../util/late-part";
import { type CacheView, NO_CACHE } from "./cache-view";
import type { CachedClient, Caching, LinkTracker } from "./caching";
import { type TraceSource, tellGathered } from "./client-tracer";
import { leasing } from "./late-features";
import type { LeaseOwner, Leases } from "./leases/leasing";
import { timeouts } from "./limiting";
import { type MaintenanceOptions, movers } from "./maintenance/maintenance";
import { mergers } from "./merging";
import { type AutoPipeliningOptions, autoPipelinerOptions } from "./options/auto-pipelining";
import type { ClientReplicas, ReplicaOwner } from "./replicas/client-replicas";
import type { RedisStats } from "./stats";

export type { CacheView } from "./cache-view";

export const autoPipelining = new LatePart(
  "auto-pipelining",
  () => require("../pipeline/auto-pipeliner") as typeof import("../pipeline/auto-pipeliner"),
);
export const bounding = new LatePart(
  "bounds",
  () => require("../link/admission") as typeof import("../link/admission"),
);
export const caching = new LatePart("cache", () => require("./caching") as typeof import("./caching"));
export const replicaReads = new LatePart(
  "replicas",
  () => require("./replicas/client-replicas") as typeof import("./replicas/client-replicas"),
);

const PARTS_OF_OPTIONS: Readonly<Record<string, LatePart<object>>> = {
  blockingConnections: leasing,
  blockingTimeout: timeouts,
  bounds: bounding,
  cache: caching,
  commandTimeout: timeouts,
  enableAutoPipelining: autoPipelining,
  replicas: replicaReads,
  socketTimeout: socketTimeouts,
};

/** Loads the code that the options need, because later a `MissingPartError` would reach no caller. */
export function loadParts(given: object): void {
  const options = given as AutoPipeliningOptions & MaintenanceOptions & Readonly<Record<string, unknown>>;
  for (const [name, part] of Object.entries(PARTS_OF_OPTIONS)) if (options[name]) part.get();
  if (options.maintenance === "on") movers.get();
  autoPipelinerOptions(options);
}

export const PARTS: unique symbol = Symbol("parts");

export interface ChainDeps extends LeaseOwner, ReplicaOwner, TraceSource {
  readonly events: MergerOwner;
  /** Called when the first dispatcher of the chain changes. */
  onEntry(top: Dispatcher): void;
}

export class Chain {
  readonly link: Link;
  auto: AutoPipeliner | null = null;
  /** Null until an option or a pipeline asks for merging. */
  merger: Merger | null = null;
  readonly caching: Caching | null;
  /** Null unless the client, or the cluster of this node, has a cache. */
  tracker: LinkTracker | null;
  private bottom: Dispatcher;
  /** The extra connections; null until the first use. */
  leases: Leases | null = null;
  /** Null without the option `replicas`. */
  readonly replicas: ClientReplicas | null;
  /** Null if reads do not depend on writes. */
  private readonly observer: ReturnType<ClientReplicas["observe"]>;
  readonly lease: BlockingLease | null;
  readonly admission: Admission | null;

  constructor(
    private readonly deps: ChainDeps,
    client: CachedClient,
  ) {
    const { link, options } = deps;
    this.link = link;
    // A client under MONITOR has no cache.
    this.caching = options.monitor ? null : openCaching(client, false);
    this.tracker = this.caching?.track(link) ?? null;
    const bottom = this.tracker?.tracking ?? link;
    this.replicas =
      options.replicas && !options.monitor ? replicaReads.get().openReplicas(bottom, deps) : null;
    this.bottom = this.replicas ?? bottom;
    const maxConnections = options.blockingConnections ?? 0;
    this.auto = this.makeAuto();
    const { gathered } = this;
    this.lease = maxConnections > 0 ? this.openLeases().forBlocking(gathered, maxConnections) : null;
    this.admission = openAdmission(options.bounds, this.lease ?? gathered, this.onGivenUp);
    if (this.caching !== null) this.caching.cache.next = this.afterCache;
    this.observer = this.replicas?.observe(this.afterObserver) ?? null;
  }

  get top(): Dispatcher {
    return this.observer ?? this.afterObserver;
  }

  get cache(): CacheView {
    return this.caching?.cache ?? NO_CACHE;
  }

  get replicaStats(): RedisStats["replicas"] {
    return this.replicas && replicaReads.get().readReplicas(this.replicas);
  }

  openLeases(): Leases {
    this.leases ??= new (leasing.get().Leases)(this.link, this.deps, this.deps.options.leases);
    return this.leases;
  }

  get leasedLinks(): readonly Link[] {
    return this.leases?.links ?? [];
  }

  /** Commands that have not reached a link. */
  get gatheredCommands(): readonly Command[] {
    return this.auto?.gathered ?? [];
  }

  /** Lets a cluster node report changes to its cluster's cache. Called before the first command. */
  track(tracker: LinkTracker): void {
    this.tracker = tracker;
    this.bottom = tracker.tracking;
    if (this.merger !== null) this.merger.next = this.bottom;
    this.renewAuto(false);
  }

  /** From now on the commands of batches with `merging` are merged. */
  openMerger(): void {
    if (this.merger !== null) return;
    this.merger = this.makeMerger();
    if (this.auto !== null) this.auto.next = this.merger;
    this.relink();
  }

  /** Applies changed options of auto-pipelining. Collected commands are sent first, in order. */
  renewAuto(isReady: boolean): void {
    this.auto?.flush();
    this.auto = this.makeAuto();
    if (isReady) this.auto?.hold(true);
    this.relink();
  }

  /** The dispatcher that receives batches has changed. */
  private relink(): void {
    const above = this.lease ?? this.admission ?? this.caching?.cache ?? this.observer;
    if (above !== null) above.next = this.gathered;
    this.deps.onEntry(this.top);
  }

  /** Sends all commands that are held back: the client is closing. */
  letGo(): void {
    this.admission?.letGo();
    this.auto?.flush();
  }

  private get afterObserver(): Dispatcher {
    return this.caching?.cache ?? this.afterCache;
  }

  private get afterCache(): Dispatcher {
    return this.admission ?? this.lease ?? this.gathered;
  }

  /** The dispatcher that receives batches. */
  private get gathered(): Dispatcher {
    return this.auto ?? this.merger ?? this.bottom;
  }

  /** A command was given up before it reached the link: its transaction must not run without it. */
  private readonly onGivenUp = (): void => this.link.session.loseMember();

  private makeMerger(): Merger {
    const { Merger } = mergers.get();
    return new Merger(this.bottom, this.link, this.deps.events);
  }

  private makeAuto(): AutoPipeliner | null {
    const { deps } = this;
    const window = autoPipelinerOptions(deps.options);
    if (window === null) return null;
    if (window.merging) this.merger ??= this.makeMerger();
    const { AutoPipeliner } = autoPipelining.get();
    return new AutoPipeliner(this.merger ?? this.bottom, {
      ...window,
      onGivenUp: this.onGivenUp,
      onGathered: (ms) => tellGathered(ms, deps),
    });
  }
}

/** Null without the option `cache`. */
export function openCaching(client: CachedClient, isOfCluster: boolean): Caching | null {
  const { cache } = client.options;
  if (!cache) return null;
  const { Caching } = caching.get();
  return new Caching(client, cache, isOfCluster);
}

/** @param bounds Undefined without the option. */
export function openAdmission(
  bounds: Bounds | undefined,
  next: Dispatcher,
  onGivenUp?: () => void,
): Admission | null {
  return bounds === undefined ? null : new (bounding.get().Admission)(next, bounds, onGivenUp);
}
