/**
 * Decides which parts of a command, a URL or an options object may be shown. Values never appear in tracing
 * payloads, and credentials never appear in errors, debug output or `util.inspect`.
 */

import { type ErrorCommand, ReplyError } from "../errors";
import { LONGEST_SHOWN } from "../util/bounds";
import { type Argument, carriesCredentials, describeCommand, MASK, maskInText } from "../util/credentials";
import { headOf } from "../util/error-hint";
import { INSPECT, type InspectArguments } from "../util/inspect";

const HIDDEN = "?";
/** The number of arguments in the stack of an error. */
const MOST_IN_STACK = 4;

// The first match with the beginning of the name decides; the names are those that tracers of this API expect.
const SHOWN_FIRST = words("GETSET LPUSH MSET PFA PSETEX PUBLISH RPUSH SADD SET SPUBLISH XADD ZADD");
const SHOWN_FIRST_TWO = words("HSET HMSET LSET LINSERT");
const SHOWN_ALL = words(
  "ACL BIT BL BR BZ CLIENT CLUSTER CONFIG COMMAND DECR DEL EVAL EX FUNCTION GEO GET HINCR HMGET HSCAN " +
    "INCR LT LR LL LM MEMORY PE PF PI PS PT PU RPOP SC SD SI SM SO SR SS SU XACK XC XD XG XI XL XP XR XT " +
    "ZC ZD ZI ZL ZM ZP ZR ZS",
);
/** Commands of the list above whose later arguments contain code, values or options of the caller. */
const SHOWN_FIRST_ALONE = /^(?:getex|script|function|command)$/i;

/** The arguments of a command for a tracer: possible values are replaced by "?". */
export function redactArguments(commandName: string, args: readonly unknown[]): string[] {
  if (carriesCredentials(commandName, args)) return args.map(() => HIDDEN);
  const [first, end] = shownOf(commandName, args);
  return args.map((argument, index) => (index >= first && index < end ? String(argument) : HIDDEN));
}

/** The arguments that may be shown: from the first number up to the second one. */
function shownOf(commandName: string, args: readonly unknown[]): readonly [first: number, end: number] {
  if (/^eval/i.test(commandName)) {
    const keys = Number(args[1]);
    const first = /^evalsha/i.test(commandName) ? 0 : 1;
    return [first, Number.isInteger(keys) && keys >= 0 ? 2 + keys : 0];
  }
  if (/^ECHO/i.test(commandName)) return [0, 0];
  if (SHOWN_FIRST.test(commandName) || SHOWN_FIRST_ALONE.test(commandName)) return [0, 1];
  if (SHOWN_FIRST_TWO.test(commandName)) return [0, 2];
  return [0, SHOWN_ALL.test(commandName) ? Number.POSITIVE_INFINITY : 0];
}

/** Attaches the command to an error of the server and masks credentials that its message repeats. */
export function attachCommand(
  error: Error & { command?: ErrorCommand },
  name: string,
  args: readonly Argument[],
): void {
  error.command = describeCommand(name, args);
  if (error.command.args !== args) {
    const message = maskInText(error.message, name, args);
    if (message !== error.message) {
      error.stack = error.stack?.replace(error.message, () => message) ?? "";
      error.message = message;
    }
  }
  // Error replies have no stack frames, because those of the parser would be useless.
  if (error instanceof ReplyError) {
    error.stack = `${headOf(error)}\n    at (${commandLine(name, args, error.command.name)})`;
  }
}

/** A command for the stack of its error: its first arguments, with possible values replaced by "?". */
function commandLine(name: string, args: readonly Argument[], shownName: string): string {
  const shown = redactArguments(name, args.slice(0, MOST_IN_STACK)).map(inOneLine);
  if (args.length > shown.length) shown.push("...");
  return [shownName, ...shown].join(" ");
}

function inOneLine(text: string): string {
  const short = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
  return short.replace(/[\r\n]/g, " ");
}

/**
 * A server's address without its password. Text that is not a URL loses everything before its last "@".
 * @example
 * redactUrl("redis://user:secret@example.org/1"); // "redis://user:***@example.org/1"
 */
export function redactUrl(text: string): string {
  const [, scheme = "", rest = text] = /^((?:[a-z][a-z0-9+.-]*:)?\/\/)?(.*)$/is.exec(text) ?? [];
  const authority = rest.split(/[/?#]/, 1)[0] ?? "";
  const at = authority.lastIndexOf("@");
  const masked = rest.replace(/([?&][^=&]*(?:pass|credentials)[^=&]*=)[^&#]*/gi, `$1${MASK}`);
  // Another "@" later: a password that was not percent-encoded has ended the authority early.
  if (at < 0 && isAddress(authority) && !masked.includes("@")) return scheme + masked;
  return scheme + hideUserInfo(masked, at);
}

function isAddress(authority: string): boolean {
  return /^(?:[^:]*|\[.*\])(?::\d{0,5})?$/.test(authority);
}

function hideUserInfo(rest: string, at: number): string {
  if (at < 0) {
    const last = rest.lastIndexOf("@");
    return last < 0 ? rest : MASK + rest.slice(last);
  }
  const colon = rest.indexOf(":");
  const name = colon >= 0 && colon < at ? rest.slice(0, colon + 1) : "";
  return name + (name === "" ? rest.slice(0, at) : MASK) + rest.slice(at);
}

const SECRET_OPTIONS = new Set(["password", "sentinelPassword", "passphrase", "key", "pfx", "pass", "auth"]);
/** Options that contain options of a server, addresses, or lists of these. */
const NESTED_OPTIONS = new Set([
  "tls",
  "sentinelTLS",
  "redisOptions",
  "failover",
  "sentinels",
  "databases",
  "url",
]);

/** A copy of an options object for display: passwords and private keys are masked. */
export function redactOptions(options: object): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    if (SECRET_OPTIONS.has(name) && value !== null && value !== undefined && value !== "") copy[name] = MASK;
    else copy[name] = NESTED_OPTIONS.has(name) ? redactNested(value) : value;
  }
  return copy;
}

function redactNested(value: unknown): unknown {
  if (typeof value === "string") return redactUrl(value);
  if (Array.isArray(value)) return value.map(redactNested);
  return typeof value === "object" && value !== null ? redactOptions(value) : value;
}

/** `console.log` shows the options without secrets. The property is invisible to copying, comparing and JSON. */
export function hideSecrets<T extends object>(options: T): T {
  return showAs(options, SHOW_OPTIONS);
}

export function hideNodes<T>(nodes: T[]): T[] {
  return showAs(nodes, SHOW_NODES);
}

function showAs<T extends object>(target: T, shower: PropertyDescriptor): T {
  Object.defineProperty(target, INSPECT, shower);
  return target;
}

/** Objects that are shown alike share one method. */
function showerBy<T extends object>(show: (target: T) => unknown): PropertyDescriptor {
  const value = function (this: T, _depth: number, ...[style, inspect]: InspectArguments) {
    return inspect(show(this), style);
  };
  return { value, configurable: true, writable: true };
}

const SHOW_OPTIONS = showerBy(redactOptions);
const SHOW_NODES = showerBy(redactNested);
const SHOW_SOCKET = showerBy(describeSocket);

/** Hides the buffers of a socket, which contain recent data, and the options of a TLS socket. */
export function hideBytes(socket: object): void {
  if (!(INSPECT in socket)) showAs(socket, SHOW_SOCKET);
}

function describeSocket(socket: object): Record<string, unknown> {
  const names = ["remoteAddress", "remotePort", "readyState", "bytesRead", "bytesWritten"];
  const shown: Record<string, unknown> = { [socket.constructor.name]: "socket" };
  for (const name of names) shown[name] = (socket as Record<string, unknown>)[name];
  return shown;
}

export const SUMMARY: unique symbol = Symbol("summary");

/** The fields that a client shows; the server is its address. */
export interface ClientSummary {
  readonly status: string;
  readonly [name: string]: unknown;
}

interface Summarized {
  [SUMMARY](): ClientSummary;
}

/**
 * Makes `util.inspect` show the class and the state of a client, and `JSON.stringify`, which loggers call for any object,
 * its status and server: no data that passes through it.
 */
export function hideData(prototype: object): void {
  const shown = function (this: Summarized, _depth: number, ...[style, inspect]: InspectArguments) {
    return `${this.constructor.name} ${inspect(this[SUMMARY](), style)}`;
  };
  const inJson = function (this: Summarized): object {
    const { status, server } = this[SUMMARY]();
    return { status, server };
  };
  Object.defineProperty(prototype, INSPECT, { value: shown, configurable: true, writable: true });
  Object.defineProperty(prototype, "toJSON", { value: inJson, configurable: true, writable: true });
}

function words(list: string): RegExp {
  return new RegExp(`^(?:${list.split(" ").join("|")})`, "i");
}
