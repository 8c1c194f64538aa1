/**
 * A way to reach a server. One connector opens all connections of one link; custom ones are
 * given as the `Connector` option. The classes are part of the public interface.
 */

import type { Duplex } from "node:stream";
import { LINK_DEFAULTS } from "./link-defaults";

/** Read hooks that a connector may pass to `net.connect`: the socket then reads into the parser's buffer. */
export interface ReadHooks {
  buffer(): Uint8Array;
  callback(size: number): boolean;
}

export type ErrorEmitter = (type: string, error: Error) => void;

/**
 * Base class of connectors.
 *
 * @example
 * import { connect } from "node:net";
 * import Redis, { AbstractConnector } from "sluice";
 *
 * class Tunnel extends AbstractConnector {
 *   constructor(options) {
 *     super(options.disconnectTimeout);
 *     this.port = options.port;
 *   }
 *   async connect() {
 *     return connect(this.port, "localhost");
 *   }
 * }
 * const tunnelled = new Redis({ Connector: Tunnel });
 * await tunnelled.ping(); // "PONG"
 * await tunnelled.quit();
 */
export abstract class AbstractConnector {
  /** The first error of the current attempt; the reason for a rejected `connect()`. */
  firstError?: Error;
  protected connecting = false;
  protected stream: Duplex | undefined;

  constructor(
    /** The time in milliseconds that a half-closed socket has before it is destroyed. */
    readonly disconnectTimeout: number = LINK_DEFAULTS.disconnectTimeout,
  ) {}

  /** Opens a socket (it may still be connecting when the promise resolves). */
  abstract connect(emitError: ErrorEmitter, hooks?: ReadHooks): Promise<Duplex>;

  /** Cancels the current attempt. */
  disconnect(): void {
    this.connecting = false;
  }

  /** Whether the connected server is the right one, by its INFO reply. */
  check(_info: Record<string, string>): boolean {
    return true;
  }
}

/** Any server is right, so `check` does not need INFO. */
export function takesAnyServer(connector: AbstractConnector): boolean {
  return connector.check === AbstractConnector.prototype.check;
}
