/**
 * Publishes on the channel `sluice:cache` how a cache has worked, summed over short intervals: one message for
 * each hit would cost more than the hit. It only reads counters that the cache keeps anyway, and it runs no
 * timer while the channel has no subscribers.
 */

import type { ServerContext } from "../observability/channels";
import { type CacheContext, cacheChannel } from "../observability/work-channels";
import { clockMs, startTimer } from "../util/scheduling";

/** Totals since the client was created, and the current contents of the cache. */
export interface CacheStats {
  /** Calls answered from the cache. */
  readonly hits: number;
  /** Calls that were sent. */
  readonly misses: number;
  /** Calls that waited for the reply to an identical call. */
  readonly joined: number;
  /** Replies that were stored. */
  readonly stores: number;
  /** Replies that were evicted to make room. */
  readonly evictions: number;
  /** Keys that the server has invalidated; a message about all keys counts as one. */
  readonly invalidations: number;
  /** Replies in the cache. */
  readonly entries: number;
  /** Their memory in bytes, estimated. */
  readonly bytes: number;
}

/** At least the interval at which a hit reads the clock, so that the first hit after a pause is noticed. */
const INTERVAL_MS = 100;
const COUNTED = ["hits", "misses", "joined", "stores", "evictions", "invalidations"] as const;

export class CacheReport {
  private before: CacheStats | null = null;
  private beganMs = 0;

  constructor(
    private readonly read: () => CacheStats,
    private readonly place: () => ServerContext,
  ) {}

  /** Must be called before a counter changes. */
  note(): void {
    if (this.before === null && cacheChannel.hasSubscribers) this.begin(this.read());
  }

  private begin(figures: CacheStats): void {
    this.before = figures;
    this.beganMs = clockMs();
    startTimer(this.tell, INTERVAL_MS).unref();
  }

  private readonly tell = (): void => {
    const { before, beganMs } = this;
    const after = this.read();
    this.before = null;
    if (before === null || COUNTED.every((name) => before[name] === after[name])) return;
    const { serverAddress, serverPort } = this.place();
    const sums: { -readonly [Name in keyof CacheStats]: number } = { ...after };
    for (const name of COUNTED) sums[name] -= before[name];
    const intervalMs = clockMs() - beganMs;
    cacheChannel.publish({ ...sums, intervalMs, serverAddress, serverPort } satisfies CacheContext);
    if (cacheChannel.hasSubscribers) this.begin(after);
  };
}
