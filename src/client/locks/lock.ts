/**
 * Locks with a fencing token on one primary. A release deletes the key of the next waiter, and the
 * invalidation of that key wakes the waiter. Timers cover lost messages and dead waiters. The time of
 * the holder starts when it sends the command, so it never outlasts the lock on the server.
 */

import { randomBytes } from "node:crypto";
import { ReplyError } from "../../errors";
import { LockAbortedError, LockLostError, LockTimeoutError } from "../../leases/lease-errors";
import { listenToAbort, stopListening } from "../../util/abort-listeners";
import {
  checkArgument,
  checkSettings,
  durationOnly,
  type SettingChecks,
  signalOnly,
} from "../../util/check-settings";
import { clockMs, LONGEST_TIMER_MS, startTimer, stopTimer } from "../../util/scheduling";
import { type ScriptSender, senderFor } from "./lock-line";
import { ACQUIRE, EXTEND, LEAVE, LockKeys, RELEASE, run } from "./lock-scripts";
import type { LockingClient } from "./locking-client";
import { lineFor, type WakeLine } from "./wake-line";

/** Settings of one lock. */
export interface LockOptions {
  /**
   * The time in milliseconds after which the server frees the lock of a holder that does not renew it.
   * @default 10000
   */
  ttl?: number | undefined;
  /**
   * The time in milliseconds to wait for the lock; 0 tries once.
   * @default 10000
   */
  wait?: number | undefined;
  /** Aborts the wait: the call rejects with the code `ABORTED_BY_SIGNAL`. */
  signal?: AbortSignal | undefined;
}

const DEFAULT_MS = 10_000;
/** The polling interval of a waiter that the server wakes, in case the message is lost. */
const LOOK_AGAIN_MS = 1000;
/** A waiter that has not polled for this time counts as dead. */
const ALIVE_MS = 3 * LOOK_AGAIN_MS;
/** The polling interval of a waiter that the server does not wake. */
const POLL_MS = 50;
/** The holder renews the lock this many times within `ttl`. */
const RENEWALS = 3;
/** The node cannot serve the lock now; it may do so later, or another node does. */
const TRANSIENT = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY) /;

const CHECKS: SettingChecks<LockOptions> = {
  ttl: ttlOnly,
  wait: durationOnly,
  signal: signalOnly,
};

function ttlOnly(value: unknown): string | null {
  const isValid = Number.isInteger(value) && (value as number) >= 1 && (value as number) <= LONGEST_TIMER_MS;
  return isValid ? null : `whole milliseconds from 1 to ${LONGEST_TIMER_MS}`;
}

/** One holder of one lock. */
interface Holder {
  readonly sender: ScriptSender;
  readonly keys: LockKeys;
  readonly id: string;
}

export class Lock {
  private readonly controller = new AbortController();
  private renewal: NodeJS.Timeout | undefined;
  private expiry: NodeJS.Timeout | undefined;
  private endsAtMs = 0;
  /** The expiries that the server sets with the renewals in flight. */
  private readonly unanswered = new Set<number>();
  private isOver = false;

  /** @internal */
  constructor(
    private readonly holder: Holder,
    /**
     * The fencing token: it grows with each acquisition of the key. A resource that rejects smaller ones is safe from late
     * holders.
     */
    readonly fence: number,
    private ttlMs: number,
    sentAtMs: number,
  ) {
    this.count(sentAtMs + ttlMs, ttlMs);
  }

  /** Aborts when the lock is lost. Its reason is a `LockLostError`. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Frees the lock and wakes the next waiter. Resolves with false if the lock was lost before. */
  async release(): Promise<boolean> {
    this.stop();
    const { sender, id, keys } = this.holder;
    const names = [keys.lock, keys.queue, keys.reserved];
    return isOne(await run(sender, RELEASE, names, [id, keys.wakePrefix]));
  }

  /** Renews the lock now, for `ttl` milliseconds from then on. Rejects with the code `LOCK_LOST`. */
  async extend(ttl = this.ttlMs): Promise<void> {
    checkArgument("extend()", "ttl", ttl, ttlOnly);
    if (!(await this.renew(ttl))) throw new LockLostError(this.holder.keys.lock);
    this.ttlMs = ttl;
  }

  /** Frees the lock at the end of the block of `await using lock = await redis.lock(key)`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  private async renew(ttlMs: number): Promise<boolean> {
    if (this.isOver) return false;
    // The next renewal follows the reply: an earlier one would undo an `extend()` in flight.
    stopTimer(this.renewal);
    const { sender, id, keys } = this.holder;
    // The lock is valid for `ttl` from the time at which its command was sent.
    const endsAtMs = clockMs() + ttlMs;
    this.unanswered.add(endsAtMs);
    // The server may shorten the time of the lock long before its reply arrives.
    this.expireAt(Math.min(this.endsAtMs, endsAtMs));
    try {
      const isHeld = isOne(await run(sender, EXTEND, [keys.lock], [id, ttlMs]));
      this.unanswered.delete(endsAtMs);
      if (this.isOver) return false;
      if (isHeld) this.count(endsAtMs, ttlMs);
      else this.lose();
      return isHeld;
    } catch (error) {
      this.unanswered.delete(endsAtMs);
      if (!this.isOver) this.renewAfter((this.endsAtMs - clockMs()) / RENEWALS);
      throw error;
    }
  }

  private count(endsAtMs: number, ttlMs: number): void {
    // Later renewals may have run too, with a shorter `ttl`.
    this.expireAt(Math.min(endsAtMs, ...this.unanswered));
    this.renewAfter(ttlMs / RENEWALS);
  }

  private expireAt(endsAtMs: number): void {
    this.endsAtMs = endsAtMs;
    stopTimer(this.expiry);
    this.expiry = startTimer(() => this.lose(), Math.max(0, endsAtMs - clockMs()));
    this.expiry.unref();
  }

  private renewAfter(delayMs: number): void {
    stopTimer(this.renewal);
    // A renewal that fails starts the next one.
    this.renewal = startTimer(() => void this.renew(this.ttlMs).catch(() => {}), delayMs);
    this.renewal.unref();
  }

  private lose(): void {
    if (this.isOver) return;
    this.stop();
    this.controller.abort(new LockLostError(this.holder.keys.lock));
  }

  private stop(): void {
    this.isOver = true;
    stopTimer(this.expiry);
    stopTimer(this.renewal);
  }
}

export async function lock(client: LockingClient, key: string, options: LockOptions = {}): Promise<Lock> {
  checkSettings("lock()", options, CHECKS);
  // Calls that pass undefined by mistake would share one lock.
  checkArgument("lock()", "key", key, (value) => (typeof value === "string" ? null : "a string"));
  const { ttl = DEFAULT_MS, wait = DEFAULT_MS, signal } = options;
  if (signal?.aborted) throw new LockAbortedError(signal.reason);
  const waiter = new Waiter(client, senderFor(client), new LockKeys(key, client), ttl);
  const onAbort = (): void => waiter.end(new LockAbortedError(signal?.reason));
  if (signal !== undefined) listenToAbort(signal, onAbort);
  const onTime = (): void => waiter.end(new LockTimeoutError(waiter.keys.lock, wait, waiter.wasHeld));
  const timer = wait > 0 && wait <= LONGEST_TIMER_MS ? startTimer(onTime, wait) : undefined;
  try {
    // If the server does not reply, the call rejects first, and the waiter cleans up later.
    return await Promise.race([waiter.acquire(wait === 0), waiter.ended]);
  } finally {
    stopTimer(timer);
    if (signal !== undefined) stopListening(signal, onAbort);
  }
}

/** One call of `lock()`. */
class Waiter implements Holder {
  readonly id = randomBytes(12).toString("hex");
  private readonly wakeKey: string;
  /** The server has replied that another client holds the lock. */
  wasHeld = false;
  private failure: Error | null = null;
  private refuse!: (failure: Error) => void;
  /** Rejects when the call times out or is aborted. */
  readonly ended = new Promise<never>((_resolve, reject) => {
    this.refuse = reject;
  });
  private isWoken = false;
  private wakeUp = (): void => {};

  constructor(
    private readonly client: LockingClient,
    readonly sender: ScriptSender,
    readonly keys: LockKeys,
    private readonly ttlMs: number,
  ) {
    this.wakeKey = keys.wakePrefix + this.id;
  }

  end(failure: Error): void {
    this.failure ??= failure;
    this.refuse(failure);
    this.wake();
  }

  async acquire(isOnce: boolean): Promise<Lock> {
    // A failed attempt may have acquired the lock.
    const first = await this.attempt(this.sender, 0).catch((error) => this.giveUp(error));
    if (first instanceof Lock) return this.take(first);
    if (isOnce) throw new LockTimeoutError(this.keys.lock, 0, true);
    let line: WakeLine | null = null;
    try {
      while (this.failure === null) {
        const next = await lineFor(this.client, this.keys.slot);
        if (next !== line) line?.remove(this.wakeKey);
        line = next;
        line?.add(this.wakeKey, () => this.wake());
        const result = await this.attemptOver(line);
        if (result instanceof Lock) return await this.take(result);
        await this.sleep(Math.min(result, line === null ? POLL_MS : LOOK_AGAIN_MS));
      }
    } catch (error) {
      this.failure ??= error as Error;
    } finally {
      line?.remove(this.wakeKey);
    }
    return this.giveUp(this.failure);
  }

  /** Resolves with the lock, or with the remaining time of its holder. */
  private async attempt(sender: ScriptSender, aliveMs: number): Promise<Lock | number> {
    const { keys, id, ttlMs } = this;
    const sentAtMs = clockMs();
    this.isWoken = false;
    const names = [keys.lock, keys.fence, keys.queue, keys.reserved, this.wakeKey];
    const [isHeld, value] = (await run(sender, ACQUIRE, names, [id, ttlMs, aliveMs])) as unknown[];
    if (isOne(isHeld)) return new Lock(this, Number(value), ttlMs, sentAtMs);
    this.wasHeld = true;
    const remainingMs = Number(value);
    // Negative: another program has set the key without an expiry.
    return remainingMs < 0 ? LOOK_AGAIN_MS : Math.max(1, remainingMs);
  }

  /** Uses the connection that tracks the wake key. If it is lost, the next attempt uses another one. */
  private async attemptOver(line: WakeLine | null): Promise<Lock | number> {
    if (line === null) return this.attempt(this.sender, 0);
    try {
      return await this.attempt(line.own, ALIVE_MS);
    } catch (error) {
      const isReply = error instanceof ReplyError;
      if (isReply && !TRANSIENT.test(error.message)) throw error;
      if (!isReply) line.close();
      // The close wakes all waiters of the connection, this one too.
      this.isWoken = false;
      return POLL_MS;
    }
  }

  /** The call may already have timed out or been aborted. */
  private async take(held: Lock): Promise<Lock> {
    if (this.failure === null) return held;
    await held.release();
    throw this.failure;
  }

  private async giveUp(failure: Error): Promise<never> {
    this.failure ??= failure;
    const { lock: name, queue, reserved, wakePrefix } = this.keys;
    await run(this.sender, LEAVE, [name, queue, reserved, this.wakeKey], [this.id, wakePrefix]).catch(
      () => {},
    );
    throw this.failure;
  }

  private wake(): void {
    this.isWoken = true;
    this.wakeUp();
  }

  private async sleep(delayMs: number): Promise<void> {
    if (this.isWoken) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wakeUp = resolve;
      // Spreads the attempts of waiters that began together.
      timer = startTimer(resolve, delayMs * (1 + Math.random() / 4));
    });
    stopTimer(timer);
  }
}

/** With the option `stringNumbers`, the reply is a string. */
function isOne(reply: unknown): boolean {
  return Number(reply) === 1;
}
