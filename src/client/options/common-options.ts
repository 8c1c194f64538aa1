/**
 * Options of a client that are the same for one server, behind Sentinel and for the nodes of a
 * cluster: types only. Their defaults are in redis-options.ts; docs/options.md is written from
 * the comments here (first paragraph = effect; `@unit`, `@default`). Every field takes an explicit
 * `undefined`, which means its default.
 */

import type { RetryPolicy } from "../../command/command-extra";
import type { ScriptDefinition } from "../../command/script";
import type { Bounds } from "../../link/admission";
import type { ExpiringCredentials } from "../../link/credentials";
import type { WatchdogOptions } from "../../link/link-options";
import type { MergeChoice } from "../merging";

// A function that returns nothing may stand where a delay is expected.
type Nothing = ReturnType<() => void>;
/** Milliseconds to wait; anything else gives up. */
export type RetryDelay = number | Nothing | null;
export type RetryStrategy = ((times: number) => RetryDelay) | null | undefined;
export type ReconnectOnError = (error: Error) => boolean | 1 | 2;

/** A field list that HIMPORT SET refers to by name (Redis 8.10 and later; experimental). */
export interface HimportFieldset {
  readonly name: string | Buffer;
  readonly fields: readonly (string | Buffer)[];
}

/** Where credentials come from when they change over time. */
export type CredentialsProvider = () => ExpiringCredentials | Promise<ExpiringCredentials>;

/** The window of the automatic pipelines. */
export interface AutoPipeliningWindow {
  /** Unanswered batches at which commands go on gathering. Default 1; "adaptive" follows the round trip. */
  maxInFlight?: number | "adaptive" | undefined;
  /** Most commands of one batch. Default unlimited. */
  maxCommands?: number | undefined;
  /** Bytes at which a batch is full. Default unlimited. */
  maxBytes?: number | undefined;
  /**
   * Identical reads of a batch are sent once, unless a command between them may have changed their keys. Default
   * false. See docs/fewer-commands.md.
   */
  coalesce?: boolean | undefined;
  /**
   * Commands that follow one another in a batch become one (HGET and HGET become HMGET): `true` for those whose
   * replies are exact (`hget`, `sismember`, `zscore`), or a list of names, in which `get`, `set`, `hmset`, `rpush`
   * and `lpush` may stand as well. Default false. See docs/fewer-commands.md.
   */
  merge?: MergeChoice | undefined;
}

/** How answers are kept in this process; see docs/caching.md. */
export interface CacheOptions {
  /** Most bytes of memory for answers, keys and bookkeeping included. Default 67108864 (64 MiB). */
  maxBytes?: number | undefined;
  /**
   * Time in ms after which an answer is asked for again. Default 60000; `Infinity`: when the server says so;
   * `"server"`: when its key expires, and after 60000 ms at the latest (one command more a miss).
   */
  ttl?: number | "server" | undefined;
  /**
   * Time in ms for which a connection that has become silent is believed: no answer is given that could be out of
   * date for longer without the server having been able to say so. Default 5000.
   */
  maxStale?: number | undefined;
  /** Beginnings of the keys whose answers are kept, or a function that chooses (not with `broadcast`); keys as callers name them. Default all. */
  match?: readonly string[] | ((key: string) => boolean) | undefined;
  /**
   * What the server remembers: the keys of the reads whose answers are kept (`optin`, the default: two commands a
   * miss), the keys of all reads (`all`: one command), or nothing (`broadcast`: one command; it tells of every
   * change of a key that begins with one of `match`).
   */
  mode?: "optin" | "all" | "broadcast" | undefined;
  /** Callers share frozen arrays and objects instead of getting copies. Replies with Buffers are always copied. Default false. */
  frozen?: boolean | undefined;
}

export interface SharedOptions {
  // --- Connecting

  /**
   * Time that connecting may take, handshake included; 0 disables the limit.
   * @unit ms
   * @default 10000
   */
  connectTimeout?: number | undefined;
  /**
   * Delay before TCP keep-alive probes of an idle connection; anything but a number switches them off.
   * @unit ms
   * @default 30000
   */
  keepAlive?: number | undefined;
  /**
   * Sends small packets at once (TCP_NODELAY).
   * @default true
   */
  noDelay?: boolean | undefined;
  /**
   * Stays in status `wait` until the first command or `connect()`.
   * @default false
   */
  lazyConnect?: boolean | undefined;
  /**
   * Called with the number of attempts since the last `ready`, from 1. Returns the delay in
   * milliseconds before the next one; anything but a number, or null for the option, ends the client.
   * @default min(50 * 2^(times - 1), 5000) + random 0..199
   */
  retryStrategy?: RetryStrategy;
  /**
   * Name of the connection in CLIENT LIST.
   * @default null
   */
  connectionName?: string | undefined;
  /**
   * Does not tell the server the name and version of this library (CLIENT SETINFO).
   * @default false
   */
  disableClientInfo?: boolean | undefined;
  /** Appended to the library name in CLIENT SETINFO: `sluice(tag)`. */
  clientInfoTag?: string | undefined;

  // --- Who and where

  /**
   * ACL user.
   * @default null
   */
  username?: string | undefined;
  /**
   * Password.
   * @default null
   */
  password?: string | undefined;
  /**
   * Gives user name and password each time the client connects, and again before `expiresAt`;
   * may be async. Takes the place of `username` and `password`.
   */
  credentials?: CredentialsProvider | undefined;
  /**
   * Database that is selected on connecting.
   * @default 0
   */
  db?: number | undefined;
  /**
   * Sends READONLY on connecting, so that a cluster replica serves reads.
   * @default false
   */
  readOnly?: boolean | undefined;

  // --- Replies

  /**
   * RESP version to negotiate; servers that know only RESP2 are accepted.
   * @default 3
   */
  protocol?: 2 | 3 | undefined;
  /**
   * Shape of maps, booleans, doubles and the like: as under RESP2 (`legacy`), or natural (`resp3`,
   * needs protocol 3).
   * @default "legacy"
   */
  replyMapping?: "legacy" | "resp3" | undefined;
  /**
   * Integers arrive as strings.
   * @default false
   */
  stringNumbers?: boolean | undefined;

  // --- Queues, losses and retries

  /**
   * Keeps commands while there is no connection; otherwise they fail at once.
   * @default true
   */
  enableOfflineQueue?: boolean | undefined;
  /**
   * Is `ready` only when INFO says that the server has loaded its data.
   * @default true
   */
  enableReadyCheck?: boolean | undefined;
  /**
   * Longest pause between two ready checks of a loading server.
   * @unit ms
   * @default 10000
   */
  maxLoadingRetryTime?: number | undefined;
  /**
   * Subscribes again after a reconnect.
   * @default true
   */
  autoResubscribe?: boolean | undefined;
  /**
   * Sends written but unanswered commands again after a reconnect, as far as `retryPolicy` allows.
   * `false` is the same as `retryPolicy: "at-most-once"`.
   * @default true
   */
  autoResendUnfulfilledCommands?: boolean | undefined;
  /**
   * Which written but unanswered commands are sent again after a lost connection: all
   * (`at-least-once`), only those that read (`reads-only`), or none (`at-most-once`). The others
   * fail with code `OUTCOME_UNKNOWN`. After the watchdog has found a server that cannot be reached,
   * `at-least-once` counts as `reads-only`, also where it is set here: the server may be at work on
   * them still. `with({ retry })` is obeyed even then.
   * @default "at-least-once"
   */
  retryPolicy?: RetryPolicy | undefined;
  /**
   * Lost connections after which the command that was the oldest unanswered one each time is given up.
   * @default 3
   */
  maxLossesPerCommand?: number | undefined;
  /**
   * Failed attempts after which all waiting commands fail; null or a negative number: never.
   * @default 20
   */
  maxRetriesPerRequest?: number | null | undefined;
  /**
   * Called with each error reply: true or 1 reconnects, 2 reconnects and sends the command again.
   * A member of a transaction and EXEC are never sent again alone: for them 2 does what 1 does.
   * @default null
   */
  reconnectOnError?: ReconnectOnError | null | undefined;

  // --- Time limits

  /**
   * Time limit of each command from its call on, queues included. The time that a written command
   * asks the server to block (BLPOP, XREAD BLOCK, WAIT ...) does not count; its own limit and
   * `blockingTimeoutGrace` do.
   * @unit ms
   */
  commandTimeout?: number | undefined;
  /**
   * Closes the connection when commands wait and no byte arrives for so long.
   * @unit ms
   */
  socketTimeout?: number | undefined;
  /**
   * Longest wait for a blocking command without a limit of its own; it then resolves null, and the
   * server is told (CLIENT UNBLOCK), so that no later element is lost.
   * @unit ms
   */
  blockingTimeout?: number | undefined;
  /**
   * Added to the limit that a blocking command states itself.
   * @unit ms
   * @default 100
   */
  blockingTimeoutGrace?: number | undefined;

  // --- Load and dead peers

  /**
   * Most extra connections that are leased to commands that block (BLPOP, XREAD BLOCK, ...), so that
   * they do not hold up the shared one; 0 = they use the shared one.
   * @default 0
   */
  blockingConnections?: number | undefined;
  /**
   * Notices dead peers: when an ordinary command waits and nothing arrives, the server is asked on a
   * second connection; the silent one is replaced when the server's list of clients (CLIENT LIST)
   * shows that it is not at work for it, or when nothing accepts connections three times in a row.
   * Without the right to CLIENT LIST it is left to `keepAlive` and `socketTimeout`. Connections with subscriptions that are
   * silent for half of `idleMs` are sent a PING. After an idle time of twice `idleMs` the next command waits for the answer to
   * a PING, so that a process that was frozen finds out whether its connection is alive. `false` switches all of it off.
   * @default { idleMs: 5000, probeTimeoutMs: 2000 }
   */
  watchdog?: WatchdogOptions | false | undefined;
  /** Limits what may wait for the server, in commands or bytes. Unlimited when absent. */
  bounds?: Bounds | undefined;
  /**
   * Bytes that are encoded and handed to the socket in one flush; fewer than 16 large commands may
   * be up to 16 times as much.
   * @unit bytes
   * @default 262144
   */
  highWaterBytes?: number | undefined;
  /**
   * When commands are written. `"adaptive"`: the first one at once when nothing is on its way, further ones
   * during a long run of the caller's code whenever another write costs little, all others together at its end,
   * so that client and server work at the same time. `"turn"`: only at its end, in the fewest writes.
   * @default "adaptive"
   */
  flushPolicy?: "adaptive" | "turn" | undefined;

  // --- Caching

  /**
   * Keeps the answers of reads in this process until the server says that a key has changed: `true`, or settings.
   * Needs protocol 3. Off by default. See docs/caching.md.
   */
  cache?: boolean | CacheOptions | undefined;

  // --- Commands

  /**
   * Put before every key. A Buffer works as well.
   * @default ""
   */
  keyPrefix?: string | undefined;
  /**
   * Refuses `undefined`, `null`, `NaN`, plain objects and promises as arguments with code
   * `INVALID_ARGUMENT`, which names the position, instead of sending them as `""`, `NaN` or
   * `[object Object]`. Off by default.
   */
  strictArguments?: boolean | undefined;
  /** Stacks of errors of commands have the frames of the call. Costs the capture of a stack per command. */
  showFriendlyErrorStack?: boolean | undefined;
  /**
   * Collects the commands of a turn of the event loop into one pipeline. An object sets its window.
   * @default false
   */
  enableAutoPipelining?: boolean | AutoPipeliningWindow | undefined;
  /**
   * Commands that never join an automatic pipeline, in any letter case.
   * @default []
   */
  autoPipeliningIgnoredCommands?: string[] | undefined;
  /** Lua scripts that become methods, as `defineCommand` does it. */
  scripts?: Record<string, ScriptDefinition> | undefined;
  /** Field lists that each connection prepares for HIMPORT SET (Redis 8.10 and later; experimental). */
  himportFieldsets?: readonly HimportFieldset[] | undefined;

  // --- Internal or without effect

  /** Makes the connection enter MONITOR on `ready`; use `redis.monitor()`. */
  monitor?: boolean | undefined;
  /** @deprecated Has no effect. */
  offlineQueue?: boolean | undefined;
  /** @deprecated Has no effect. */
  commandQueue?: boolean | undefined;
}
