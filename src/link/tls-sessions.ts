/**
 * TLS connections that resume the session of an earlier one to the same address, like https.Agent. A resumed
 * handshake contains no certificates, so Node does not check them again. A session is therefore used only by
 * connections with equal options, and thus equal trust. A failed connection forgets the session.
 */

import type { SecureContext, TLSSocket, ConnectionOptions as TlsOptions } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import { MOST_SERVERS } from "../util/bounds";

interface Remembered {
  readonly options: TlsOptions;
  /** Created once: reading certificates and keys costs more than the rest of the connection. */
  readonly context: SecureContext;
  session: Buffer | undefined;
}

const addresses = new Map<string, Remembered>();

/** @param target Host and port, or path, and further options of sockets. */
export function connectTls(target: Readonly<Record<string, unknown>>, options: TlsOptions): TLSSocket {
  // Loaded on first use: TLS is the slowest of Node's modules to load.
  const { connect } = require("node:tls") as typeof import("node:tls");
  const known = remembered(`${target["path"] ?? `${target["host"]}:${target["port"]}`}`, options);
  // TLS sockets keep their options, and `util.inspect` shows them: the context holds the secrets and shows none
  // of them.
  const { key, pfx, passphrase, ...others } = options;
  const socket = connect({
    ...target,
    session: known.session,
    ...others,
    secureContext: known.context,
  } as TlsOptions);
  let isOpen = false;
  socket.once("secureConnect", () => {
    isOpen = true;
  });
  socket.on("session", (session: Buffer) => {
    known.session = session;
  });
  socket.once("close", () => {
    if (!isOpen) known.session = undefined;
  });
  return socket;
}

function remembered(address: string, options: TlsOptions): Remembered {
  const known = addresses.get(address);
  const copy = copyOf(options);
  if (known !== undefined && isEqual(known.options, copy)) return known;
  const { createSecureContext } = require("node:tls") as typeof import("node:tls");
  const context = options.secureContext ?? createSecureContext(options);
  const fresh = { options: copy, context, session: undefined };
  addresses.delete(address);
  addresses.set(address, fresh);
  if (addresses.size > MOST_SERVERS) addresses.delete(addresses.keys().next().value as string);
  return fresh;
}

/** A program may change the options that a client keeps. */
function copyOf(options: TlsOptions): TlsOptions {
  const entries = Object.entries(options);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );
}

/** Contexts are equal only if they are the same, because their contents are not visible. */
function isEqual(some: TlsOptions, others: TlsOptions): boolean {
  return some.secureContext === others.secureContext && isDeepStrictEqual(some, others);
}
