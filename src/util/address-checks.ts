/** Validates hosts and ports from servers and Sentinels before they reach a socket, a resolver or a message. */

/** RFC 1035. */
const MAX_HOST_LENGTH = 255;
/** Characters of host names and of IPv4 and IPv6 addresses, with a zone index. */
const HOST = /^[A-Za-z0-9._:%-]+$/;
const HIGHEST_PORT = 65_535;

export function isHost(host: unknown): host is string {
  return typeof host === "string" && host.length <= MAX_HOST_LENGTH && HOST.test(host);
}

/** The whole number of a numeric value or a string of digits; null for all other values. */
export function parseWhole(value: unknown): number | null {
  if (typeof value === "string") return /^\d{1,5}$/.test(value) ? Number(value) : null;
  if (typeof value === "bigint") return parseWhole(String(value));
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : null;
}

export function parsePort(port: unknown): number | null {
  const number = parseWhole(port);
  return number !== null && number > 0 && number <= HIGHEST_PORT ? number : null;
}
