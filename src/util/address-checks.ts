/**
 * A host or a port that a server or a sentinel names is looked at here before it reaches a socket, a
 * resolver or a message. Knows nothing of nodes.
 */

/** Longest host name (RFC 1035). */
const MAX_HOST_LENGTH = 255;
/** Letters of host names and of IPv4 and IPv6 addresses, with a zone index. */
const HOST = /^[A-Za-z0-9._:%-]+$/;
const HIGHEST_PORT = 65_535;

export function isHost(host: unknown): host is string {
  return typeof host === "string" && host.length <= MAX_HOST_LENGTH && HOST.test(host);
}

/** The number that a server means: a number, or digits. Null for all else, so that nothing is guessed. */
export function parseWhole(value: unknown): number | null {
  if (typeof value === "string") return /^\d{1,5}$/.test(value) ? Number(value) : null;
  if (typeof value === "bigint") return parseWhole(String(value));
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}

/** The number of a port, or null for what is none. */
export function parsePort(port: unknown): number | null {
  const number = parseWhole(port);
  return number !== null && number > 0 && number <= HIGHEST_PORT ? number : null;
}
