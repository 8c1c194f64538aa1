/**
 * Turns of the event loop, timers and the clock, for the client's own work. They are taken when
 * the module is loaded, so that the fake timers of a test framework neither hold the client up nor
 * find work of its own in their list. Where timers are faked already then, those in whose place they
 * stand are taken. No other file names the globals.
 *
 * Delays that users ask for (`commandTimeout`, what `retryStrategy` returns) do follow a faked
 * clock: see `Delay`.
 */

import * as timers from "node:timers";
import { sharesTimers } from "./runtime";

/** Asked for by name: an import of the module fails on Workers whose compatibility date is before March 2026. */
const { performance: ownPerformance } = process.getBuiltinModule?.("node:perf_hooks") ?? globalThis;
const { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } = timers;
/** The global functions of Workers throw when they are called as methods, which is how compiled modules call imports. */
const present = sharesTimers ? globalThis : { ...timers, queueMicrotask: process.nextTick };

/** A function of fake timers carries its clock, which keeps the function in whose place it stands. */
function genuine<F extends object>(candidate: F, name: string, otherwise: F): F {
  let found: unknown = candidate;
  while (typeof found === "function" && "clock" in found) {
    found = (found.clock as Record<string, unknown>)[`_${name}`];
  }
  return typeof found === "function" ? (found as unknown as F) : otherwise;
}

/** As `setImmediate`: at the end of the present turn of the event loop. */
export const atTurnEnd: (work: () => void) => void = genuine(
  present.setImmediate,
  "setImmediate",
  setImmediate,
);
/** As `process.nextTick`: at the end of the present run, before anything else. */
export const nextTick: (work: () => void) => void = genuine<(work: () => void) => void>(
  process.nextTick,
  "nextTick",
  atTurnEnd,
);
/** As `queueMicrotask`: at the end of the present run, among the continuations of promises. */
export const microtask: (work: () => void) => void = genuine(
  present.queueMicrotask,
  "queueMicrotask",
  nextTick,
);
export const startTimer: (work: () => void, delayMs: number) => NodeJS.Timeout = genuine(
  present.setTimeout,
  "setTimeout",
  setTimeout,
);
export const stopTimer: (timer: NodeJS.Timeout | undefined) => void = genuine(
  present.clearTimeout,
  "clearTimeout",
  clearTimeout,
);
export const startInterval: (work: () => void, periodMs: number) => NodeJS.Timeout = genuine(
  present.setInterval,
  "setInterval",
  setInterval,
);
export const stopInterval: (timer: NodeJS.Timeout | undefined) => void = genuine(
  present.clearInterval,
  "clearInterval",
  clearInterval,
);
/** Timers of the engine take no more milliseconds; what is beyond would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Fake timers that fake the clock put a function of their own on the object as well; its class has the genuine one. */
const timekeeper: Pick<typeof ownPerformance, "now"> =
  "clock" in globalThis.performance ? Object.getPrototypeOf(ownPerformance) : ownPerformance;
/** Milliseconds on a clock that is never set. */
export const clockMs: () => number = timekeeper.now.bind(ownPerformance);
/** Milliseconds since 1970. Other than `clockMs` it goes on while the system sleeps. */
export const dateMs: () => number = Date.now;
/** That of Workers throws. */
const cpuUsage = sharesTimers ? process.cpuUsage?.bind(process) : undefined;
/** What this process has done since it began, in ms; NaN on runtimes that do not know. */
export const threadTimes = {
  /** All its threads have computed for so long. */
  computedMs(): number {
    const { user, system } = cpuUsage?.() ?? { user: Number.NaN, system: Number.NaN };
    return (user + system) / 1000;
  },
  /** This thread has waited for events for so long. */
  idleMs: (): number => ownPerformance.nodeTiming?.idleTime ?? Number.NaN,
};

/** Sockets of the runtime look up `process.nextTick` as they are used: one that is faked would never connect. */
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

/** A promise of a time that has passed. */
export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, delayMs));
}

// --- the clock of the user -------------------------------------------------------------------

/** As `clockMs`, by the clock that is present now: a faked one, while there is one. */
export function userClockMs(): number {
  return globalThis.performance.now();
}

/** The date as the user's code sees it now, for dates that it has given. */
export function userDateMs(): number {
  return Date.now();
}

/** Something else than the timers of the runtime stands in their place. */
export function isClockFaked(): boolean {
  return sharesTimers && globalThis.setTimeout !== (startTimer as unknown);
}

/** How often it is looked whether a fake clock was taken away. */
const LOOK_MS = 50;

/**
 * A delay that a user has asked for. It runs by the timers that are present when it is started, so
 * under a fake clock it is over exactly at its time. When that clock is taken away meanwhile, which
 * nobody will turn any more, the delay goes on by the real one.
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
    // Some versions of Node warn about a delay below zero, and about NaN.
    const fromNowMs = delayMs > 0 ? delayMs : 0;
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
