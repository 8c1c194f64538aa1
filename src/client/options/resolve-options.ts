/**
 * Turns constructor arguments into one complete options object. The arguments are neither modified nor kept;
 * the result belongs to the client, is not frozen, and contains unknown keys as well.
 */

import { OptionError } from "../../errors";
import { hideSecrets } from "../../observability/redact";
import { MASK } from "../../util/credentials";
import { completeOptions } from "./live-options";
import { copyFieldsets } from "./managed-fieldsets";
import { warnAboutRedisOptions } from "./mistyped-options";
import { checkOptions, NEEDS_RESP3, parseOption } from "./option-table";
import { isTlsUrl, parseUrl, WHOLE_NUMBER } from "./parse-url";
import { defaultOptions, freshDefaults, type RedisOptions } from "./redis-options";

type OptionRecord = Record<string, unknown>;

const BUNDLED_PROFILES = ["RedisCloudFixed", "RedisCloudFlexible"];

/** Merges the arguments of `new Redis(...)`: the first definition of a key wins, but a number sets the port. */
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
  fill(given, defaultOptions as OptionRecord);
  return normalize(completeOptions(freshDefaults() as OptionRecord, given));
}

/** Copies every key that `options` does not define yet; `undefined` defines nothing. */
export function fill(options: OptionRecord, source: OptionRecord): void {
  // Inherited options count, because some programs define them in a class; properties of Object.prototype do
  // not.
  for (const name in source) {
    if (name === "__proto__") continue;
    if (!Object.hasOwn(source, name) && name in Object.prototype) continue;
    if (options[name] === undefined) options[name] = source[name];
  }
}

function normalize(options: OptionRecord): RedisOptions {
  options["port"] = toWholeNumber("port", options["port"]);
  const db = toWholeNumber("db", options["db"]);
  // parseInt of an unset variable is NaN: the default applies.
  options["db"] = Number.isNaN(db) ? 0 : db;
  rejectProfile(options["tls"]);
  checkOptions(options);
  if (options["replyMapping"] === "resp3" && options["protocol"] !== 3) {
    throw new OptionError('The "resp3" replyMapping is only supported with protocol 3');
  }
  if (options["cache"] && options["protocol"] !== 3) throw new OptionError(NEEDS_RESP3);
  return withOwnLists(options) as RedisOptions;
}

/** Each client has its own lists, so that a change of one list does not change the default. */
export function withOwnLists(options: OptionRecord): OptionRecord {
  const { autoPipeliningIgnoredCommands: ignored, himportFieldsets: fieldsets } = options;
  if (Array.isArray(ignored)) options["autoPipeliningIgnoredCommands"] = [...ignored];
  if (fieldsets !== undefined) options["himportFieldsets"] = copyFieldsets(fieldsets);
  return hideSecrets(options);
}

/** Numeric strings become numbers; other strings are rejected. */
export function toWholeNumber(name: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (WHOLE_NUMBER.test(value)) return Number.parseInt(value, 10);
  if (value === "" && name === "db") return 0;
  // A password with an unencoded slash ends up here.
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

/** The options in a URL or another string form, without TLS: see `isTlsUrl`. */
export function optionsOfAddress(text: string): OptionRecord {
  const options: OptionRecord = {};
  for (const [name, value] of Object.entries(parseUrl(text))) {
    options[name] = typeof value === "string" ? parseOption(name, value) : value;
  }
  return options;
}
