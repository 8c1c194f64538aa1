/** Options of `Redis` and their defaults. Groups that other clients share are in common-options.ts and sentinel-options.ts. */

import { DEFAULT_LOADING_RETRY_MS } from "../../connection/handshake";
import type { FailoverSettings } from "../../failover/databases";
import type { AbstractConnector } from "../../link/connector";
import { LINK_DEFAULTS } from "../../link/link-defaults";
import type { WatchdogOptions } from "../../link/link-options";
import type { TlsSource } from "../../link/socket-options";
import type { ReplicaReadOptions } from "../../replicas/replica-options";
import {
  type SentinelConnectionOptions,
  sentinelMaxConnections,
  sentinelReconnectStrategy,
  sentinelRetryStrategy,
} from "../../sentinel/sentinel-options";
import type { SharedOptions } from "./common-options";

export interface StandaloneConnectionOptions {
  /**
   * TCP port.
   * @default 6379
   */
  port?: number | undefined;
  /**
   * Host name or address.
   * @default "localhost"
   */
  host?: string | undefined;
  /**
   * Address family: 4, 6, or 0 for any.
   * @default 0
   */
  family?: number | undefined;
  /** Path of a unix socket, instead of host and port. */
  path?: string | undefined;
  /** Local IP address of the sockets, for hosts with several addresses. */
  localAddress?: string | undefined;
  /**
   * Uses TLS with these settings of `tls.connect()`; `{}` uses the defaults. The client calls a function for each new
   * socket, so certificates and keys can change while the program runs.
   */
  tls?: TlsSource | undefined;
  /**
   * Time after `disconnect()` for the server to close the half-closed socket. The client then destroys it.
   * @unit ms
   * @default 2000
   */
  disconnectTimeout?: number | undefined;
}

/** A class that opens connections in its own way. */
export type ConnectorConstructor = new (options: RedisOptions) => AbstractConnector;

export interface CommonRedisOptions extends SharedOptions {
  /** Class that opens the connections, created with the options of the client. */
  Connector?: ConnectorConstructor | undefined;
}

export interface FailoverOption {
  /**
   * Several databases with the same data, `{ databases, probe, failback }`. The client uses the healthy database with
   * the greatest weight. `new Redis.Failover(databases, options)` sets it. See docs/failover.md.
   */
  failover?: FailoverSettings | undefined;
}

export type RedisOptions = CommonRedisOptions &
  SentinelConnectionOptions &
  StandaloneConnectionOptions &
  ReplicaReadOptions &
  FailoverOption;

/** Options with their defaults; some of them are null. */
export type Defaults = { readonly [Name in keyof RedisOptions]: RedisOptions[Name] | null };

/** A silent server is probed sooner if another server can take over: a node of a cluster, a replica. */
export const NODE_WATCHDOG: Readonly<Required<WatchdogOptions>> = Object.freeze({
  idleMs: 2000,
  probeTimeoutMs: 1000,
});
export const DEFAULT_BLOCKING_GRACE_MS = 100;

const retryStrategy = (times: number): number =>
  Math.min(50 * 2 ** (times - 1), 5000) + Math.floor(Math.random() * 200);

/** The defaults without live options. The objects of one literal share a hidden class, unlike copies made key by key. */
export const freshDefaults = (): Defaults => ({
  port: LINK_DEFAULTS.port,
  host: "localhost",
  family: 0,
  connectTimeout: 10_000,
  disconnectTimeout: LINK_DEFAULTS.disconnectTimeout,
  retryStrategy,
  keepAlive: 30_000,
  noDelay: true,
  connectionName: null,
  disableClientInfo: false,
  clientInfoTag: undefined,
  sentinels: null,
  name: null,
  role: LINK_DEFAULTS.role,
  sentinelRetryStrategy,
  sentinelReconnectStrategy,
  natMap: null,
  enableTLSForSentinelMode: false,
  updateSentinels: true,
  failoverDetector: undefined,
  sentinelMaxConnections,
  username: null,
  password: null,
  db: 0,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  autoResubscribe: true,
  autoResendUnfulfilledCommands: true,
  retryPolicy: LINK_DEFAULTS.retryPolicy,
  maxLossesPerCommand: LINK_DEFAULTS.maxLossesPerCommand,
  lazyConnect: false,
  keyPrefix: "",
  reconnectOnError: null,
  readOnly: false,
  stringNumbers: false,
  protocol: 3,
  replyMapping: LINK_DEFAULTS.replyMapping,
  maxRetriesPerRequest: 20,
  maxLoadingRetryTime: DEFAULT_LOADING_RETRY_MS,
  blockingTimeoutGrace: DEFAULT_BLOCKING_GRACE_MS,
  blockingConnections: 0,
  watchdog: LINK_DEFAULTS.watchdog,
  maintenance: "auto",
  highWaterBytes: LINK_DEFAULTS.highWaterBytes,
  flushPolicy: LINK_DEFAULTS.flushPolicy,
  himportFieldsets: undefined,
});

/** The values without an option or a URL. */
export const defaultOptions: Defaults = {
  ...freshDefaults(),
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
};
