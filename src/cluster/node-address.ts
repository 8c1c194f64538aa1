/**
 * Where a node is: host and port, and the name under which it proves itself when TLS is used.
 * Reads addresses that servers send. What cannot be an address is refused here, before a name
 * or a port from the wire reaches a socket or a table.
 */

import { isHost, parsePort } from "../util/address-checks";

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  /** Name that the node announces besides its address; the server name of TLS. */
  readonly serverName?: string | undefined;
  /** Availability zone, where the server tells it. */
  readonly zone?: string | undefined;
}

/** The answer of a server that was told to announce a host name and has none. */
export const NO_NAME = "?";

/** `host:port`, the name of a node. IPv6 hosts stand without brackets. */
export function nodeKey({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

/**
 * Reads `host:port` of a redirect. An empty host means the host of the node that sent it.
 * Null for what is no address.
 */
export function parseAddress(text: string, sender: NodeAddress): NodeAddress | null {
  const colon = text.lastIndexOf(":");
  if (colon < 0) return null;
  const port = parsePort(text.slice(colon + 1));
  const host = hostOr(text.slice(0, colon), sender);
  return port === null || host === null ? null : { host, port };
}

/** The host that a server named, that of the sender where it named none, null for what is no host. */
export function hostOr(host: unknown, sender: NodeAddress): string | null {
  if (host === null || host === "" || host === undefined) return sender.host;
  const plain = typeof host === "string" ? host.replace(/^\[(.*)\]$/, "$1") : host;
  return plain !== NO_NAME && isHost(plain) ? plain : null;
}
