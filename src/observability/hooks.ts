/** Connects the client with `sluice/otel`, which no client loads. Not public. */

import { processWide } from "../util/process-wide";
import type { ServerContext } from "./channels";

export interface CallEnd {
  onFulfilled(): void;
  onFailed(error: Error): void;
}

export interface CallSource {
  /** Counts the outcomes; a replacement must pass the outcomes on to it. */
  readonly callCounts: CallEnd;
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

export const hooks: Hooks = processWide("sluice.hooks.1", () => {
  return { call: null, batch: null, gathered: null, clients: new Set(), left: null };
});
