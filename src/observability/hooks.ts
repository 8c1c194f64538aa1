/**
 * How `sluice/otel`, which no client loads, hears of single calls: an object that all copies of the
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

interface Hooks {
  /** Called for each single call; what it returns is told how the call ends, before its caller is. */
  call: ((name: string, args: readonly (string | Buffer)[], source: CallSource) => CallEnd | null) | null;
  /** Clients of single servers that are connected or connecting. */
  readonly clients: Set<{ stats(): object }>;
}

const KEY = Symbol.for("sluice.hooks.1");

const shared = globalThis as unknown as Record<symbol, Hooks | undefined>;
shared[KEY] ??= { call: null, clients: new Set() };

export const hooks: Hooks = shared[KEY];
