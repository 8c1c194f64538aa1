/**
 * Parses the string forms of a server's address: URL, `host:port`, port, path of a unix socket. It only splits
 * the text; resolve-options.ts turns the parts into options. Errors never contain the original text, because it
 * may include a password.
 */

import { isIPv6 } from "node:net";
import { InvalidUrlError, OptionError } from "../../errors";
import { redactUrl } from "../../observability/redact";

/** The parts of an address; all are strings except `family`. Items of the query are added to them. */
export interface UrlParts {
  host?: string;
  port?: string;
  username?: string;
  password?: string;
  db?: string;
  path?: string;
  family?: number;
  [item: string]: string | number | undefined;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const SOCKET_PATH = /^(?:\/(?!\/)|\.\.?\/)/;
/** ioredis also reads `unix:/path`. */
const UNIX = /^(?:redis\+)?unix:(?:\/\/|(?=\/))/i;
export const WHOLE_NUMBER = /^\s*[+-]?\d+\s*$/;

const SERVER_SCHEMES = new Set(["redis", "rediss", "valkey", "valkeys"]);
const TLS_SCHEMES = new Set(["rediss", "valkeys"]);

export function isTlsUrl(text: string): boolean {
  return TLS_SCHEMES.has(schemeOf(text) ?? "");
}

/**
 * @example
 * parseUrl("redis://user:secret@localhost:6380/2?family=4");
 * // { username: "user", password: "secret", host: "localhost", port: "6380", db: "2", family: 4 }
 */
export function parseUrl(input: string): UrlParts {
  const text = input.trim();
  if (text === "") return {};
  if (WHOLE_NUMBER.test(text)) return { port: text };
  if (SOCKET_PATH.test(text)) return parseSocketPath(text);
  if (UNIX.test(text)) return parseSocketPath(decode(text.replace(UNIX, "")));
  if (isIPv6(text)) return { host: text };
  if (text.startsWith("//")) return parseServerUrl(`redis:${text}`);
  const scheme = schemeOf(text);
  if (scheme === null) return parseServerUrl(`redis://${text}`);
  if (SERVER_SCHEMES.has(scheme)) return parseServerUrl(text);
  throw new OptionError(`Unsupported scheme "${scheme}:" (use redis:, rediss: or unix:)`);
}

function schemeOf(text: string): string | null {
  return SCHEME.exec(text.trim())?.[1]?.toLowerCase() ?? null;
}

function parseSocketPath(text: string): UrlParts {
  const question = text.indexOf("?");
  if (question < 0) return { path: text };
  const parts: UrlParts = { path: text.slice(0, question) };
  addQuery(parts, new URLSearchParams(text.slice(question)));
  return parts;
}

function parseServerUrl(text: string): UrlParts {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new InvalidUrlError(redactUrl(text));
  }
  const parts: UrlParts = {};
  addUserInfo(parts, text);
  const db = url.pathname.split("/", 2)[1];
  if (db) parts.db = decode(db);
  const host = decode(url.hostname);
  if (host !== "") parts.host = host.startsWith("[") ? host.slice(1, -1) : host;
  if (url.port !== "") parts.port = url.port;
  addQuery(parts, url.searchParams);
  return parts;
}

// Parsed from the text, not from the URL object, which percent-encodes some characters and not others: a
// password with a lone "%" would be indistinguishable from an encoded one.
function addUserInfo(parts: UrlParts, text: string): void {
  const authority = text.slice(text.indexOf("//") + 2).split(/[/?#]/, 1)[0] ?? "";
  const at = authority.lastIndexOf("@");
  if (at <= 0) return;
  const userInfo = authority.slice(0, at);
  const colon = userInfo.indexOf(":");
  parts.username = decode(colon < 0 ? userInfo : userInfo.slice(0, colon));
  parts.password = colon < 0 ? "" : decode(userInfo.slice(colon + 1));
}

/** Authority and path take precedence over the query. */
function addQuery(parts: UrlParts, query: URLSearchParams): void {
  const items = new Map(query);
  for (const [name, value] of items) {
    if (name === "__proto__" || Object.hasOwn(parts, name)) continue;
    if (name === "family") parts.family = Number.parseInt(value, 10);
    else parts[name] = value;
  }
}

/** Decodes percent-encoding; text with invalid encoding is returned unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
