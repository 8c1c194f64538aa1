/** Emitting events of a client without ever crashing the process. */

import type { EventEmitter } from "node:events";

/**
 * Emits an event if somebody listens. An `error` that nobody hears is printed; one that comes
 * after the end is not worth a word.
 */
export function reportSilently(
  client: EventEmitter & { readonly status: string },
  event: string,
  args: unknown[],
): boolean {
  if (event === "error" && client.status === "end") return false;
  if (client.listenerCount(event) > 0) return client.emit(event, ...args);
  if (event === "error") {
    const error = args[0];
    console.error("[sluice] Unhandled error event:", error instanceof Error ? error.stack : error);
  }
  return false;
}
