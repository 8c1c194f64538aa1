/**
 * The channels on which the client reports its own work: batches, writes, connections, redirects,
 * subscriptions. Names and fields are a public interface (docs/observability.md): within a major version
 * fields may be added, but not renamed or removed. Without a subscriber a channel allocates no context and
 * reads no clock. Values, keys and credentials never appear.
 */

import { type Channel, channel } from "node:diagnostics_channel";
import { type ServerContext, WorkChannel } from "./channels";

type Counts = Record<string, number>;

/** One `exec()` of a pipeline or transaction, or one batch of a bulk. Times are milliseconds. */
export interface PipelineContext extends ServerContext {
  kind: "pipeline" | "transaction" | "bulk";
  /** The number of commands, without MULTI and EXEC of a transaction. */
  size: number;
  /** The number of commands by name in lower case; null if there are more than 16 names. */
  commands: Counts | null;
  database: number;
  /** The remote address of the socket, while it exists; absent on a cluster. */
  peerAddress?: string | undefined;
  peerPort?: number | undefined;
  /** Another instrumentation has replaced `sendCommand` and sees its commands one by one. */
  isPatched: boolean;
  /**
   * From `asyncStart` on: the number of errors by first word of the error reply, or by code of another error.
   */
  errors?: Counts;
  /** From `asyncStart` on: the number of nodes that share the batch; 1 on a single server. */
  nodes?: number;
  /**
   * From `asyncStart` on: the time from `exec()` to the write of its first command; null if unknown (on a
   * cluster).
   */
  queuedMs?: number | null;
  /** From `asyncStart` on: the time from that write to the first reply; null if unknown. */
  wireMs?: number | null;
  /** From `asyncStart` on: the time from the first reply to the last; null if unknown. */
  settlingMs?: number | null;
  /** From `asyncStart` on: the total time. */
  durationMs?: number;
  /** The error with which `exec()` rejects. */
  error?: Error;
}

/** The reason for a write. */
export type FlushCause = "early" | "run" | "turn" | "window" | "size" | "drain" | "closing";

/** One write to a socket; `asyncEnd` follows with its first reply, or with the loss of the connection. */
export interface FlushContext extends ServerContext {
  commands: number;
  bytes: number;
  /** The number of pipelines and transactions that begin in it. */
  batches: number;
  /** The number of commands that were unanswered before. */
  inFlight: number;
  /**
   * `early`: before the end of the task (`flushPolicy`). `run`: at its end, with nothing in flight. `turn`:
   * at the end of the event-loop turn. `window`: an automatic batch that was held back until another one was
   * answered. `size`: many commands were collected. `drain`: the socket accepts bytes again. `closing`: the
   * client is closing.
   */
  cause: FlushCause;
  /** The socket accepted no more bytes. */
  isStalled: boolean;
  /** From `asyncStart` on: milliseconds to the first reply. */
  roundTripMs?: number;
  error?: Error;
}

/** A connection attempt, the lifetime of a ready connection, a probe of a silent one, or a planned move. */
export interface ConnectionContext extends ServerContext {
  /**
   * `attempt` ends when the connection is ready, `life` with its loss or end, `probe` with the verdict.
   * `move` begins with the attempt to connect to the new server, and ends when commands use the new
   * connection.
   */
  operation: "attempt" | "life" | "probe" | "move";
  /** Attempts before this one. */
  epoch: number;
  /** For an `attempt`: milliseconds since a ready connection was lost; null if there was no loss. */
  downMs?: number | null;
  /** For a `probe`, from `asyncStart` on: `dead`, `busy`, `unreachable`, `unknown` or `served`. */
  verdict?: string;
  /** The reason why the attempt failed or the connection was lost. */
  error?: Error;
}

/** A node of a cluster has redirected or deferred a command. */
export interface RedirectContext {
  kind: "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "OTHER";
  /** The name of the command in lower case; for a transaction `exec`. */
  command: string;
  /** -1 if the command has none. */
  slot: number;
  /** `host:port` of the node that sent the redirect. */
  from: string;
  /** `host:port` of the node that it named, or null. */
  to: string | null;
}

/** Subscriptions without a connection: messages are missed from `start` to `asyncEnd`. */
export interface PubSubContext extends ServerContext {
  /** The number of channels, patterns and shard channels at the time of the loss. */
  subscriptions: number;
  /** From `asyncStart` on: milliseconds without a connection. */
  gapMs?: number;
  /** The client has ended instead. */
  error?: Error;
}

/** The work of a client's cache since the last message, or since it was last idle. */
export interface CacheContext extends ServerContext {
  /** Calls answered from the cache. */
  hits: number;
  /** Calls that were sent. */
  misses: number;
  /** Calls that waited for the reply to an identical call. */
  joined: number;
  /** Replies that were stored. */
  stores: number;
  /** Replies that were evicted to make room. */
  evictions: number;
  /** Keys that the server has invalidated. */
  invalidations: number;
  /** Replies in the cache, and their memory in bytes. */
  entries: number;
  bytes: number;
  /** The interval of these counts in milliseconds. */
  intervalMs: number;
}

export const pipelineChannel: WorkChannel<PipelineContext> = new WorkChannel("sluice:pipeline");
export const flushChannel: WorkChannel<FlushContext> = new WorkChannel("sluice:flush");
export const connectionChannel: WorkChannel<ConnectionContext> = new WorkChannel("sluice:connection");
export const pubSubChannel: WorkChannel<PubSubContext> = new WorkChannel("sluice:pubsub");
/** Redirects have no duration: each is one message (`RedirectContext`), created only for subscribers. */
export const redirectChannel: Channel = channel("sluice:redirect");

/** Each message sums up many calls (`CacheContext`). */
export const cacheChannel: Channel = channel("sluice:cache");
