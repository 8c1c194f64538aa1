/**
 * Builds the chain of dispatchers that the options ask for, from the bottom upwards:
 *
 *   [ClientCache ->] [Admission ->] [BlockingLease ->] [AutoPipeliner ->] [Tracking ->] link
 *                                                      Lanes -> [AutoPipeliner ->] link, for each lane
 */

import type { Dispatcher } from "../command/dispatcher";
import type { LaneSet } from "../lanes/lane-set";
import { Admission, type Bounds } from "../link/admission";
import { BlockingLease, type LeaseOwner } from "../link/blocking-lease";
import { AutoPipeliner } from "../pipeline/auto-pipeliner";
import {
  type CachedClient,
  type CachedLink,
  type CacheView,
  type Caching,
  type CachingLine,
  NO_CACHE,
  openCaching,
} from "./caching";
import { type AutoPipeliningOptions, autoPipelinerOptions } from "./options/auto-pipelining";

export type { CacheView } from "./caching";
export { openLanes } from "./lanes";

export interface ChainOptions extends AutoPipeliningOptions {
  readonly bounds?: Bounds | undefined;
  /** Most extra connections for blocking commands; 0 = none. */
  readonly blockingConnections?: number | undefined;
}

/** Where a client keeps its chain. */
export const PARTS: unique symbol = Symbol("parts");

export interface Lines extends LeaseOwner {
  /** Null with one connection. */
  readonly lanes: LaneSet | null;
  onGivenUp(): void;
  /** See `AutoPipelinerOptions`. */
  onGathered(ms: number): void;
}

export class Chain {
  auto: AutoPipeliner | null = null;
  readonly caching: Caching | null;
  /** Of a client with a cache, and of a node of a cluster that has one. */
  line: CachingLine | null;
  private bottom: Dispatcher;
  readonly lease: BlockingLease | null;
  readonly admission: Admission | null;
  readonly lanes: LaneSet | null;

  constructor(
    link: CachedLink,
    private readonly options: ChainOptions,
    private readonly lines: Lines,
    client: CachedClient,
  ) {
    this.lanes = lines.lanes;
    const opened = openCaching(client, link);
    this.caching = opened?.caching ?? null;
    this.line = opened?.line ?? null;
    const bottom = this.line?.tracking ?? link;
    this.bottom = bottom;
    const maxConnections = options.blockingConnections ?? 0;
    const gathered = this.gather();
    this.lease = maxConnections > 0 ? new BlockingLease(gathered, maxConnections, lines) : null;
    const { bounds } = options;
    this.admission =
      bounds === undefined ? null : new Admission(this.lease ?? gathered, bounds, () => lines.onGivenUp());
    if (this.caching !== null) this.caching.cache.next = this.afterCache;
  }

  /** Where commands enter. */
  get top(): Dispatcher {
    return this.caching?.cache ?? this.afterCache;
  }

  /** The cache of the client, for its users. */
  get cache(): CacheView {
    return this.caching ?? NO_CACHE;
  }

  /** The node of a cluster tells its cache what changes. Before anything is sent. */
  track(line: CachingLine): void {
    this.line = line;
    this.bottom = line.tracking;
    this.renewAuto(false);
  }

  /** Takes over changed options of auto-pipelining. What is gathered leaves first, in order. */
  renewAuto(isReady: boolean): void {
    this.auto?.flush();
    const gathered = this.gather();
    if (isReady) this.auto?.hold(true);
    if (this.lease !== null) this.lease.next = gathered;
    else if (this.admission !== null) this.admission.next = gathered;
    else if (this.caching !== null) this.caching.cache.next = gathered;
  }

  /** Hands everything that is held back on to the bottom: the client is closing. */
  letGo(): void {
    this.admission?.letGo();
    this.auto?.flush();
  }

  private get afterCache(): Dispatcher {
    return this.admission ?? this.lease ?? this.gathered;
  }

  /** Where commands are gathered and divided. */
  private get gathered(): Dispatcher {
    return this.lanes?.lanes ?? this.auto ?? this.bottom;
  }

  private gather(): Dispatcher {
    const { lanes, bottom, lines } = this;
    if (lanes === null) this.auto = this.makeAuto(bottom, () => lines.onGivenUp());
    else {
      lanes.gather((link) => this.makeAuto(link, () => link.session.loseMember()));
      this.auto = lanes.main.gatherer as AutoPipeliner | null;
    }
    return this.gathered;
  }

  private makeAuto(next: Dispatcher, onGivenUp: () => void): AutoPipeliner | null {
    const window = autoPipelinerOptions(this.options);
    if (window === null) return null;
    return new AutoPipeliner(next, { ...window, onGivenUp, onGathered: (ms) => this.lines.onGathered(ms) });
  }
}
