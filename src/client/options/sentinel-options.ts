/**
 * Options of a client that finds its server through Sentinel: types only, described as in
 * common-options.ts.
 */

import type { ConnectionOptions as TlsOptions } from "node:tls";
import type { PreferredReplicas } from "../../sentinel/sentinel-options";
import type { RetryDelay } from "./common-options";

export interface SentinelAddress {
  host: string;
  port: number;
  family?: number | undefined;
}

/** Where an announced address is really reached: by `"host:port"`, as a table or a function. */
export type NatMap =
  | Record<string, { host: string; port: number }>
  | ((key: string) => { host: string; port: number } | null);

export interface SentinelConnectionOptions {
  /**
   * Addresses of the Sentinels; missing fields are 127.0.0.1 and 26379.
   * @default null
   */
  sentinels?: Partial<SentinelAddress>[] | undefined;
  /**
   * Name of the group of servers, as the Sentinels know it.
   * @default null
   */
  name?: string | undefined;
  /**
   * Which server of the group to use.
   * @default "master"
   */
  role?: "master" | "slave" | undefined;
  /** With `role: "slave"`: which replica to take. A function chooses; a list is tried by `prio`. */
  preferredSlaves?: PreferredReplicas | undefined;
  /** User name for the Sentinels themselves. */
  sentinelUsername?: string | undefined;
  /** Password for the Sentinels themselves. */
  sentinelPassword?: string | undefined;
  /** TLS settings for the connections to the Sentinels. */
  sentinelTLS?: TlsOptions | undefined;
  /**
   * Uses `tls` for the server that the Sentinels name.
   * @default false
   */
  enableTLSForSentinelMode?: boolean | undefined;
  /**
   * Called after all Sentinels failed, with the number of rounds. Returns the delay in milliseconds
   * before the next round; anything but a number gives up.
   * @default min(times * 10, 1000)
   */
  sentinelRetryStrategy?: ((retryAttempts: number) => RetryDelay) | null | undefined;
  /**
   * Delay in milliseconds before a lost connection of the failover detector is tried again.
   * @default 60000
   */
  sentinelReconnectStrategy?: ((retryAttempts: number) => RetryDelay) | undefined;
  /**
   * Time limit of each command to a Sentinel. When absent, a question for an address ends after
   * twice `connectTimeout`, so that a silent Sentinel does not keep the next one from being asked.
   * @unit ms
   */
  sentinelCommandTimeout?: number | undefined;
  /**
   * Most connections of the failover detector.
   * @default 10
   */
  sentinelMaxConnections?: number | undefined;
  /**
   * Learns of further Sentinels from those it asks.
   * @default true
   */
  updateSentinels?: boolean | undefined;
  /**
   * Listens to Sentinels and leaves the old master as soon as they announce a new one: `true` to up to
   * `sentinelMaxConnections` of them, `false` to none. By default to one, except with `role: "slave"`.
   */
  failoverDetector?: boolean | undefined;
  /**
   * Translates the addresses that the Sentinels announce.
   * @default null
   */
  natMap?: NatMap | undefined;
}
