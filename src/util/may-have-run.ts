/** Tells what an error says about the command that failed with it. */

import type { ErrorCode } from "../errors";

/** The command was written, or parts of what it stands for were, and no answer tells what became of it. */
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
 * Whether the command that failed with this error may have run: it was written, and no answer says
 * what became of it. False when it was never written, and for error replies, by which the server
 * refuses a command (a script or function that fails midway has done what stands before the failure).
 * Repeat a command that is not idempotent only when this is false.
 *
 * @param error What a command rejected with, or what stands in its row of `exec()`; anything else is false.
 * @example
 * ```ts
 * import { mayHaveRun, Redis } from "sluice";
 *
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
