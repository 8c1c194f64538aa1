/**
 * Where a node is: host and port, and the name under which it proves itself when TLS is used.
 * Reads addresses that servers send. What cannot be an address is refused here, before a name
 * or a port from the wire reaches a socket or a table.
 */

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  /** Name that the node announces besides its address; the server name of TLS. */
  readonly serverName?: string | undefined;
  /** Availability zone, where the server tells it. */
  readonly zone?: string | undefined;
}

/** Longest host name (RFC 1035). */
const MAX_HOST_LENGTH = 255;
/** Letters of host names and of IPv4 and IPv6 addresses, with a zone index. */
const HOST = /^[A-Za-z0-9._:%-]+$/;
/** What a server says when it was told to announce a host name and has none. */
const NO_NAME = "?";

/** `host:port`, the name of a node. IPv6 hosts stand without brackets. */
export function nodeKey({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

export function isHost(host: unknown): host is string {
  return typeof host === "string" && host.length <= MAX_HOST_LENGTH && HOST.test(host);
}

/** The number of a port, or null for what is none. */
export function parsePort(port: unknown): number | null {
  if (typeof port === "string" && !/^\d{1,5}$/.test(port)) return null;
  const number = Number(port);
  return Number.isInteger(number) && number > 0 && number <= 65_535 ? number : null;
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
