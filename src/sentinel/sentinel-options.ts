/** The client's options that this folder reads, and their defaults; their documentation is in `client/options`. */

import type { CredentialsProvider } from "../link/credential-provider";
import type { SocketOptions } from "../link/socket-options";
import type { AddressMap } from "../util/address-map";
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

export interface SentinelOptions extends SocketOptions {
  readonly sentinels?: readonly Partial<SentinelAddress>[] | null | undefined;
  readonly name?: string | null | undefined;
  readonly role?: "master" | "slave" | undefined;
  readonly preferredSlaves?: PreferredReplicas | undefined;
  readonly sentinelUsername?: string | null | undefined;
  readonly sentinelPassword?: string | null | undefined;
  readonly sentinelCredentials?: CredentialsProvider | undefined;
  readonly sentinelTLS?: SocketOptions["tls"];
  readonly sentinelRetryStrategy?: ((attempts: number) => unknown) | null | undefined;
  readonly sentinelReconnectStrategy?: ((attempts: number) => unknown) | null | undefined;
  readonly sentinelCommandTimeout?: number | undefined;
  readonly sentinelMaxConnections?: number | undefined;
  readonly enableTLSForSentinelMode?: boolean | undefined;
  readonly updateSentinels?: boolean | undefined;
  readonly failoverDetector?: boolean | undefined;
  readonly natMap?: AddressMap;
  readonly protocol?: number | undefined;
  readonly connectTimeout?: number | undefined;
  readonly disconnectTimeout?: number | undefined;
}

// The defaults, also for connectors of users that leave an option out.

export const sentinelRetryStrategy = (attempts: number): number => Math.min(attempts * 10, 1000);
export const sentinelReconnectStrategy = (): number => 60_000;
export const sentinelMaxConnections = 10;
