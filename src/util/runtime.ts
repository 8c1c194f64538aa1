/**
 * The ways in which a runtime differs from Node where the client depends on it. The runtime is asked once, when this
 * module is loaded. No other file looks at which runtime it is.
 */

/** Cloudflare Workers name themselves this way; `process` there looks like that of Node. */
const isWorkers =
  (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent === "Cloudflare-Workers";

/** A read fills memory of the client's own. Workers detach the memory that they are given. */
export const readsInPlace = !isWorkers;

/**
 * A timer may serve everything in the process. On Workers timers and sockets belong to the request that made
 * them: they must not touch those of another request, and they end with it.
 */
export const sharesTimers = !isWorkers;
