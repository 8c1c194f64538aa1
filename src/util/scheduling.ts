/**
 * Event-loop turns, timers and the clock for the client's own work. The functions are captured when the module
 * is loaded, so that fake timers of a test framework neither stall the client nor list its timers. If timers
 * are already faked then, the originals behind them are used. No other file uses the globals.
 *
 * Delays that users request (`commandTimeout`, the result of `retryStrategy`) follow a faked clock: see
 * `Delay`.
 */

import * as timers from "node:timers";
import { sharesTimers } from "./runtime";

/** Looked up by name: an import of the module fails on Workers with a compatibility date before March 2026. */
const { performance: ownPerformance } = process.getBuiltinModule?.("node:perf_hooks") ?? globalThis;
const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = timers;
/** The global functions of Workers throw when they are called as methods, as compiled modules call imports. */
const present = sharesTimers ? globalThis : { ...timers, queueMicrotask: process.nextTick };

type Scheduler = (work: () => void) => void;
type Starter = (work: () => void, delayMs: number) => NodeJS.Timeout;
type Stopper = (timer: NodeJS.Timeout | undefined) => void;

/** Unwraps fake timers: a faked function has a property `clock`, which holds the original function. */
function genuine<F extends object>(candidate: F, name: string, otherwise: F): F {
  let found: unknown = candidate;
  while (typeof found === "function" && "clock" in found) {
    found = (found.clock as Record<string, unknown>)[`_${name}`];
  }
  return typeof found === "function" ? (found as unknown as F) : otherwise;
}

/** Like `setImmediate`: at the end of the current turn of the event loop. */
export const atTurnEnd: Scheduler = genuine(present.setImmediate, "setImmediate", setImmediate);
/** Like `process.nextTick`: at the end of the current task, before everything else. */
export const nextTick: Scheduler = genuine<Scheduler>(process.nextTick, "nextTick", atTurnEnd);
/** Like `queueMicrotask`: at the end of the current task, among the continuations of promises. */
export const microtask: Scheduler = genuine(present.queueMicrotask, "queueMicrotask", nextTick);
export const startTimer: Starter = genuine(present.setTimeout, "setTimeout", setTimeout);
export const stopTimer: Stopper = genuine(present.clearTimeout, "clearTimeout", clearTimeout);
export const startInterval: Starter = genuine(present.setInterval, "setInterval", setInterval);
export const stopInterval: Stopper = genuine(present.clearInterval, "clearInterval", clearInterval);
/** The longest delay of engine timers in milliseconds; a longer one would fire immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Fake timers that fake the clock also set a function on the object itself; its class has the original one. */
const timekeeper: Pick<typeof ownPerformance, "now"> =
  "clock" in globalThis.performance ? Object.getPrototypeOf(ownPerformance) : ownPerformance;
/** Milliseconds of a monotonic clock. */
export const clockMs: () => number = timekeeper.now.bind(ownPerformance);
/** Milliseconds since 1970. Unlike `clockMs` it continues while the system is suspended. */
export const dateMs: () => number = Date.now;

/** Sockets look up `process.nextTick` when it is used: with a faked one they would never connect. */
export function withOwnTicks<T>(work: () => T): T {
  const presentTick = process.nextTick;
  if (presentTick === (nextTick as unknown)) return work();
  process.nextTick = nextTick as typeof presentTick;
  try {
    return work();
  } finally {
    process.nextTick = presentTick;
  }
}

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, delayMs));
}

/** Resolves with the result of `work`, or with `fallback` if the time is up first. */
export async function within<Result>(
  limitMs: number,
  work: Promise<Result>,
  fallback: Result,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Result>((resolve) => {
    timer = startTimer(() => resolve(fallback), limitMs);
  });
  try {
    return await Promise.race([limit, work]);
  } finally {
    stopTimer(timer);
  }
}

/** Like `clockMs`, by the current global clock, which may be faked. */
export function userClockMs(): number {
  return globalThis.performance.now();
}

/** The date as the user's code currently sees it, for dates from the user. */
export function userDateMs(): number {
  return Date.now();
}

/** The global timers are not those of the runtime. */
export function isClockFaked(): boolean {
  return sharesTimers && globalThis.setTimeout !== (startTimer as unknown);
}

/** The interval of the check whether a fake clock was removed. */
const LOOK_MS = 50;

/**
 * A delay that a user has requested. It uses the timers that are installed when it starts, so under a fake
 * clock it ends exactly on time. If that clock is removed before the delay has ended, the delay continues by
 * the real one.
 */
export class Delay {
  private static readonly faked = new Set<Delay>();
  private static watch: NodeJS.Timeout | null = null;
  private readonly start = globalThis.setTimeout;
  private stopPresent: () => void;
  private readonly dueMs: number;
  private isOver = false;

  constructor(
    private readonly work: () => void,
    delayMs: number,
  ) {
    const { setTimeout, clearTimeout } = globalThis;
    // Node warns about negative, NaN and longer delays, and replaces the longer ones by 1 ms.
    const fromNowMs = delayMs > 0 ? Math.min(delayMs, LONGEST_TIMER_MS) : 0;
    const timer = setTimeout(this.onDue, fromNowMs);
    this.stopPresent = () => clearTimeout(timer);
    this.dueMs = clockMs() + fromNowMs;
    if (isClockFaked()) this.join();
  }

  stop(): void {
    if (this.isOver) return;
    this.leave();
    this.stopPresent();
  }

  private readonly onDue = (): void => {
    if (this.isOver) return;
    this.leave();
    this.work();
  };

  private join(): void {
    Delay.faked.add(this);
    if (Delay.watch !== null) return;
    Delay.watch = startInterval(() => {
      for (const delay of [...Delay.faked]) delay.look();
    }, LOOK_MS);
    Delay.watch.unref();
  }

  private look(): void {
    if (globalThis.setTimeout === this.start) return;
    Delay.faked.delete(this);
    const timer = startTimer(this.onDue, Math.max(0, this.dueMs - clockMs()));
    this.stopPresent = () => stopTimer(timer);
  }

  private leave(): void {
    this.isOver = true;
    if (Delay.faked.delete(this) && Delay.faked.size === 0 && Delay.watch !== null) {
      stopInterval(Delay.watch);
      Delay.watch = null;
    }
  }
}

/** The delay with a jitter of 25 % either way, so that many clients do not act at the same time. */
export function jittered(delayMs: number): number {
  return delayMs * (0.75 + Math.random() * 0.5);
}
