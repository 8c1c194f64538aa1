/**
 * The dispatchers in front of the router of a cluster, as its options ask for them:
 *
 *   [ClientCache ->] [Admission ->] router -> nodes
 */

import type { Dispatcher } from "../../command/dispatcher";
import { Admission, type Bounds } from "../../link/admission";
import { type CachedClient, type CacheView, type Caching, NO_CACHE, openClusterCaching } from "../caching";

export type { CacheView } from "../caching";

export class ClusterChain {
  /** Null without the option `cache`. */
  readonly caching: Caching | null;
  /** Null without the option `bounds`. */
  admission: Admission | null = null;

  constructor(client: CachedClient) {
    this.caching = openClusterCaching(client);
  }

  /** The cache of the client, for its users. */
  get cache(): CacheView {
    return this.caching ?? NO_CACHE;
  }

  /** Where commands enter. */
  joinTo(router: Dispatcher, bounds: Bounds | undefined): Dispatcher {
    if (bounds !== undefined) this.admission = new Admission(router, bounds);
    const next = this.admission ?? router;
    if (this.caching === null) return next;
    this.caching.cache.next = next;
    return this.caching.cache;
  }
}
