/**
 * The interface of a client for a Sentinel connection. The client layer creates it, because it knows how to
 * connect; this folder provides the options.
 */

import type { CredentialsProvider } from "../link/credential-provider";
import { type SocketOptions, socketOptionsOf } from "../link/socket-options";
import type { SentinelAddress } from "./sentinel-list";
import type { SentinelOptions } from "./sentinel-options";

export interface SentinelClient {
  sentinel(...args: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
  disconnect(): void;
}

export interface SentinelClientOptions extends SocketOptions {
  host: string;
  port: number;
  username: string | null;
  password: string | null;
  credentials: CredentialsProvider | undefined;
  protocol: 2 | 3;
  connectTimeout: number | undefined;
  disconnectTimeout: number | undefined;
  commandTimeout: number | undefined;
  enableReadyCheck: false;
  maxRetriesPerRequest: null;
  /** `null`: the connection serves one question and does not reconnect. */
  retryStrategy: ((times: number) => unknown) | null;
}

export type SentinelClientFactory = (options: SentinelClientOptions) => SentinelClient;

const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = 26379;

/** The options of a connection to one sentinel. */
export function sentinelClientOptions(
  address: Partial<SentinelAddress>,
  options: SentinelOptions,
  retryStrategy: SentinelClientOptions["retryStrategy"],
): SentinelClientOptions {
  return {
    ...socketOptionsOf({ ...options, family: address.family ?? options.family, tls: options.sentinelTLS }),
    host: address.host || DEFAULT_HOST,
    port: Number(address.port || DEFAULT_PORT),
    username: options.sentinelUsername ?? null,
    password: options.sentinelPassword ?? null,
    credentials: options.sentinelCredentials,
    protocol: options.protocol === 2 ? 2 : 3,
    connectTimeout: options.connectTimeout,
    disconnectTimeout: options.disconnectTimeout,
    commandTimeout: options.sentinelCommandTimeout ?? questionLimit(options, retryStrategy),
    enableReadyCheck: false,
    maxRetriesPerRequest: null,
    retryStrategy,
  };
}

/**
 * A Sentinel that completes the handshake and then stays silent must not block questions to the others. The
 * handshake has its own limit of one `connectTimeout`; subscriptions have no limit.
 */
function questionLimit(
  { connectTimeout }: SentinelOptions,
  retryStrategy: SentinelClientOptions["retryStrategy"],
): number | undefined {
  return retryStrategy === null && connectTimeout ? 2 * connectTimeout : undefined;
}

/** `host:port` of a sentinel, for messages. */
export function describeSentinel(address: Partial<SentinelAddress>): string {
  return `${address.host || DEFAULT_HOST}:${address.port || DEFAULT_PORT}`;
}
