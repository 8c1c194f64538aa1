/** Determines from an error whether its command may have run. */

import type { ErrorCode } from "../errors";

/** Codes of commands that were written, completely or in part, without a reply that tells the outcome. */
const OPEN: ReadonlySet<string> = new Set<ErrorCode>([
  "OUTCOME_UNKNOWN",
  "COMMAND_LOST",
  "BULK_ABORTED",
  "ANSWERS_DIFFER",
  "REPLY_TOO_LONG",
  "PROTOCOL",
  "UNEXPECTED_REPLY",
]);

/**
 * Whether the command that failed with this error may have run: it was written, and no reply tells the outcome.
 * False if it was never written, and for error replies, with which the server refuses a command. (A script or
 * function that fails midway has executed the steps before the failure.) Repeat a command that is not
 * idempotent only if the result is false.
 * @param error The error with which a command rejected, or the error in its row of `exec()`; false for any
 * other value.
 * @example
 * ```ts
 * import { mayHaveRun, Redis } from "sluice";
 * const redis = new Redis();
 * try {
 *   await redis.incr("visits");
 * } catch (error) {
 *   console.log(mayHaveRun(error) ? "perhaps counted" : "not counted");
 * }
 * await redis.quit();
 * ```
 */
export function mayHaveRun(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, details } = error as { code?: unknown; details?: { mayHaveRun?: unknown } | null };
  return OPEN.has(String(code)) || details?.mayHaveRun === true;
}
