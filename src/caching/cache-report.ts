/**
 * Tells listeners of the channel `sluice:cache` what a cache has done, added up over short times: a message
 * for each hit would cost more than the hit. Nothing is counted for it that is not counted anyway, and
 * while nobody listens no timer runs.
 */

import type { ServerContext } from "../observability/channels";
import { isCacheHeard, tellCache } from "../observability/work-channels";
import { clockMs, startTimer } from "../util/scheduling";

/** Numbers since the client was made, and what the cache holds now. */
export interface CacheStats {
  /** Calls that were answered from the cache. */
  readonly hits: number;
  /** Calls that were sent. */
  readonly misses: number;
  /** Calls that waited for the answer to another one. */
  readonly joined: number;
  /** Answers that were kept. */
  readonly stores: number;
  /** Answers that were dropped to make room. */
  readonly evictions: number;
  /** Keys that the server said have changed; one for each word about all keys. */
  readonly invalidations: number;
  /** Answers that are kept. */
  readonly entries: number;
  /** Bytes of memory that they take, about. */
  readonly bytes: number;
}

/** No shorter than the time after which a hit reads the clock: so the first one after a rest is noticed. */
const INTERVAL_MS = 100;
const COUNTED = ["hits", "misses", "joined", "stores", "evictions", "invalidations"] as const;

export class CacheReport {
  private before: CacheStats | null = null;
  private beganMs = 0;
  private readonly onTime = (): void => this.tell();

  constructor(
    private readonly read: () => CacheStats,
    private readonly place: () => ServerContext,
  ) {}

  /** Something is about to be counted. */
  note(): void {
    if (this.before === null && isCacheHeard()) this.begin(this.read());
  }

  private begin(figures: CacheStats): void {
    this.before = figures;
    this.beganMs = clockMs();
    startTimer(this.onTime, INTERVAL_MS).unref();
  }

  private tell(): void {
    const { before, beganMs } = this;
    const after = this.read();
    this.before = null;
    if (before === null || COUNTED.every((name) => before[name] === after[name])) return;
    const { serverAddress, serverPort } = this.place();
    tellCache({
      hits: after.hits - before.hits,
      misses: after.misses - before.misses,
      joined: after.joined - before.joined,
      stores: after.stores - before.stores,
      evictions: after.evictions - before.evictions,
      invalidations: after.invalidations - before.invalidations,
      entries: after.entries,
      bytes: after.bytes,
      intervalMs: clockMs() - beganMs,
      serverAddress,
      serverPort,
    });
    if (isCacheHeard()) this.begin(after);
  }
}
