/**
 * The channels on which the client tells of its own work: batches, writes, connections, redirects,
 * subscriptions. Names and fields are a public interface (docs/observability.md): fields may be
 * added, none is renamed or taken away within a major version. No context is built and no clock is
 * read while nobody listens to a channel. Values, keys and credentials never appear.
 */

import { type Channel, channel } from "node:diagnostics_channel";
import { type ServerContext, WorkChannel } from "./channels";

type Counts = Record<string, number>;

/** One `exec()` of a pipeline or transaction, or one batch of a bulk. Times are milliseconds. */
export interface PipelineContext extends ServerContext {
  kind: "pipeline" | "transaction" | "bulk";
  /** Commands, MULTI and EXEC of a transaction not counted. */
  size: number;
  /** How often each command is in it, by its name in lower case; null if there are more than 16 names. */
  commands: Counts | null;
  database: number;
  /** Address of the other end of the socket, while there is one; absent on a cluster. */
  peerAddress?: string | undefined;
  peerPort?: number | undefined;
  /** Another instrumentation has replaced `sendCommand` and sees its commands one by one. */
  isPatched: boolean;
  /** From `asyncStart` on. The first word of error replies, codes of other errors; how often each. */
  errors?: Counts;
  /** From `asyncStart` on: nodes that it was divided among; 1 on a single server. */
  nodes?: number;
  /** From `asyncStart` on: from `exec()` to the write of its first command. Null if that was not seen (on a cluster). */
  queuedMs?: number | null;
  /** From `asyncStart` on: from that write to the first reply. Null if that was not seen. */
  wireMs?: number | null;
  /** From `asyncStart` on: from the first reply to the last. Null if that was not seen. */
  settlingMs?: number | null;
  /** From `asyncStart` on: all of it. */
  durationMs?: number;
  /** The error that `exec()` rejects with. */
  error?: Error;
}

/** Why bytes leave. */
export type FlushCause = "early" | "run" | "turn" | "window" | "size" | "drain" | "closing";

/** One write to a socket; `asyncEnd` follows with its first reply, or with the loss of the connection. */
export interface FlushContext extends ServerContext {
  commands: number;
  bytes: number;
  /** Pipelines and transactions that begin in it. */
  batches: number;
  /** Commands that were unanswered before. */
  inFlight: number;
  /**
   * `early`: before the end of the run (`flushPolicy`). `run`: its end, nothing was in flight. `turn`:
   * the end of the event-loop turn. `window`: an automatic batch that was held back until another one
   * was answered. `size`: many commands had gathered. `drain`: the socket takes bytes
   * again. `closing`: the client is leaving.
   */
  cause: FlushCause;
  /** The socket took no more. */
  isStalled: boolean;
  /** From `asyncStart` on: milliseconds to the first reply. */
  roundTripMs?: number;
  error?: Error;
}

/** An attempt to connect, the life of a ready connection, or a question about a silent one. */
export interface ConnectionContext extends ServerContext {
  /** `attempt` ends when the connection is ready, `life` with its loss or end, `probe` with the verdict. */
  operation: "attempt" | "life" | "probe";
  /** Attempts before this one. */
  epoch: number;
  /** Of an `attempt`: milliseconds since a ready connection was lost; null if none was. */
  downMs?: number | null;
  /** Of a `probe`, from `asyncStart` on: `dead`, `busy`, `unreachable`, `unknown` or `served`. */
  verdict?: string;
  /** Why the attempt failed or the connection was lost. */
  error?: Error;
}

/** A node of a cluster has sent a command elsewhere, or back. */
export interface RedirectContext {
  kind: "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "OTHER";
  /** Name of the command, or of the EXEC that stands for a transaction, in lower case. */
  command: string;
  /** -1 if the command has none. */
  slot: number;
  /** `host:port` of the node that said so. */
  from: string;
  /** `host:port` that it named, or null. */
  to: string | null;
}

/** Subscriptions without a connection: messages are missed from `start` to `asyncEnd`. */
export interface PubSubContext extends ServerContext {
  /** Channels, patterns and sharded channels that were subscribed to when the connection was lost. */
  subscriptions: number;
  /** From `asyncStart` on: milliseconds without. */
  gapMs?: number;
  /** The client has ended instead. */
  error?: Error;
}

/** The work of the cache of a client since the last message, or since it had rested. */
export interface CacheContext extends ServerContext {
  /** Calls that were answered from the cache. */
  hits: number;
  /** Calls that were sent. */
  misses: number;
  /** Calls that waited for the answer to another one. */
  joined: number;
  /** Answers that were kept. */
  stores: number;
  /** Answers that were dropped to make room. */
  evictions: number;
  /** Keys that the server said have changed. */
  invalidations: number;
  /** Answers that are kept now, and the bytes of memory that they take. */
  entries: number;
  bytes: number;
  /** Milliseconds that all of this took. */
  intervalMs: number;
}

export const pipelineChannel: WorkChannel<PipelineContext> = new WorkChannel("sluice:pipeline");
export const flushChannel: WorkChannel<FlushContext> = new WorkChannel("sluice:flush");
export const connectionChannel: WorkChannel<ConnectionContext> = new WorkChannel("sluice:connection");
export const pubSubChannel: WorkChannel<PubSubContext> = new WorkChannel("sluice:pubsub");
/** Redirects take no time of their own: each is one message (`RedirectContext`), made only for those who listen. */
export const redirectChannel: Channel = channel("sluice:redirect");

const caches: Channel = channel("sluice:cache");

export function isCacheHeard(): boolean {
  return caches.hasSubscribers;
}

/** Added up by who calls it: one message for many calls. */
export function tellCache(context: CacheContext): void {
  caches.publish(context);
}
