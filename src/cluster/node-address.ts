/**
 * The address of a node: host and port, and the name for TLS verification. Parses addresses from servers, and
 * rejects invalid ones before a name or port from the wire reaches a socket or a table.
 */

import { isHost, parsePort } from "../util/address-checks";

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  /** The name that the node announces besides its address; used as TLS server name. */
  readonly serverName?: string | undefined;
  /** The availability zone, if the server reports it. */
  readonly zone?: string | undefined;
}

/** Sent by a server that must announce a host name and has none. */
export const NO_NAME = "?";

/** `host:port`, the name of a node. IPv6 hosts have no brackets. */
export function nodeKey({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

/**
 * Parses `host:port` of a redirect. An empty host means the host of the sender. Returns null for an invalid
 * address.
 */
export function parseAddress(text: string, sender: NodeAddress): NodeAddress | null {
  const colon = text.lastIndexOf(":");
  if (colon < 0) return null;
  const port = parsePort(text.slice(colon + 1));
  const host = hostOr(text.slice(0, colon), sender);
  return port === null || host === null ? null : { host, port };
}

/** The host that a server named; the sender's if it named none; null if it is invalid. */
export function hostOr(host: unknown, sender: NodeAddress): string | null {
  if (host === null || host === "" || host === undefined) return sender.host;
  const plain = typeof host === "string" ? host.replace(/^\[(.*)\]$/, "$1") : host;
  return plain !== NO_NAME && isHost(plain) ? plain : null;
}
