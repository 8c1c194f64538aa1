/**
 * The interface of a client for a Sentinel connection. The client layer creates it, because it knows how to
 * connect; this folder provides the options.
 */

import { socketOptionsOf } from "../link/socket-options";
import type { SentinelAddress } from "./sentinel-list";
import type { SentinelOptions } from "./sentinel-options";

export interface SentinelClient {
  sentinel(...args: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
  disconnect(): void;
}

export type SentinelClientOptions = ReturnType<typeof sentinelClientOptions>;
export type SentinelClientFactory = (options: SentinelClientOptions) => SentinelClient;

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = 26379;

/**
 * The options of a connection to one Sentinel.
 * @param retryStrategy Null: the connection serves one request and does not reconnect.
 */
export function sentinelClientOptions(
  address: Partial<SentinelAddress>,
  options: SentinelOptions,
  retryStrategy: ((times: number) => unknown) | null,
) {
  const { connectTimeout } = options;
  // A Sentinel that completes the handshake and then stays silent must not block requests to the others. The
  // handshake has its own limit of one `connectTimeout`; subscriptions have no limit.
  const questionLimit = retryStrategy === null && connectTimeout ? 2 * connectTimeout : undefined;
  return {
    ...socketOptionsOf({ ...options, family: address.family ?? options.family, tls: options.sentinelTLS }),
    host: address.host || DEFAULT_HOST,
    port: Number(address.port || DEFAULT_PORT),
    username: options.sentinelUsername ?? null,
    password: options.sentinelPassword ?? null,
    credentials: options.sentinelCredentials,
    protocol: options.protocol === 2 ? (2 as const) : (3 as const),
    connectTimeout,
    disconnectTimeout: options.disconnectTimeout,
    commandTimeout: options.sentinelCommandTimeout ?? questionLimit,
    enableReadyCheck: false,
    maxRetriesPerRequest: null,
    retryStrategy,
  };
}

export function describeSentinel(address: Partial<SentinelAddress>): string {
  return `${address.host || DEFAULT_HOST}:${address.port || DEFAULT_PORT}`;
}
