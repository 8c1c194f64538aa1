/**
 * Turns of the event loop, timers and the clock, for the client's own work. They are taken when
 * the module is loaded, so that the fake timers of a test framework neither hold the client up nor
 * find work of its own in their list. Nothing else in `src` names the globals.
 */

import { performance as processPerformance } from "node:perf_hooks";
import * as timers from "node:timers";

/** Functions of fake timers carry their clock. */
function genuine<F extends object>(candidate: F, otherwise: F): F {
  return "clock" in candidate ? otherwise : candidate;
}

/** As `process.nextTick`: at the end of the present run, before anything else. */
export const nextTick: (work: () => void) => void = genuine(
  process.nextTick,
  timers.setImmediate as typeof process.nextTick,
);
/** As `setImmediate`: at the end of the present turn of the event loop. */
export const atTurnEnd: (work: () => void) => void = genuine(globalThis.setImmediate, timers.setImmediate);
export const startTimer: (work: () => void, delayMs: number) => NodeJS.Timeout = genuine(
  globalThis.setTimeout,
  timers.setTimeout,
);
export const stopTimer: (timer: NodeJS.Timeout | undefined) => void = genuine(
  globalThis.clearTimeout,
  timers.clearTimeout,
);
/** Milliseconds on a clock that is never set. */
export const nowMs: () => number = processPerformance.now.bind(processPerformance);
