/**
 * Refuses values of options of our own that would hang the client or exhaust its memory. Options of
 * the API that this client shares with others take what they take there.
 */

import { OptionError } from "../../errors";
import { checkMerge } from "../merging";

type OptionRecord = Record<string, unknown>;

/** Least values of the options that are numbers; a limit may be `Infinity`. */
const LEAST = { highWaterBytes: 1, maxLossesPerCommand: 1, blockingConnections: 0 };
/** Least values of the numbers that stand in options. */
const LEAST_IN = {
  bounds: { maxCommands: 1, maxBytes: 1 },
  cache: { maxBytes: 1, maxStale: 1 },
  enableAutoPipelining: { maxInFlight: 1, maxCommands: 1, maxBytes: 1 },
  watchdog: { idleMs: 0, probeTimeoutMs: 1 },
};
export const NEEDS_RESP3 =
  'The option "cache" needs protocol 3: the server tells by RESP3 pushes what has changed';
const CACHE_SETTINGS = ["maxBytes", "ttl", "maxStale", "match", "mode", "frozen"];
const FLUSH_POLICIES = ["adaptive", "turn"];
export const RETRY_POLICIES: readonly string[] = ["at-least-once", "reads-only", "at-most-once"];

/** Checks the options, and puts what means the default in the place of null. Throws an `OptionError`. */
export function checkOwnOptions(options: OptionRecord): void {
  if (options["keyPrefix"] === null) options["keyPrefix"] = "";
  if (options["bounds"] === null) options["bounds"] = undefined;
  checkNumbers(options, LEAST);
  for (const [group, least] of Object.entries(LEAST_IN)) {
    const holder = options[group];
    if (typeof holder === "object" && holder !== null)
      checkNumbers(holder as OptionRecord, least, `${group}.`);
  }
  checkWord("retryPolicy", options["retryPolicy"], RETRY_POLICIES);
  checkWord("flushPolicy", options["flushPolicy"], FLUSH_POLICIES);
  checkMerge("enableAutoPipelining.merge", mergeOf(options["enableAutoPipelining"]));
  if (options["cache"]) checkCache(options["cache"] as OptionRecord);
  const bounds = options["bounds"] as OptionRecord | undefined;
  if (bounds) checkWord("bounds.policy", bounds["policy"], ["wait", "reject"]);
}

function checkNumbers(holder: OptionRecord, least: Readonly<Record<string, number>>, prefix = ""): void {
  for (const name of Object.keys(least)) {
    const value = holder[name];
    if (value === undefined || (name === "maxInFlight" && value === "adaptive")) continue;
    checkNumber(prefix + name, value, least[name] as number);
  }
}

/** A name that is none of these would leave a bound, or the choice of keys, at its default. */
function checkCache(cache: OptionRecord): void {
  const { mode, match, ttl } = cache;
  const unknown = Object.keys(cache).find((name) => !CACHE_SETTINGS.includes(name));
  if (unknown !== undefined) {
    throw new OptionError(`Invalid option cache.${unknown}: expected one of ${CACHE_SETTINGS.join(", ")}`);
  }
  if (ttl !== "server") checkNumber("cache.ttl", ttl, 1);
  checkWord("cache.mode", mode, ["optin", "all", "broadcast"]);
  if (match === undefined) return;
  const isList = Array.isArray(match) && match.every((one) => typeof one === "string");
  // The server has to be told which keys they are.
  if (isList || (typeof match === "function" && mode !== "broadcast")) return;
  const expected = mode === "broadcast" ? "beginnings of keys" : "beginnings of keys, or a function";
  throw new OptionError(`Invalid option cache.match: expected ${expected}`);
}

function mergeOf(autoPipelining: unknown): unknown {
  const isObject = typeof autoPipelining === "object" && autoPipelining !== null;
  return isObject ? (autoPipelining as OptionRecord)["merge"] : undefined;
}

function checkNumber(name: string, value: unknown, least: number): void {
  if (value === undefined || value === null || (typeof value === "number" && value >= least)) return;
  throw new OptionError(`Invalid option ${name} ${show(value)}: expected a number from ${least} on`);
}

function checkWord(name: string, value: unknown, words: readonly string[]): void {
  if (value === undefined || value === null || words.includes(value as string)) return;
  throw new OptionError(`Invalid option ${name} ${show(value)}: expected one of "${words.join('", "')}"`);
}

function show(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : String(value);
}
