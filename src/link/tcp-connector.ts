/** Connects to one server over TCP, TLS or a unix socket. */

import * as net from "node:net";
import type { Duplex } from "node:stream";
import { ConnectionClosedError } from "../errors";
import { readsInPlace } from "../util/runtime";
import { withOwnTicks } from "../util/scheduling";
import { toError } from "../util/user-code";
import { AbstractConnector, type ErrorEmitter, type ReadHooks } from "./connector";
import { type SocketOptions, tlsSettings } from "./socket-options";
import { connectTls } from "./tls-sessions";

export interface TcpConnectorOptions extends SocketOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined | null;
  readonly disconnectTimeout?: number | undefined;
}

export class TcpConnector extends AbstractConnector {
  constructor(private readonly options: TcpConnectorOptions) {
    super(options.disconnectTimeout);
  }

  override async connect(_emitError: ErrorEmitter, hooks?: ReadHooks): Promise<Duplex> {
    this.connecting = true;
    // One tick later, so that disconnect() in the same task finds no socket to close.
    await null;
    if (!this.connecting) throw new ConnectionClosedError();
    this.stream = openSocket(this.options, hooks);
    return this.stream;
  }
}

/** Opens a TCP, TLS or unix socket; returns it while it is still connecting. */
export function openSocket(options: TcpConnectorOptions, hooks?: ReadHooks): Duplex {
  const { host, port, path, family, localAddress, tls } = options;
  const target: Record<string, unknown> = path ? { path } : { host, port, family };
  if (!path && localAddress) target["localAddress"] = localAddress;
  // Otherwise the connection uses `data` events.
  if (hooks !== undefined && readsInPlace) target["onread"] = hooks;
  try {
    const settings = tlsSettings(options);
    // Programs replace `createConnection`, so it is looked up for each socket.
    const connect = (): net.Socket =>
      settings === null
        ? net.createConnection(target as object as net.NetConnectOpts)
        : connectTls(target, settings);
    return watched(withOwnTicks(connect));
  } catch (error) {
    if (typeof tls !== "function") throw error;
    // The user's function failed, or returned a bad key. The next attempt calls it again.
    return watched(new net.Socket().destroy(toError(error)));
  }
}

/** A socket can fail before its connection listens to it: the connection then asks the socket for the error. */
function watched(socket: net.Socket): net.Socket {
  return refusingItself(socket).once("error", () => {});
}

/**
 * If no process listens on a local port, TCP may connect a socket to itself when it gets the same port as its
 * local one: each command would then be its own reply.
 */
export function refusingItself(socket: net.Socket): net.Socket {
  return socket.once("connect", () => {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    if (localPort === undefined || localPort !== remotePort || localAddress !== remoteAddress) return;
    const refusal = { code: "ECONNREFUSED", syscall: "connect", address: remoteAddress, port: remotePort };
    const message = `connect ECONNREFUSED ${remoteAddress}:${remotePort} (the socket had reached itself)`;
    socket.destroy(Object.assign(new Error(message), refusal));
  });
}
