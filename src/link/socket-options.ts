/**
 * The options of a socket. Connections to servers and Sentinels and side connections take them from
 * `socketOptionsOf`, so that an option applies to all of them.
 */

import type { ConnectionOptions as TlsOptions } from "node:tls";
import { OptionError } from "../errors";

/** Settings of `tls.connect()`, or a function that the client calls for each new socket. */
export type TlsSource = TlsOptions | (() => TlsOptions);

export interface SocketOptions {
  readonly family?: number | undefined;
  readonly localAddress?: string | undefined;
  /** `true`: TLS with the default settings. */
  readonly tls?: TlsSource | boolean | null | undefined;
}

/** All options of a socket except the address. */
export function socketOptionsOf({ family, localAddress, tls }: SocketOptions): SocketOptions {
  return { family, localAddress, tls };
}

/** The same TLS settings with a server name, unless they have one. */
export function withServerName(
  tls: SocketOptions["tls"],
  servername: string | undefined,
): SocketOptions["tls"] {
  if (!tls) return tls;
  if (typeof tls === "function") return () => ({ servername, ...tls() });
  return { servername, ...(tls === true ? {} : tls) };
}

/** The TLS settings for a new socket, or null without TLS. Throws the error of the user's function. */
export function tlsSettings({ tls }: SocketOptions): TlsOptions | null {
  if (!tls) return null;
  if (tls === true) return {};
  if (typeof tls !== "function") return tls;
  const settings: unknown = tls();
  if (typeof settings === "object" && settings !== null && !("then" in settings)) return settings;
  throw new OptionError(
    "The function of the option tls must return settings of tls.connect(), not a promise",
  );
}
