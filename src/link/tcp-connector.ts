/** Reaches one server by TCP, TLS or unix socket. */

import { type NetConnectOpts, connect as netConnect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import { ConnectionClosedError } from "../errors";
import { readsInPlace } from "../util/runtime";
import { withOwnTicks } from "../util/scheduling";
import { AbstractConnector, type ErrorEmitter, type ReadHooks } from "./connector";
import { connectTls } from "./tls-sessions";

export interface TcpConnectorOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly family?: number | undefined;
  readonly path?: string | undefined | null;
  readonly tls?: TlsOptions | boolean | null | undefined;
  readonly disconnectTimeout?: number | undefined;
}

export class TcpConnector extends AbstractConnector {
  constructor(private readonly options: TcpConnectorOptions) {
    super(options.disconnectTimeout);
  }

  override async connect(_emitError: ErrorEmitter, hooks?: ReadHooks): Promise<Duplex> {
    this.connecting = true;
    // One tick later, so that disconnect() in the same run finds no socket to close.
    await null;
    if (!this.connecting) throw new ConnectionClosedError();
    this.stream = openSocket(this.options, hooks);
    return this.stream;
  }
}

/** Opens a TCP, TLS or unix socket; returns it while it is still connecting. */
export function openSocket(options: TcpConnectorOptions, hooks?: ReadHooks): Duplex {
  const { path, tls } = options;
  const target: Record<string, unknown> = path
    ? { path }
    : { host: options.host, port: options.port, family: options.family };
  // Otherwise the connection takes `data` events.
  if (hooks !== undefined && readsInPlace) target["onread"] = hooks;
  if (!tls) return refusingItself(withOwnTicks(() => netConnect(target as unknown as NetConnectOpts)));
  return refusingItself(withOwnTicks(() => connectTls(target, tls === true ? {} : tls)));
}

/**
 * Where nobody listens on a local port, TCP may connect a socket to itself, if it was given that
 * very port for its own end: then each command would be answered by its own words.
 */
export function refusingItself(socket: Socket): Socket {
  return socket.once("connect", () => {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    if (localPort === undefined || localPort !== remotePort || localAddress !== remoteAddress) return;
    const refusal = { code: "ECONNREFUSED", syscall: "connect", address: remoteAddress, port: remotePort };
    const message = `connect ECONNREFUSED ${remoteAddress}:${remotePort} (the socket had reached itself)`;
    socket.destroy(Object.assign(new Error(message), refusal));
  });
}
