/** The cache of a client as its users see it, also where there is none. */

import type { CacheStats } from "../caching/cache-report";

type PeekedArgument = string | number | Buffer;

/** The cache of a client, for its users. */
export interface CacheView {
  /**
   * The answer to a read if it is in the cache, at once; undefined otherwise. Asks nothing of the server.
   * Takes the arguments of the call.
   *
   * @example
   * const name = redis.cache.peek("hget", "user:1", "name");
   */
  peek(command: string, ...args: (PeekedArgument | readonly PeekedArgument[])[]): unknown;
  /** Numbers since the client was made, and what the cache holds now. */
  stats(): CacheStats;
  /** Drops all answers. */
  clear(): void;
}

/** Of a client without the option `cache`. */
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
