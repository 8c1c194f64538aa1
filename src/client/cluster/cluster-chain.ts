/**
 * The dispatchers in front of the router of a cluster, by its options:
 *
 *   [ClientCache ->] [Admission ->] [WriteObserver ->] router -> nodes
 */

import type { Dispatcher } from "../../command/dispatcher";
import type { Admission, Bounds } from "../../link/admission";
import { OwnWrites, WriteNotes, WriteObserver } from "../../replicas/own-writes";
import { type CacheView, NO_CACHE } from "../cache-view";
import type { CachedClient, Caching } from "../caching";
import { loadParts, openAdmission, openCaching } from "../chain";
import type { RedisOptions } from "../options/redis-options";

export type { CacheView } from "../cache-view";

export class ClusterChain {
  /** Null without the option `cache`. */
  readonly caching: Caching | null;
  /** Null without the option `bounds`. */
  admission: Admission | null = null;

  /** Null: reads do not depend on writes. */
  readonly writes: OwnWrites | null;

  /** @param nodeOptions The options of the nodes. The code that they need is loaded here, too. */
  constructor(
    client: CachedClient & { readonly options: { readonly readYourWrites?: number | undefined } },
    nodeOptions?: RedisOptions | null,
  ) {
    loadParts(client.options);
    loadParts(nodeOptions ?? {});
    const { readYourWrites } = client.options;
    this.writes = readYourWrites ? new OwnWrites(readYourWrites) : null;
    this.caching = openCaching(client, true);
  }

  get cache(): CacheView {
    return this.caching?.cache ?? NO_CACHE;
  }

  makeNotes(): WriteNotes | null {
    return this.writes === null ? null : new WriteNotes(this.writes);
  }

  /** The entry of the chain. Only reads from replicas depend on writes. */
  joinTo(router: Dispatcher, bounds: Bounds | undefined, readsReplicas: boolean): Dispatcher {
    const { writes } = this;
    const noting = writes === null || !readsReplicas ? router : new WriteObserver(router, writes);
    this.admission = openAdmission(bounds, noting);
    const next = this.admission ?? noting;
    if (this.caching === null) return next;
    this.caching.cache.next = next;
    return this.caching.cache;
  }
}
