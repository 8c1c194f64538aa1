/** How long to wait before the next attempt. */

import { callUser } from "../util/user-code";

export type RetryStrategy = ((times: number) => unknown) | null | undefined;

/** Delay in milliseconds, or null when the strategy gives up (anything but a number). */
export function retryDelay(strategy: RetryStrategy, attempts: number): number | null {
  if (typeof strategy !== "function") return null;
  const delay = callUser(() => strategy(attempts));
  return typeof delay === "number" ? delay : null;
}
