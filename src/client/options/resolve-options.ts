/**
 * Constructor arguments in, one complete options object out. What is passed in is neither changed
 * nor kept; the result is the client's own, not frozen, and holds unknown keys as well.
 */

import { OptionError } from "../../errors";
import { hideSecrets } from "../../observability/redact";
import { MASK } from "../../util/credentials";
import { checkOwnOptions, NEEDS_RESP3 } from "./check-options";
import { completeOptions } from "./live-options";
import { copyFieldsets } from "./managed-fieldsets";
import { warnAboutRedisOptions } from "./mistyped-options";
import { isTlsUrl, isWholeNumber, parseUrl } from "./parse-url";
import { defaultOptions, freshDefaults, type RedisOptions } from "./redis-options";

type OptionRecord = Record<string, unknown>;

/** Types of options that have no default to tell it. */
const KINDS: Record<string, "number" | "boolean"> = {
  commandTimeout: "number",
  socketTimeout: "number",
  blockingTimeout: "number",
  sentinelCommandTimeout: "number",
  tls: "boolean",
  showFriendlyErrorStack: "boolean",
  watchdog: "boolean",
};

const BUNDLED_PROFILES = ["RedisCloudFixed", "RedisCloudFlexible"];

/**
 * Merges the arguments of `new Redis(...)`: the first definition of a key wins, except that a
 * number always sets the port.
 *
 * @example
 * resolveRedisOptions([6380, "example.org", { db: 1 }]);
 */
export function resolveRedisOptions(args: readonly unknown[]): RedisOptions {
  const given: OptionRecord = {};
  let isTls = false;
  for (const argument of args) {
    if (argument === null || argument === undefined) continue;
    if (typeof argument === "number") given["port"] = argument;
    else if (typeof argument === "string") {
      fill(given, optionsOfAddress(argument));
      isTls ||= isTlsUrl(argument);
    } else if (typeof argument === "object") fill(given, argument as OptionRecord);
    else throw new OptionError(`Invalid argument ${String(argument)}`);
  }
  if (isTls && given["tls"] === undefined) given["tls"] = true;
  warnAboutRedisOptions(given);
  return normalize(completeOptions(freshDefaults(), defaultOptions as OptionRecord, given));
}

/** Takes over every key that `options` does not define yet; `undefined` defines nothing. */
export function fill(options: OptionRecord, source: OptionRecord): void {
  // Inherited options count (some people keep theirs in a class), what hangs on Object.prototype not.
  for (const name in source) {
    if (name === "__proto__") continue;
    if (!Object.hasOwn(source, name) && name in Object.prototype) continue;
    if (options[name] === undefined) options[name] = source[name];
  }
}

function normalize(options: OptionRecord): RedisOptions {
  options["port"] = toWholeNumber("port", options["port"]);
  const db = toWholeNumber("db", options["db"]);
  // parseInt of an unset variable: nothing was asked for.
  options["db"] = Number.isNaN(db) ? 0 : db;
  rejectProfile(options["tls"]);
  checkOwnOptions(options);
  if (options["replyMapping"] === "resp3" && options["protocol"] !== 3) {
    throw new OptionError('The "resp3" replyMapping is only supported with protocol 3');
  }
  if (options["cache"] && options["protocol"] !== 3) throw new OptionError(NEEDS_RESP3);
  // Each client its own list, so that changing one changes no default.
  const ignored = options["autoPipeliningIgnoredCommands"];
  if (Array.isArray(ignored)) options["autoPipeliningIgnoredCommands"] = [...ignored];
  if (options["himportFieldsets"] !== undefined) {
    options["himportFieldsets"] = copyFieldsets(options["himportFieldsets"]);
  }
  return hideSecrets(options) as RedisOptions;
}

/** Numeric strings become numbers; other strings are refused. */
export function toWholeNumber(name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (isWholeNumber(value)) return Number.parseInt(value, 10);
  if (value === "" && name === "db") return 0;
  // A password that was not percent-encoded and has a slash in it ends up here.
  const at = value.lastIndexOf("@");
  const shown = at < 0 ? value : MASK + value.slice(at);
  throw new OptionError(`Invalid ${name} "${shown}": expected a whole number`);
}

function rejectProfile(tls: unknown): void {
  const profile = typeof tls === "object" && tls !== null ? (tls as { profile?: unknown }).profile : tls;
  if (typeof profile !== "string" || !BUNDLED_PROFILES.includes(profile)) return;
  throw new OptionError(
    `TLS profile "${profile}" is not bundled: download the certificate authority of your provider and pass it as tls: { ca }`,
  );
}

/**
 * The options that a URL or one of the other string forms stands for. Items of a query are text; those that
 * stand for a number, a switch or null are read as such. TLS is not among them: see `isTlsUrl`.
 */
export function optionsOfAddress(text: string): OptionRecord {
  const options: OptionRecord = {};
  for (const [name, value] of Object.entries(parseUrl(text))) {
    options[name] = typeof value === "string" ? convertItem(name, value) : value;
  }
  return options;
}

function convertItem(name: string, value: string): unknown {
  const kind = KINDS[name] ?? typeof (defaultOptions as OptionRecord)[name];
  if (kind === "number" && name !== "db" && name !== "port") {
    if (value === "null") return null;
    const number = Number(value);
    if (value.trim() !== "" && !Number.isNaN(number)) return number;
    throw new OptionError(`Invalid ${name} "${value}" in the URL: expected a number`);
  }
  if (kind === "boolean") {
    if (value === "true" || value === "1") return true;
    if (value === "false" || value === "0") return false;
    throw new OptionError(`Invalid ${name} "${value}" in the URL: expected true or false`);
  }
  return value === "null" && (name === "retryStrategy" || name === "reconnectOnError") ? null : value;
}
