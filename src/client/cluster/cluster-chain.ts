/**
 * The dispatchers in front of the router of a cluster, by its options:
 *
 *   [ClientCache ->] [Admission ->] [WriteNotes ->] router -> nodes
 */

import type { Dispatcher } from "../../command/dispatcher";
import { type OwnWrites, WriteNotes } from "../../command/own-writes";
import type { Admission, Bounds } from "../../link/admission";
import { type CacheView, NO_CACHE } from "../cache-view";
import type { CachedClient, Caching } from "../caching";
import { makeAdmission, openCaching } from "../chain";

export type { CacheView } from "../cache-view";

export class ClusterChain {
  /** Null without the option `cache`. */
  readonly caching: Caching | null;
  /** Null without the option `bounds`. */
  admission: Admission | null = null;

  constructor(client: CachedClient) {
    this.caching = openCaching(client, true);
  }

  /** The public form of the client's cache. */
  get cache(): CacheView {
    return this.caching ?? NO_CACHE;
  }

  /** The entry of the chain. */
  joinTo(router: Dispatcher, bounds: Bounds | undefined, writes: OwnWrites | null): Dispatcher {
    const noting = writes === null ? router : new WriteNotes(router, writes);
    if (bounds !== undefined) this.admission = makeAdmission(noting, bounds);
    const next = this.admission ?? noting;
    if (this.caching === null) return next;
    this.caching.cache.next = next;
    return this.caching.cache;
  }
}
