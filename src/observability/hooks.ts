/**
 * Connects the client with `sluice/otel`, which no client loads: an object that all copies of the client in one
 * process share, however they are bundled. Not public; the number in its key is the version of its shape.
 */

import type { ServerContext } from "./channels";

/** Receives the outcome of a call. */
export interface CallEnd {
  onFulfilled(): void;
  onFailed(error: Error): void;
}

/** The client of a call. */
export interface CallSource {
  /** Counts the outcomes; a replacement must pass the outcomes on to it. */
  readonly tally: CallEnd;
  /** Another instrumentation has replaced `sendCommand`. */
  readonly isPatched: boolean;
  /** Writes to all its sockets so far. */
  readonly flushes: number;
  readonly database: number;
  server(): ServerContext & {
    readonly peerAddress?: string | undefined;
    readonly peerPort?: number | undefined;
  };
}

/** A pipeline, a transaction, or one batch of a bulk. */
export interface BatchFacts {
  readonly kind: "pipeline" | "transaction" | "bulk";
  /** The number of commands, including MULTI and EXEC. */
  readonly length: number;
  /** The name of a command in lower case. */
  nameAt(index: number): string;
}

/** Receives the outcome of a batch. */
export interface BatchEnd {
  /**
   * @param errors The number of errors by first word of the error reply, or by code of another error.
   * @param refusal The error with which `exec()` rejects.
   * @param queuedMs The time from `exec()` to the write of its first command; null if unknown.
   */
  onEnd(errors: Readonly<Record<string, number>>, refusal: Error | null, queuedMs: number | null): void;
}

/** A client of a server, or a cluster, whose nodes are clients themselves. */
export interface ObservedClient {
  /** The client's own `stats()`; for a cluster also the address of its first start node. */
  stats(): object;
}

interface Hooks {
  /** Called for each single call; the returned object receives the outcome before the caller does. */
  call: ((name: string, args: readonly (string | Buffer)[], source: CallSource) => CallEnd | null) | null;
  /** Called for each batch when it is sent; the returned object receives the outcome before the caller does. */
  batch: ((facts: BatchFacts, source: CallSource) => BatchEnd | null) | null;
  /** Called for each automatic batch when it is sent, with the time in which it was collected. */
  gathered: ((ms: number, source: CallSource) => void) | null;
  /** Clients that are connected or connecting. */
  readonly clients: Set<ObservedClient>;
  /** Called for each client that has ended, while its metrics can still be read. */
  left: ((client: ObservedClient) => void) | null;
}

const KEY = Symbol.for("sluice.hooks.1");

const shared = globalThis as unknown as Record<symbol, Hooks>;
if (shared[KEY] === undefined) {
  const made: Hooks = { call: null, batch: null, gathered: null, clients: new Set(), left: null };
  // A getter, because Jest empties objects that a test file leaves as values on the global object, even if
  // clients still use them.
  Object.defineProperty(shared, KEY, { get: () => made });
}

export const hooks = shared[KEY] as Hooks;
