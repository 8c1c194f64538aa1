/**
 * Builds the chain of dispatchers that the options ask for, from the bottom upwards:
 *
 *   [ClientCache ->] [Admission ->] [BlockingLease ->] [AutoPipeliner ->] [Tracking ->] link
 */

import type { Dispatcher } from "../command/dispatcher";
import { Admission, type Bounds } from "../link/admission";
import { BlockingLease, type BlockingLeaseOptions } from "../link/blocking-lease";
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

export interface ChainOptions extends AutoPipeliningOptions {
  readonly bounds?: Bounds | undefined;
  /** Most extra connections for blocking commands; 0 = none. */
  readonly blockingConnections?: number | undefined;
}

/** Where a client keeps its chain. */
export const PARTS: unique symbol = Symbol("parts");

interface Lines extends Omit<BlockingLeaseOptions, "maxConnections"> {
  onGivenUp?(): void;
  /** See `AutoPipelinerOptions`. */
  onGathered?(ms: number): void;
}

export class Chain {
  auto: AutoPipeliner | null = null;
  readonly caching: Caching | null;
  /** Of a client with a cache, and of a node of a cluster that has one. */
  line: CachingLine | null;
  private bottom: Dispatcher;
  readonly lease: BlockingLease | null;
  readonly admission: Admission | null;

  constructor(
    link: CachedLink,
    private readonly options: ChainOptions,
    private readonly lines: Lines,
    client: CachedClient,
  ) {
    const opened = openCaching(client, link);
    this.caching = opened?.caching ?? null;
    this.line = opened?.line ?? null;
    const bottom = this.line?.tracking ?? link;
    this.bottom = bottom;
    const maxConnections = options.blockingConnections ?? 0;
    this.auto = this.makeAuto();
    const gathered = this.auto ?? bottom;
    this.lease = maxConnections > 0 ? new BlockingLease(gathered, { ...lines, maxConnections }) : null;
    const { bounds } = options;
    this.admission =
      bounds === undefined ? null : new Admission(this.lease ?? gathered, bounds, lines.onGivenUp);
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
    this.auto = this.makeAuto();
    if (isReady) this.auto?.hold(true);
    const gathered = this.auto ?? this.bottom;
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
    return this.admission ?? this.lease ?? this.auto ?? this.bottom;
  }

  private makeAuto(): AutoPipeliner | null {
    const window = autoPipelinerOptions(this.options);
    if (window === null) return null;
    const { onGivenUp, onGathered } = this.lines;
    return new AutoPipeliner(this.bottom, { ...window, onGivenUp, onGathered });
  }
}
