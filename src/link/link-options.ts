/**
 * The client's options that a link reads. It reads them on demand and keeps no copy, because applications
 * change some (`connectionName`) between connections.
 */

import type { Command } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import type { ConnectionOptions } from "../connection/connection";
import type { ConnectionCounts } from "../connection/connection-counts";
import type { WriteListener } from "../connection/flush-encoder";
import type { MessageListener } from "../connection/push-router";
import type { SubscriptionGap } from "../connection/subscriptions";
import type { FlushPolicy } from "../connection/writer";
import type { IdentitySource } from "./establishment";
import type { LinkStatus } from "./link-state";
import type { ReconnectionOptions } from "./reconnection";
import type { SocketOptions } from "./socket-options";

/** When a silent connection is probed. */
export interface WatchdogOptions {
  /** The silence after which the server is asked on a second connection. Default 5000 ms. */
  readonly idleMs?: number | undefined;
  /** The time limit for its answer on that connection. Default 2000 ms. */
  readonly probeTimeoutMs?: number | undefined;
}

export interface LinkOptions extends ReconnectionOptions, SocketOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | null | undefined;
  readonly db?: number | undefined;
  readonly replyMapping?: "legacy" | "resp3" | undefined;
  readonly stringNumbers?: boolean | undefined;
  /** The role of the wanted server in a Sentinel group. */
  readonly role?: "master" | "slave" | undefined;
  readonly monitor?: boolean | undefined;
  readonly keepAlive?: number | undefined;
  readonly noDelay?: boolean | undefined;
  readonly socketTimeout?: number | undefined;
  readonly disconnectTimeout?: number | undefined;
  readonly enableOfflineQueue?: boolean | undefined;
  readonly autoResubscribe?: boolean | undefined;
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  readonly retryPolicy?: RetryPolicy | undefined;
  readonly maxLossesPerCommand?: number | undefined;
  /** A custom connector: only it knows how to reach the server. */
  readonly Connector?: unknown;
  readonly watchdog?: WatchdogOptions | false | null | undefined;
  readonly highWaterBytes?: number | undefined;
  readonly flushPolicy?: FlushPolicy | undefined;
  readonly reconnectOnError?: ((error: Error) => unknown) | null | undefined;
}

/** Receives the events of a link. */
export interface LinkListener {
  onStatus(status: LinkStatus, argument: unknown): void;
  onNamedError(type: string, error: Error): void;
  /** The database of the next command has changed. */
  onSelect(db: number): void;
  /** All subscriptions are restored after a lost connection: messages of that period are lost. */
  onGap(gap: SubscriptionGap): void;
}

/** Sends commands elsewhere that outlive their link. */
export interface Takeover {
  takesOver(command: Command): boolean;
  /** Every one of them may be sent again. */
  takeOver(commands: readonly Command[], error: Error): void;
  /** The same commands in order, to be sent again here: each partly answered transaction is complete again. */
  madeWhole(commands: readonly Command[]): readonly Command[];
}

/** The collaborators of a link. Each one is passed to the part that needs it. */
export interface LinkDeps extends IdentitySource {
  readonly listener: LinkListener;
  readonly messages: MessageListener | null;
  readonly tracer: WriteListener | null;
  /** Shared by all links of a client. */
  readonly counts: ConnectionCounts;
  /**
   * An error reply that was handled neither as a script nor by `reconnectOnError`. Returns true when the
   * command was taken over (redirects of a cluster); otherwise it fails with the error.
   */
  redirects(command: Command, error: Error): boolean;
  /** Takes over commands when this link ends, for another link. */
  readonly takeover: Takeover | null;
}

/** The size of one flush; see docs/decisions on how it was measured. */
const DEFAULT_HIGH_WATER_BYTES = 256 * 1024;

/** The collaborators with some replaced. */
export function withOthers(deps: LinkDeps, others: Partial<LinkDeps>): LinkDeps {
  const { identity, listener, messages, tracer, counts } = deps;
  const credentials: LinkDeps["credentials"] = (reason) => deps.credentials(reason);
  const redirects: LinkDeps["redirects"] = (command, error) => deps.redirects(command, error);
  return {
    identity,
    listener,
    messages,
    tracer,
    counts,
    // The cluster may set it after the link was created.
    get takeover() {
      return deps.takeover;
    },
    credentials,
    redirects,
    ...others,
  };
}

export function connectionOptions(options: LinkOptions): ConnectionOptions {
  return {
    highWaterBytes: options.highWaterBytes ?? DEFAULT_HIGH_WATER_BYTES,
    disconnectTimeoutMs: options.disconnectTimeout ?? 2000,
    flushPolicy: options.flushPolicy ?? "adaptive",
    replyMapping: options.replyMapping ?? "legacy",
    stringNumbers: options.stringNumbers ?? false,
    socketTimeoutMs: options.socketTimeout ?? 0,
  };
}

export function retryPolicyOf(options: LinkOptions): RetryPolicy {
  if (options.autoResendUnfulfilledCommands === false) return "at-most-once";
  return options.retryPolicy ?? "at-least-once";
}

/** `host:port` or the path of the unix socket. */
export function serverOf(options: LinkOptions): string {
  return options.path ? String(options.path) : `${options.host}:${options.port}`;
}
