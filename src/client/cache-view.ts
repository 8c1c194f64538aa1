/** The cache of a client in its public form, also for clients without a cache. */

import type { CacheStats } from "../caching/cache-report";

type PeekedArgument = string | number | Buffer;

/** The cache of a client. */
export interface CacheView {
  /**
   * The cached reply to a read, without a request to the server; undefined if it is not cached. Takes the
   * arguments of the call.
   * @example
   * const name = redis.cache.peek("hget", "user:1", "name");
   */
  peek(command: string, ...args: (PeekedArgument | readonly PeekedArgument[])[]): unknown;
  /** Totals since the client was created, and the current contents of the cache. */
  stats(): CacheStats;
  /** Drops all replies. */
  clear(): void;
}

export const NO_CACHE: CacheView = {
  peek: () => undefined,
  stats: () => ({
    hits: 0,
    misses: 0,
    joined: 0,
    stores: 0,
    evictions: 0,
    invalidations: 0,
    entries: 0,
    bytes: 0,
  }),
  clear() {},
};
