/**
 * Rejects option values that would hang the client, exhaust its memory, or have no effect. Options of ioredis
 * accept the values that ioredis accepts.
 */

import { RETRY_POLICIES } from "../../command/command-extra";
import { OptionError } from "../../errors";
import { checkMerge } from "../merging";

type OptionRecord = Record<string, unknown>;

/** The least values of numeric options; a limit may be `Infinity`. */
const LEAST = { readYourWrites: 0, highWaterBytes: 1, maxLossesPerCommand: 1, blockingConnections: 0 };
/** Numeric options that would have no effect as text. */
export const NUMBERS: readonly string[] = [
  "blockingTimeout",
  "blockingTimeoutGrace",
  "commandTimeout",
  "maxRetriesPerRequest",
  "sentinelCommandTimeout",
  "slotsRefreshInterval",
  "slotsRefreshTimeout",
  "socketTimeout",
];
/** Options that are functions. `false` disables some of them. */
export const FUNCTIONS: readonly string[] = [
  "clusterNodeRetryStrategy",
  "clusterRetryStrategy",
  "credentials",
  "reconnectOnError",
  "retryStrategy",
  "sentinelReconnectStrategy",
  "sentinelRetryStrategy",
];

/** An option with an object of settings: its other valid values, and its settings with their least numbers. */
interface Group {
  readonly others: readonly unknown[];
  readonly settings: Readonly<Record<string, number | null>>;
}

const GROUPS: Readonly<Record<string, Group>> = {
  bounds: { others: [], settings: { maxCommands: 1, maxBytes: 1, policy: null } },
  cache: {
    others: [true, false],
    settings: { maxBytes: 1, ttl: null, maxStale: 1, match: null, mode: null, frozen: null },
  },
  enableAutoPipelining: {
    others: [true, false, "adaptive"],
    settings: { maxInFlight: 1, maxCommands: 1, maxBytes: 1, coalesce: null, merge: null },
  },
  leases: { others: [], settings: { max: 1, waitMs: 0, idleMs: 0 } },
  watchdog: { others: [true, false], settings: { idleMs: 0, probeTimeoutMs: 1 } },
};
export const NEEDS_RESP3 =
  'The option "cache" needs protocol 3, because the server reports changed keys as RESP3 push messages';
const FLUSH_POLICIES = ["adaptive", "turn"];

/** Checks the options and replaces null by the default. Throws an `OptionError`. */
export function checkOwnOptions(options: OptionRecord): void {
  if (options["keyPrefix"] === null) options["keyPrefix"] = "";
  if (options["bounds"] === null) options["bounds"] = undefined;
  for (const [name, least] of Object.entries(LEAST)) checkNumber(name, options[name], least);
  for (const name of NUMBERS) checkType(name, options[name], "number");
  for (const name of FUNCTIONS) if (options[name] !== false) checkType(name, options[name], "function");
  for (const [name, group] of Object.entries(GROUPS)) checkGroup(name, options[name], group);
  checkWord("retryPolicy", options["retryPolicy"], RETRY_POLICIES);
  checkWord("flushPolicy", options["flushPolicy"], FLUSH_POLICIES);
  checkWord("maintenance", options["maintenance"], ["auto", "on", false]);
  checkProtocol(options["protocol"]);
  checkMerge("enableAutoPipelining.merge", settingsOf(options, "enableAutoPipelining")["merge"]);
  checkCache(settingsOf(options, "cache"));
  checkWord("bounds.policy", settingsOf(options, "bounds")["policy"], ["wait", "reject"]);
}

function settingsOf(options: OptionRecord, name: string): OptionRecord {
  const value = options[name];
  return typeof value === "object" && value !== null ? (value as OptionRecord) : {};
}

/** An unknown setting would leave the intended one at its default. */
function checkGroup(option: string, value: unknown, { others, settings }: Group): void {
  if (value === undefined || value === null || others.includes(value)) return;
  const names = Object.keys(settings);
  if (typeof value !== "object" || Array.isArray(value)) {
    const expected = [...others.map(show), `an object with ${names.join(", ")}`].join(" or ");
    throw new OptionError(`Invalid option ${option} ${show(value)}: expected ${expected}`);
  }
  for (const [name, setting] of Object.entries(value)) {
    const least = settings[name];
    if (least === undefined) {
      throw new OptionError(`Invalid option ${option}.${name}: expected one of ${names.join(", ")}`);
    }
    if (least === null || (name === "maxInFlight" && setting === "adaptive")) continue;
    checkNumber(`${option}.${name}`, setting, least);
  }
}

function checkProtocol(protocol: unknown): void {
  if (protocol === undefined || protocol === null || protocol === 2 || protocol === 3) return;
  throw new OptionError(`Invalid option protocol ${show(protocol)}: expected 2 or 3`);
}

function checkCache({ mode, match, ttl }: OptionRecord): void {
  if (ttl !== "server") checkNumber("cache.ttl", ttl, 1);
  checkWord("cache.mode", mode, ["optin", "all", "broadcast"]);
  if (match === undefined) return;
  const isList = Array.isArray(match) && match.every((one) => typeof one === "string");
  // With "broadcast" the server needs the prefixes, so a function is not possible.
  if (isList || (typeof match === "function" && mode !== "broadcast")) return;
  const expected = mode === "broadcast" ? "prefixes of keys" : "prefixes of keys, or a function";
  throw new OptionError(`Invalid option cache.match: expected ${expected}`);
}

function checkType(name: string, value: unknown, type: "number" | "function"): void {
  if (value === undefined || value === null || typeof value === type) return;
  throw new OptionError(`Invalid option ${name} ${show(value)}: expected a ${type}`);
}

function checkNumber(name: string, value: unknown, least: number): void {
  if (value === undefined || value === null || (typeof value === "number" && value >= least)) return;
  throw new OptionError(`Invalid option ${name} ${show(value)}: expected a number of at least ${least}`);
}

function checkWord(name: string, value: unknown, words: readonly unknown[]): void {
  if (value === undefined || value === null || words.includes(value)) return;
  throw new OptionError(
    `Invalid option ${name} ${show(value)}: expected one of ${words.map(show).join(", ")}`,
  );
}

function show(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : String(value);
}
