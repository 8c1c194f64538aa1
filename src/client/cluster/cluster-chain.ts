/**
 * The dispatchers in front of the router of a cluster, by its options:
 *
 *   [ClientCache ->] [Admission ->] router -> nodes
 */

import type { Dispatcher } from "../../command/dispatcher";
import type { Admission, Bounds } from "../../link/admission";
import { type CacheView, NO_CACHE } from "../cache-view";
import type { CachedClient, Caching } from "../caching";
import { makeAdmission } from "../chain";
import type { CacheOptions } from "../options/common-options";

export type { CacheView } from "../cache-view";

export class ClusterChain {
  /** Null without the option `cache`. */
  readonly caching: Caching | null;
  /** Null without the option `bounds`. */
  admission: Admission | null = null;

  constructor(client: CachedClient) {
    const { cache } = client.options;
    this.caching = cache ? openCaching(client, cache) : null;
  }

  /** The public form of the client's cache. */
  get cache(): CacheView {
    return this.caching ?? NO_CACHE;
  }

  /** The entry of the chain. */
  joinTo(router: Dispatcher, bounds: Bounds | undefined): Dispatcher {
    if (bounds !== undefined) this.admission = makeAdmission(router, bounds);
    const next = this.admission ?? router;
    if (this.caching === null) return next;
    this.caching.cache.next = next;
    return this.caching.cache;
  }
}

function openCaching(client: CachedClient, cache: true | CacheOptions): Caching {
  const parts = require("../caching") as typeof import("../caching");
  return parts.openClusterCaching(client, cache);
}
