/**
 * Schedules the next connection attempt of a link by the retry strategy. Settles the promises of `connect()`
 * when their attempt succeeds or fails.
 */

import { clockMs, Delay, LONGEST_TIMER_MS, nextTick } from "../util/scheduling";
import { callUser } from "../util/user-code";
import type { AbstractConnector } from "./connector";
import type { CredentialSource } from "./credentials";
import type { EstablishmentDeps } from "./establishment";
import type { LinkOptions } from "./link-options";

// A retry strategy may return nothing.
type Nothing = ReturnType<() => void>;
/** Milliseconds to wait. Any other value ends the client. */
export type RetryDelay = number | Nothing | null;

/** In ms: after the loss of a connection that lasted this long, the first attempt has no delay. */
const HEALTHY_LIFE_MS = 3000;
/** A connection that did not last this many milliseconds counts as a failed attempt: the shortest default delay. */
const SHORTEST_LIFE_MS = 50;

/** The delay in milliseconds, or null when the strategy gives up (any value other than a number). */
export function retryDelay(strategy: LinkOptions["retryStrategy"], times: number): number | null {
  if (typeof strategy !== "function") return null;
  const delay = callUser(() => strategy(times));
  return typeof delay === "number" ? Math.min(delay, LONGEST_TIMER_MS) : null;
}

export class Reconnection implements EstablishmentDeps {
  /** Attempts since the link was last ready. */
  attempts = 0;
  isLoginRefused = false;
  /** The current connection is being replaced on purpose. */
  isMovingOn = false;
  /** The last number passed to `retryStrategy`; kept while connections are short-lived. */
  private times = 0;
  /** The next attempt has no delay. */
  isDialledAtOnce = false;
  private delay: Delay | null = null;
  /** The callers of `connect()`; null: ready. */
  private readonly waiters: ((error: Error | null) => void)[] = [];

  constructor(
    readonly options: LinkOptions,
    readonly connector: AbstractConnector,
    readonly source: CredentialSource,
  ) {}

  /** No attempt is scheduled any more. */
  stop(): void {
    this.delay?.stop();
    this.isMovingOn = false;
  }

  /**
   * A connection that lasted `SHORTEST_LIFE_MS` resets the delay. This limit is constant: if it grew with the
   * delay, regular losses would raise the delay to its maximum.
   */
  judgeLife(readyAtMs: number): void {
    if (readyAtMs === 0) return;
    const livedMs = clockMs() - readyAtMs;
    if (this.isMovingOn || livedMs >= SHORTEST_LIFE_MS) this.times = 0;
    this.isDialledAtOnce ||= !this.isMovingOn && livedMs >= HEALTHY_LIFE_MS;
  }

  /** No connection exists or is scheduled: the next attempt is the first one. */
  reset(): void {
    this.attempts = 0;
    this.times = 0;
  }

  /**
   * Asks the strategy for the next attempt. There is no delay after the loss of a healthy connection.
   * @returns `delayMs` is null when the strategy gives up, and `exhausted` unless waiting commands fail now.
   */
  plan(): { readonly delayMs: number | null; readonly exhausted: number | null } {
    const { isDialledAtOnce } = this;
    this.isDialledAtOnce = false;
    const attempts = ++this.attempts;
    const { retryStrategy, maxRetriesPerRequest: limit } = this.options;
    const delayMs = retryDelay(retryStrategy, ++this.times);
    const isExhausted = typeof limit === "number" && limit >= 0 && attempts % (limit + 1) === 0;
    return {
      delayMs: isDialledAtOnce && delayMs !== null ? 0 : delayMs,
      exhausted: delayMs !== null && isExhausted ? limit : null,
    };
  }

  wait(delayMs: number, onDue: () => void): void {
    this.delay = new Delay(onDue, delayMs);
  }

  /** Settles with the current attempt, or the next one. */
  result(): Promise<void> {
    return new Promise((resolve, reject) =>
      this.waiters.push((error) => (error === null ? resolve() : reject(error))),
    );
  }

  /** Waiting callers are notified one tick later, after the listeners of `ready`. */
  succeed(): void {
    this.attempts = 0;
    const waiters = this.waiters.splice(0);
    if (waiters.length === 0) return;
    nextTick(() => {
      for (const settle of waiters) settle(null);
    });
  }

  fail(makeError: () => Error): void {
    for (const settle of this.waiters.splice(0)) settle(makeError());
  }
}
