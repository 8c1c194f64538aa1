/**
 * How `sluice/otel`, which no client loads, hears of calls and batches: an object that all copies of the
 * client in one process share, whatever bundled them. Not public; the number is that of its shape.
 */

import type { ServerContext } from "./channels";

/** Is told how a call ends. */
export interface CallEnd {
  onFulfilled(): void;
  onFailed(error: Error): void;
}

/** The client of a call. */
export interface CallSource {
  /** Counts the outcomes: to be told by what takes its place. */
  readonly tally: CallEnd;
  /** `sendCommand` has been replaced by an instrumentation of another kind. */
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
  /** Commands, MULTI and EXEC included. */
  readonly length: number;
  /** Name of a command in lower case. */
  nameAt(index: number): string;
}

/** Is told how a batch ends. */
export interface BatchEnd {
  /**
   * @param errors The first word of error replies, codes of other errors; how often each.
   * @param refusal What `exec()` rejects with.
   * @param queuedMs From `exec()` to the write of its first command; null if that was not seen.
   */
  onEnd(errors: Readonly<Record<string, number>>, refusal: Error | null, queuedMs: number | null): void;
}

/** A client of a server, or a cluster, whose nodes are clients themselves. */
export interface ObservedClient {
  /** The client's own `stats()`; of a cluster with the address of its first start node besides. */
  stats(): object;
}

interface Hooks {
  /** Called for each single call; what it returns is told how the call ends, before its caller is. */
  call: ((name: string, args: readonly (string | Buffer)[], source: CallSource) => CallEnd | null) | null;
  /** Called for each batch as it is sent; what it returns is told how the batch ends, before its caller is. */
  batch: ((facts: BatchFacts, source: CallSource) => BatchEnd | null) | null;
  /** Called for each automatic batch as it leaves: for how long it was gathered. */
  gathered: ((ms: number, source: CallSource) => void) | null;
  /** Clients that are connected or connecting. */
  readonly clients: Set<ObservedClient>;
  /** Called for each client that has ended, while its figures can still be read. */
  left: ((client: ObservedClient) => void) | null;
}

const KEY = Symbol.for("sluice.hooks.1");

const shared = globalThis as unknown as Record<symbol, Hooks>;
if (shared[KEY] === undefined) {
  const made: Hooks = { call: null, batch: null, gathered: null, clients: new Set(), left: null };
  // A getter: Jest empties the objects that a test file leaves as values on the global object, also under living clients.
  Object.defineProperty(shared, KEY, { get: () => made });
}

export const hooks = shared[KEY] as Hooks;
