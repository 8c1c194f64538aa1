/**
 * Options that are the same for a client of one server, a client behind Sentinel, and the nodes of a cluster.
 * docs/options.md is generated from the comments here: the first paragraph is the effect, with `@unit` and `@default`.
 * Each field accepts an explicit `undefined`, which means its default.
 */

import type { RetryPolicy } from "../../command/command-extra";
import type { ScriptDefinition } from "../../command/script";
import type { LeaseLimits } from "../../leases/connection-pool";
import type { Bounds } from "../../link/admission";
import type { CredentialsProvider } from "../../link/credential-provider";
import type { WatchdogOptions } from "../../link/link-options";
import type { RetryDelay } from "../../link/reconnection";
import type { MergeChoice } from "../merging";

export type RetryStrategy = ((times: number) => RetryDelay) | null | undefined;
export type ReconnectOnError = (error: Error) => boolean | 1 | 2;

/** A named list of fields for HIMPORT SET (Redis 8.10 and later; experimental). */
export interface HimportFieldset {
  readonly name: string | Buffer;
  readonly fields: readonly (string | Buffer)[];
}

/** Settings of automatic pipelines. */
export interface AutoPipeliningWindow {
  /** Limit of unanswered batches. Further commands are collected for the next one. Default 1. "adaptive": depends on the round trip. */
  maxInFlight?: number | "adaptive" | undefined;
  /** Limit of the commands of a batch. Default unlimited. */
  maxCommands?: number | undefined;
  /** Limit of the bytes of a batch. Default unlimited. */
  maxBytes?: number | undefined;
  /**
   * Sends identical reads of a batch once, unless a command between them may change their keys. Default false. See
   * docs/fewer-commands.md.
   */
  coalesce?: boolean | undefined;
  /**
   * Merges adjacent commands of a batch into one (two HGET become one HMGET). `true` merges `hget`, `sismember` and
   * `zscore`, whose replies stay exact. A list of names can also contain `get`, `set`, `hmset`, `rpush` and `lpush`.
   * Default false. See docs/fewer-commands.md.
   */
  merge?: MergeChoice | undefined;
}

/** Settings of the client-side cache. See docs/caching.md. */
export interface CacheOptions {
  /** Memory limit in bytes, with keys and bookkeeping. Default 67108864 (64 MiB). */
  maxBytes?: number | undefined;
  /**
   * Time in ms after which a cached reply expires. Default 60000. `Infinity`: only when the server reports a change.
   * `"server"`: when its key expires, and after 60000 ms at the latest (one more command for each miss).
   */
  ttl?: number | "server" | undefined;
  /**
   * Longest time in ms for which the cache answers while the connection is silent. A reply from the cache is never
   * outdated for longer because of a dead connection. Default 5000.
   */
  maxStale?: number | undefined;
  /** Prefixes of the keys to cache, or a function that chooses them (not with `broadcast`). Keys are without `keyPrefix`. Default all. */
  match?: readonly string[] | ((key: string) => boolean) | undefined;
  /**
   * The keys that the server tracks: those of cached reads (`optin`, the default: two commands for a miss), those of all
   * reads (`all`: one command), or all keys with a prefix of `match` (`broadcast`: one command, and a push message for
   * each change).
   */
  mode?: "optin" | "all" | "broadcast" | undefined;
  /** Returns frozen arrays and objects that callers share, instead of copies. Replies with Buffers are always copied. Default false. */
  frozen?: boolean | undefined;
}

/** The options of `Redis` that a `Cluster` has, too. */
export interface AnyClientOptions {
  // --- Options of every client

  /**
   * Stays in status `wait` until the first command or `connect()`.
   * @default false
   */
  lazyConnect?: boolean | undefined;
  /**
   * The written commands without a reply that the client sends again after a lost connection: all (`at-least-once`),
   * only the reads (`reads-only`), or no commands (`at-most-once`). The others fail with the code `OUTCOME_UNKNOWN`.
   * When the watchdog finds that a server cannot be reached, `at-least-once` counts as `reads-only`, because the
   * server may still run the commands. `with({ retry })` applies even then.
   * @default "at-least-once"
   */
  retryPolicy?: RetryPolicy | undefined;
  /** Limits the number or the memory of unsettled commands. Unlimited by default. */
  bounds?: Bounds | undefined;
  /**
   * Caches the replies of reads in this process until the server reports that a key has changed. `true`, or settings.
   * Needs protocol 3. Off by default. On a cluster, `redisOptions.cache` has the same effect. See docs/caching.md.
   */
  cache?: boolean | CacheOptions | undefined;
  /**
   * Rejects commands with `undefined`, `null`, `NaN`, plain objects, nested arrays or promises among their arguments
   * (code `INVALID_ARGUMENT`), instead of sending `""`, `NaN` or `[object Object]`. Off by default.
   */
  strictArguments?: boolean | undefined;
  /**
   * Adds the line of the call to the stack of a command's error. Captures a stack for each command: for development
   * only.
   */
  showFriendlyErrorStack?: boolean | undefined;
  /**
   * Forms batches of commands that are issued together, also by unrelated code. On a cluster, each node has its own
   * batches. Most programs do not need it, because such commands share writes by default. `true`: one unanswered batch;
   * `"adaptive"`: more batches for longer round trips; or settings. See docs/auto-pipelining.md.
   * @default false
   */
  enableAutoPipelining?: boolean | "adaptive" | AutoPipeliningWindow | undefined;
  /**
   * Names of commands that never join an automatic pipeline, in any letter case.
   * @default []
   */
  autoPipeliningIgnoredCommands?: string[] | undefined;
  /** Lua scripts that become methods, as with `defineCommand`. */
  scripts?: Record<string, ScriptDefinition> | undefined;
  /** Named field lists that each connection prepares for HIMPORT SET (Redis 8.10 and later; experimental). */
  himportFieldsets?: readonly HimportFieldset[] | undefined;
}

export interface SharedOptions extends AnyClientOptions {
  // --- Connecting

  /**
   * Time limit of an attempt to connect, including the handshake. 0 disables the limit.
   * @unit ms
   * @default 10000
   */
  connectTimeout?: number | undefined;
  /**
   * Idle time before TCP keep-alive probes. A value that is not a number disables them.
   * @unit ms
   * @default 30000
   */
  keepAlive?: number | undefined;
  /**
   * Sends small packets immediately (TCP_NODELAY).
   * @default true
   */
  noDelay?: boolean | undefined;
  /**
   * Called with the number of attempts since the last `ready`, from 1. Returns the delay in milliseconds before the
   * next attempt. If it returns no number, the client closes. `null` instead of a function disables reconnecting.
   * @default min(50 * 2^(times - 1), 5000) + random 0..199
   */
  retryStrategy?: RetryStrategy;
  /**
   * Name of the connection in CLIENT LIST.
   * @default null
   */
  connectionName?: string | undefined;
  /**
   * Does not send the name and version of this library to the server (CLIENT SETINFO).
   * @default false
   */
  disableClientInfo?: boolean | undefined;
  /** Appended to the library name in CLIENT SETINFO: `sluice(tag)`. */
  clientInfoTag?: string | undefined;

  // --- Authentication and database

  /**
   * ACL user name.
   * @default null
   */
  username?: string | undefined;
  /**
   * Password.
   * @default null
   */
  password?: string | undefined;
  /**
   * Returns `{ username, password, expiresAt }`. Called for each connection and again before `expiresAt`. May be async.
   * Replaces the options `username` and `password`.
   */
  credentials?: CredentialsProvider | undefined;
  /**
   * Database number.
   * @default 0
   */
  db?: number | undefined;
  /**
   * Sends READONLY after connecting, so that a replica of a cluster serves reads.
   * @default false
   */
  readOnly?: boolean | undefined;

  // --- Replies

  /**
   * RESP version. With 3, the client falls back to RESP2 if the server supports only RESP2.
   * @default 3
   */
  protocol?: 2 | 3 | undefined;
  /**
   * Shape of maps, booleans, doubles and other RESP3 types: as in RESP2 (`legacy`), or as JavaScript values (`resp3`,
   * needs protocol 3).
   * @default "legacy"
   */
  replyMapping?: "legacy" | "resp3" | undefined;
  /**
   * Returns integers as strings.
   * @default false
   */
  stringNumbers?: boolean | undefined;

  // --- Queues, losses and retries

  /**
   * Queues commands while there is no connection. With `false`, they fail immediately.
   * @default true
   */
  enableOfflineQueue?: boolean | undefined;
  /**
   * Waits for the server to load its data (INFO) before the client is `ready`.
   * @default true
   */
  enableReadyCheck?: boolean | undefined;
  /**
   * Longest delay between two ready checks of a server that loads its data.
   * @unit ms
   * @default 10000
   */
  maxLoadingRetryTime?: number | undefined;
  /**
   * Restores subscriptions after a reconnect.
   * @default true
   */
  autoResubscribe?: boolean | undefined;
  /**
   * Sends commands without a reply again after a reconnect, as `retryPolicy` allows. `false` means
   * `retryPolicy: "at-most-once"`.
   * @default true
   */
  autoResendUnfulfilledCommands?: boolean | undefined;
  /**
   * Rejects a command after this number of lost connections, if it was the oldest command without a reply in each
   * loss. Such a command may be the cause of the losses. Blocking commands never count. `Infinity` removes the limit.
   * @default 3
   */
  maxLossesPerCommand?: number | undefined;
  /**
   * Number of failed attempts to connect after which all waiting commands fail. With null or a negative number, they
   * wait without a limit.
   * @default 20
   */
  maxRetriesPerRequest?: number | null | undefined;
  /**
   * Called with each error reply. `true` or 1 reconnects, 2 reconnects and sends the command again. For EXEC and the
   * commands of a transaction, 2 means 1.
   * @default null
   */
  reconnectOnError?: ReconnectOnError | null | undefined;

  // --- Timeouts

  /**
   * Time limit of each command, from the call to the reply. Once a blocking command (BLPOP, XREAD BLOCK, WAIT) is
   * written, its limit is its own timeout plus `blockingTimeoutGrace`.
   * @unit ms
   */
  commandTimeout?: number | undefined;
  /**
   * Closes the connection if commands wait and no byte arrives for this time.
   * @unit ms
   */
  socketTimeout?: number | undefined;
  /**
   * Time limit of a blocking command without a timeout of its own. The command then resolves with null, and the client
   * sends CLIENT UNBLOCK, so that no later element is lost.
   * @unit ms
   */
  blockingTimeout?: number | undefined;
  /**
   * Time added to a blocking command's own timeout; see `commandTimeout`.
   * @unit ms
   * @default 100
   */
  blockingTimeoutGrace?: number | undefined;

  // --- Load and dead connections

  /**
   * Limit of extra connections for blocking commands (BLPOP, XREAD BLOCK), so that they do not delay other commands.
   * With 0, they use the shared connection.
   * @default 0
   */
  blockingConnections?: number | undefined;
  /**
   * Limits of the connections of `lease()`, `withConnection()` and `transaction()`: `max` (10) at the same time, for each node
   * of a cluster; `waitMs` (10000) to wait for one; `idleMs` (30000) until an idle one closes. See docs/leases.md.
   */
  leases?: LeaseLimits | undefined;
  /**
   * Detects dead connections. If a command waits and no byte arrives for `idleMs`, the client asks the server on a
   * second connection (CLIENT LIST). It replaces the silent connection if the server no longer serves it, or if the
   * server refuses connections three times in a row. Without permission for CLIENT LIST, only `keepAlive` and
   * `socketTimeout` apply. A connection with subscriptions that is silent for half of `idleMs` gets a PING. After an
   * idle time of twice `idleMs`, the next command waits for the reply to a PING, which shows whether the connection
   * of a frozen process is alive. `false` disables the watchdog.
   * @default { idleMs: 5000, probeTimeoutMs: 2000 }
   */
  watchdog?: WatchdogOptions | false | undefined;
  /**
   * Requests notices of planned maintenance (CLIENT MAINT_NOTIFICATIONS), and switches to another connection before the
   * server closes the current one. `auto`: only for hosts of Redis Cloud and Azure Managed Redis. `on`: for any host; if the
   * server refuses, the client emits an `error`. Needs protocol 3. See docs/managed-servers.md.
   * @default "auto"
   */
  maintenance?: "auto" | "on" | false | undefined;
  /**
   * Limit of the bytes of one flush. A flush of fewer than 16 large commands may have up to 16 times as many bytes.
   * @unit bytes
   * @default 262144
   */
  highWaterBytes?: number | undefined;
  /**
   * When the client writes commands. `"adaptive"`: immediately if no command is in flight, otherwise in batches. It
   * writes a batch during a long task when the batch has as many commands as are in flight, and at the end of each
   * task. Client and server then work at the same time. If other programs use the same processor, it writes as
   * `"turn"` does. `"turn"`: only at the end of the task or of the event-loop turn, with the fewest writes.
   * @default "adaptive"
   */
  flushPolicy?: "adaptive" | "turn" | undefined;

  // --- Keys

  /**
   * Prefix of all keys: a string or a Buffer.
   * @default ""
   */
  keyPrefix?: string | undefined;

  // --- Internal or without effect

  /** Sends MONITOR on `ready`. Use `redis.monitor()` instead. */
  monitor?: boolean | undefined;
  /** @deprecated Has no effect. */
  offlineQueue?: boolean | undefined;
  /** @deprecated Has no effect. */
  commandQueue?: boolean | undefined;
}
