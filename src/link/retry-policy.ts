/** How long to wait before the next attempt. */

import { callUser } from "../util/user-code";

export type RetryStrategy = ((times: number) => unknown) | null | undefined;

/** Timers of the engine take no more; what is beyond would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** Delay in milliseconds, or null when the strategy gives up (anything but a number). */
export function retryDelay(strategy: RetryStrategy, attempts: number): number | null {
  if (typeof strategy !== "function") return null;
  const delay = callUser(() => strategy(attempts));
  return typeof delay === "number" ? Math.min(delay, LONGEST_DELAY_MS) : null;
}
