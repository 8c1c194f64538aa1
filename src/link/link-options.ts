/**
 * The client's options that a link reads. It reads them on demand and keeps no copy, because applications
 * change some (`connectionName`) between connections.
 */

import type { Command } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import type { Connection, ConnectionDeps, ConnectionOptions } from "../connection/connection";
import type { ConnectionCounts } from "../connection/connection-counts";
import type { WriteListener } from "../connection/flush-encoder";
import type { HandshakeOptions } from "../connection/handshake";
import type { MessageListener } from "../connection/push-router";
import type { SubscriptionGap, SubscriptionKind } from "../connection/subscriptions";
import type { TimeoutDetails } from "../part-errors";
import type { CredentialSource } from "./credentials";
import { LINK_DEFAULTS } from "./link-defaults";
import type { LinkStatus } from "./link-state";
import type { SocketOptions } from "./socket-options";

/** Settings of the option `watchdog`. */
export interface WatchdogOptions {
  /** With a reply due: time without any byte after which the client asks the server on a second connection. Default 5000 ms. */
  readonly idleMs?: number | undefined;
  /** Time limit of this check. Default 2000 ms. */
  readonly probeTimeoutMs?: number | undefined;
}

export interface LinkOptions extends HandshakeOptions, ConnectionOptions, SocketOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | null | undefined;
  readonly db?: number | undefined;
  readonly keepAlive?: number | undefined;
  readonly noDelay?: boolean | undefined;
  readonly connectTimeout?: number | undefined;
  readonly retryStrategy?: ((times: number) => unknown) | null | undefined;
  readonly maxRetriesPerRequest?: number | null | undefined;
  /** The role of the wanted server in a Sentinel group. */
  readonly role?: "master" | "slave" | undefined;
  readonly monitor?: boolean | undefined;
  readonly enableOfflineQueue?: boolean | undefined;
  readonly autoResubscribe?: boolean | undefined;
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  readonly retryPolicy?: RetryPolicy | undefined;
  readonly maxLossesPerCommand?: number | undefined;
  /** A custom connector: only it knows how to reach the server. */
  readonly Connector?: unknown;
  readonly watchdog?: WatchdogOptions | false | null | undefined;
  readonly reconnectOnError?: ((error: Error) => unknown) | null | undefined;
}

export interface LinkListener {
  onStatus(status: LinkStatus, argument: unknown): void;
  onNamedError(type: string, error: Error): void;
  /** The database of the next command has changed. */
  onSelect(db: number): void;
  /** All subscriptions are restored after a lost connection: messages of that period are lost. */
  onGap(gap: SubscriptionGap): void;
  /** A name is no longer subscribed, because the server refuses it on a new connection. */
  onNameRefused(kind: SubscriptionKind, name: Buffer, error: Error): void;
}

/** Sends commands elsewhere that outlive their link. */
export interface Takeover {
  takesOver(command: Command): boolean;
  /** Every one of them may be sent again. */
  takeOver(commands: readonly Command[], error: Error): void;
  /** The same commands in order, to be sent again here: each partly answered transaction is complete again. */
  madeWhole(commands: readonly Command[]): readonly Command[];
}

/** Moves a link to another connection before the server closes the current one. */
export interface LinkMover {
  /** Commands wait until the connection is replaced. */
  readonly isHolding: boolean;
  /** Maintenance is in progress: time limits are extended. */
  readonly isRelaxed: boolean;
  /** Unanswered commands of replaced connections. */
  readonly unanswered: number;
  open(options: ConnectionOptions, deps: ConnectionDeps): Connection;
  /** The connection is ready, and no command was sent yet. */
  onEstablished(connection: Connection): void;
  /** The current connection is gone or about to close. */
  onLost(): void;
  /** The state of the link has changed: a planned change may be possible now. */
  look(): void;
  stop(): void;
}

/** The position of a command among those of its link, for the errors of time limits. */
export type QueuePosition = Pick<TimeoutDetails, "commandsAhead" | "bytesAhead" | "server">;

/** The collaborators of a link. Each one is passed to the part that needs it. */
export interface LinkDeps extends CredentialSource {
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

export function retryPolicyOf(options: LinkOptions): RetryPolicy {
  if (options.autoResendUnfulfilledCommands === false) return "at-most-once";
  return options.retryPolicy ?? LINK_DEFAULTS.retryPolicy;
}

/** The last text is cached, because the errors of one event are compared by it. */
let latest: Pick<LinkOptions, "path" | "host" | "port"> & { text: string } = { port: -1, text: "" };

/** `host:port` or the path of the unix socket. */
export function serverOf({ path, host, port }: LinkOptions): string {
  if (latest.path !== path || latest.host !== host || latest.port !== port)
    latest = { path, host, port, text: path ? String(path) : `${host}:${port}` };
  return latest.text;
}
