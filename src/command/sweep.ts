/**
 * Decides when a queue removes commands that settled while they waited (timeouts): each time its length has
 * doubled since the last removal, so that the cost for each command is constant.
 */

/** Shorter queues are not swept. */
export const FIRST_SWEEP = 4096;

/** The length for the next removal, after one that has kept `length` commands. */
export function nextSweep(length: number): number {
  return Math.max(FIRST_SWEEP, length * 2);
}
