/**
 * The differences between runtimes that affect the client. They are detected once, when this module is loaded.
 * No other file detects the runtime.
 */

/** Cloudflare Workers identify themselves this way; their `process` resembles that of Node. */
const isWorkers =
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === "Cloudflare-Workers";

/** Reads use the client's own memory. Workers detach memory that is passed to them. */
export const readsInPlace = !isWorkers;

/**
 * A timer may serve the whole process. On Workers timers and sockets belong to the request that created them:
 * they must not be used by another request, and they end with it.
 */
export const sharesTimers = !isWorkers;

/** Deno asks its user before it reads a file of the system. */
export const readsSystemFiles = process.platform === "linux" && !isWorkers && !("Deno" in globalThis);
