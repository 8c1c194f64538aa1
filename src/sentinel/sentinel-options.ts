/**
 * Options of a client that finds its server through Sentinel, and their defaults. They are described as in
 * client/options/common-options.ts.
 */

import type { CredentialsProvider } from "../link/credential-provider";
import type { RetryDelay } from "../link/reconnection";
import type { SocketOptions, TlsSource } from "../link/socket-options";
import type { NatMap } from "../util/address-map";
import type { SentinelAddress } from "./sentinel-list";

/** An entry of SENTINEL REPLICAS: all its fields, as strings. */
export interface ReplicaEntry {
  ip: string;
  port: string;
  flags?: string | undefined;
  [field: string]: string | undefined;
}

export interface PreferredReplica {
  ip: string;
  port: string | number;
  /** Lower is better; default 1. */
  prio?: number | undefined;
}

export type PreferredReplicas =
  | ((replicas: ReplicaEntry[]) => ReplicaEntry | null | undefined)
  | readonly PreferredReplica[]
  | PreferredReplica;

export interface NodeAddress {
  host: string;
  port: number;
}

export interface SentinelConnectionOptions {
  /**
   * Addresses of the Sentinels. The default host is 127.0.0.1, the default port 26379.
   * @default null
   */
  sentinels?: Partial<SentinelAddress>[] | undefined;
  /**
   * Name of the master, as configured in the Sentinels.
   * @default null
   */
  name?: string | undefined;
  /**
   * Connects to the master or to a replica.
   * @default "master"
   */
  role?: "master" | "slave" | undefined;
  /** With `role: "slave"`: the preferred replicas, a list in the order of `prio` or a function that chooses one. */
  preferredSlaves?: PreferredReplicas | undefined;
  /** User name for the Sentinels. */
  sentinelUsername?: string | undefined;
  /** Password for the Sentinels. */
  sentinelPassword?: string | undefined;
  /** Returns the credentials for the Sentinels, as the option `credentials` does for the servers. */
  sentinelCredentials?: CredentialsProvider | undefined;
  /** TLS settings for the connections to the Sentinels, or a function that returns them. */
  sentinelTLS?: TlsSource | undefined;
  /**
   * Uses `tls` for the server that the Sentinels report.
   * @default false
   */
  enableTLSForSentinelMode?: boolean | undefined;
  /**
   * Called when all Sentinels failed, with the number of rounds. Returns the delay in milliseconds before the next round. If
   * it returns no number, the client closes.
   * @default min(times * 10, 1000)
   */
  sentinelRetryStrategy?: ((retryAttempts: number) => RetryDelay) | null | undefined;
  /**
   * Delay in milliseconds before the failover detector reconnects to a Sentinel.
   * @default 60000
   */
  sentinelReconnectStrategy?: ((retryAttempts: number) => RetryDelay) | undefined;
  /**
   * Time limit of each command to a Sentinel. By default, a request for an address ends after twice `connectTimeout`,
   * and the client asks the next Sentinel.
   * @unit ms
   */
  sentinelCommandTimeout?: number | undefined;
  /**
   * Limit of the connections of the failover detector.
   * @default 10
   */
  sentinelMaxConnections?: number | undefined;
  /**
   * Adds the Sentinels that other Sentinels report to the list.
   * @default true
   */
  updateSentinels?: boolean | undefined;
  /**
   * Subscribes to the Sentinels and switches to a new master when they announce it. `true` subscribes to at most
   * `sentinelMaxConnections` Sentinels; `false` disables this. By default, the client subscribes to one Sentinel.
   * With `role: "slave"`, it does not subscribe.
   */
  failoverDetector?: boolean | undefined;
  /**
   * Translates the addresses that the Sentinels report.
   * @default null
   */
  natMap?: NatMap | undefined;
}

type Unchanged<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value;

/** The options that this folder reads. */
export type SentinelOptions = SocketOptions & {
  readonly [Name in keyof SentinelConnectionOptions]: Unchanged<SentinelConnectionOptions[Name]> | null;
} & {
  readonly protocol?: number | undefined;
  readonly connectTimeout?: number | undefined;
  readonly disconnectTimeout?: number | undefined;
};

// The defaults, also for connectors of users that leave an option out.

export const sentinelRetryStrategy = (attempts: number): number => Math.min(attempts * 10, 1000);
export const sentinelReconnectStrategy = (): number => 60_000;
export const sentinelMaxConnections = 10;
