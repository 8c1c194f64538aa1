/**
 * The client's options that a link reads. It reads them when it needs them and keeps no
 * copy, since applications change some (`connectionName`) between connections.
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

/** When a silent connection is doubted. */
export interface WatchdogOptions {
  /** Silence after which the server is asked on a second connection. Default 5000 ms. */
  readonly idleMs?: number | undefined;
  /** How long it has to answer there. Default 2000 ms. */
  readonly probeTimeoutMs?: number | undefined;
}

export interface LinkOptions extends ReconnectionOptions, SocketOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | null | undefined;
  readonly db?: number | undefined;
  readonly replyMapping?: "legacy" | "resp3" | undefined;
  readonly stringNumbers?: boolean | undefined;
  /** Which of a Sentinel group's servers is wanted. */
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
  /** A connector of the user's own: only it knows how the server is reached. */
  readonly Connector?: unknown;
  readonly watchdog?: WatchdogOptions | false | null | undefined;
  readonly highWaterBytes?: number | undefined;
  readonly flushPolicy?: FlushPolicy | undefined;
  readonly reconnectOnError?: ((error: Error) => unknown) | null | undefined;
}

/** Is told what happens to a link. */
export interface LinkListener {
  onStatus(status: LinkStatus, argument: unknown): void;
  onNamedError(type: string, error: Error): void;
  /** The database that the next command runs on has changed. */
  onSelect(db: number): void;
  /** All is subscribed again after a lost connection: messages of that time are missing. */
  onGap(gap: SubscriptionGap): void;
}

/** Sends commands elsewhere that outlive their link. */
export interface Takeover {
  takesOver(command: Command): boolean;
  /** Their fate lets all of them go again. */
  takeOver(commands: readonly Command[], error: Error): void;
  /** The same commands in order, to be sent again here: each transaction of which a part was answered is whole again. */
  madeWhole(commands: readonly Command[]): readonly Command[];
}

/** Those that a link works for. Each part goes to the place that needs it. */
export interface LinkDeps extends IdentitySource {
  readonly listener: LinkListener;
  readonly messages: MessageListener | null;
  readonly tracer: WriteListener | null;
  /** Shared by all links of a client. */
  readonly counts: ConnectionCounts;
  /**
   * An error reply that neither a script nor `reconnectOnError` took over. True when the command was
   * taken over (redirects of a cluster); otherwise it fails with the error.
   */
  redirects(command: Command, error: Error): boolean;
  /** Commands that go on over another link when this one ends. */
  readonly takeover: Takeover | null;
}

/** The size of one flush; see docs/decisions on how it was measured. */
const DEFAULT_HIGH_WATER_BYTES = 256 * 1024;

/** Those of a link, with some in the place of others. */
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
    // The cluster that a link is a part of may take it over after it was made.
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
