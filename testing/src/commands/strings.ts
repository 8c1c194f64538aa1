/**
 * Strings and counters. Bit operations are in bitmaps.ts.
 */

import type { Entry } from "../keyspace/entry";
import { addLongDoubles, formatLongDouble, parseLongDouble } from "../protocol/long-double";
import {
  type Integer,
  integerOf,
  isInt64,
  NOT_A_FLOAT,
  NOT_AN_INTEGER,
  narrow,
  parseInteger,
} from "../protocol/numbers";
import { ErrorReply, MapReply, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, clampRange, following, syntaxError, word } from "./arguments";
import { EXPIRY_OPTIONS, positiveExpiryTime } from "./expiry-options";
import { longestCommonSubsequence } from "./longest-common-subsequence";

const MAX_STRING_BYTES = 512 * 1024 * 1024;
const TOO_LONG = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
const OVERFLOW = "ERR increment or decrement would overflow";

interface SetOptions {
  condition: "NX" | "XX" | "IFEQ" | null;
  comparison: string;
  wantsOld: boolean;
  expireAt: number | "keep";
  hasExpiry: boolean;
}

function setOptions(caller: Caller, args: readonly string[]): SetOptions {
  const options: SetOptions = {
    condition: null,
    comparison: "",
    wantsOld: false,
    expireAt: 0,
    hasExpiry: false,
  };
  for (let index = 3; index < args.length; index++) {
    const option = word(args, index);
    const unit = EXPIRY_OPTIONS[option];
    if (option === "NX" || option === "XX") {
      if (options.condition !== null && options.condition !== option) throw syntaxError();
      options.condition = option;
    } else if (option === "IFEQ" && caller.engine.version.product === "valkey") {
      if (options.condition !== null) throw syntaxError();
      options.condition = "IFEQ";
      options.comparison = following(args, index++);
    } else if (option === "GET") options.wantsOld = true;
    else if (option === "KEEPTTL") {
      if (options.hasExpiry) throw syntaxError();
      options.expireAt = "keep";
      options.hasExpiry = true;
    } else if (unit !== undefined) {
      if (options.hasExpiry) throw syntaxError();
      options.hasExpiry = true;
      // The value of the option is checked after all options are known to be valid.
      options.expireAt = -(index + 1);
      following(args, index++);
    } else throw syntaxError();
  }
  if (typeof options.expireAt === "number" && options.expireAt < 0) {
    const place = -options.expireAt;
    const unit = EXPIRY_OPTIONS[word(args, place - 1)] ?? { isSeconds: true, isAbsolute: false };
    const context = { now: caller.engine.clock.now, command: "set" };
    options.expireAt = positiveExpiryTime(at(args, place), unit, context);
  }
  return options;
}

function mayStore(options: SetOptions, old: Entry | undefined): boolean {
  if (options.condition === "NX") return old === undefined;
  if (options.condition === "XX") return old !== undefined;
  if (options.condition !== "IFEQ") return true;
  return old?.value === options.comparison;
}

function set(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 1);
  const { database } = caller;
  if (args.length === 3) {
    database.set(key, at(args, 2));
    database.modified(key, "$", "set");
    return OK;
  }
  const options = setOptions(caller, args);
  const old = options.wantsOld ? database.readString(key) : undefined;
  const entry = database.find(key);
  if (options.condition === "IFEQ" && entry !== undefined) database.readString(key);
  const isStored = mayStore(options, entry);
  if (isStored) store(caller, { key, value: at(args, 2), expireAt: options.expireAt });
  if (options.wantsOld) return old ?? null;
  return isStored ? OK : null;
}

interface NewString {
  readonly key: string;
  readonly value: string;
  readonly expireAt: number | "keep";
}

function store(caller: Caller, { key, value, expireAt }: NewString): void {
  const { database, engine } = caller;
  const isPast = typeof expireAt === "number" && expireAt !== 0 && expireAt <= engine.clock.now;
  if (isPast && engine.version.product === "valkey") {
    if (database.delete(key)) database.modified(key, "x", "expired");
    return;
  }
  database.set(key, value, { expireAt });
  database.modified(key, "$", "set");
  if (typeof expireAt === "number" && expireAt !== 0) database.event(key, "g", "expire");
  // It expires immediately.
  if (isPast) database.find(key);
}

function setWithTime(command: string, option: "EX" | "PX") {
  return (caller: Caller, args: readonly string[]): ReplyValue => {
    const unit = EXPIRY_OPTIONS[option] ?? { isSeconds: true, isAbsolute: false };
    const expireAt = positiveExpiryTime(at(args, 2), unit, { now: caller.engine.clock.now, command });
    store(caller, { key: at(args, 1), value: at(args, 3), expireAt });
    return OK;
  };
}

function storePairs(caller: Caller, args: readonly string[]): void {
  for (let index = 1; index < args.length; index += 2) {
    caller.database.set(at(args, index), at(args, index + 1));
    caller.database.modified(at(args, index), "$", "set");
  }
}

function checkPairs(args: readonly string[]): void {
  if (args.length % 2 === 0) {
    throw new ErrorReply(`ERR wrong number of arguments for '${at(args, 0).toLowerCase()}' command`);
  }
}

function getex(caller: Caller, args: readonly string[]): ReplyValue {
  const { database, engine } = caller;
  const key = at(args, 1);
  let place = 0;
  let isPersist = false;
  for (let index = 2; index < args.length; index++) {
    const option = word(args, index);
    if (place !== 0) throw syntaxError();
    if (option === "PERSIST") isPersist = true;
    else if (!isPersist && EXPIRY_OPTIONS[option] !== undefined) {
      place = index;
      following(args, index++);
    } else throw syntaxError();
  }
  const unit = EXPIRY_OPTIONS[word(args, place)];
  const timeOf = (): number => {
    if (unit === undefined || place === 0) return 0;
    return positiveExpiryTime(at(args, place + 1), unit, { now: engine.clock.now, command: "getex" });
  };
  // Valkey checks the time before the key.
  if (engine.version.product === "valkey") timeOf();
  const value = database.readString(key);
  if (value === undefined) return null;
  const expireAt = timeOf();
  if (expireAt !== 0) {
    if (expireAt <= engine.clock.now) {
      database.delete(key);
      if (engine.version.product === "valkey") database.modified(key, "x", "expired");
      else database.modified(key, "g", "del");
    } else {
      database.setExpiry(key, expireAt);
      database.modified(key, "g", "expire");
    }
  } else if (isPersist && database.find(key)?.expireAt !== 0) {
    database.setExpiry(key, 0);
    database.modified(key, "g", "persist");
  }
  return value;
}

/** A counter that is no plain number goes the long way. */
function addInteger(caller: Caller, key: string, increment: Integer): ReplyValue {
  const { database } = caller;
  const old = database.readString(key) ?? "0";
  const parsed = parseInteger(old);
  if (parsed === null) throw new ErrorReply(NOT_AN_INTEGER);
  let sum: Integer;
  if (
    typeof parsed === "number" &&
    typeof increment === "number" &&
    Number.isSafeInteger(parsed + increment)
  ) {
    sum = parsed + increment;
  } else {
    const exact = BigInt(parsed) + BigInt(increment);
    if (!isInt64(exact)) throw new ErrorReply(OVERFLOW);
    sum = narrow(exact);
  }
  database.set(key, String(sum), { expireAt: "keep" });
  database.modified(key, "$", "incrby");
  return sum;
}

function incrementOf(text: string): Integer {
  const increment = parseInteger(text);
  if (increment === null) throw new ErrorReply(NOT_AN_INTEGER);
  return increment;
}

function decrby(caller: Caller, args: readonly string[]): ReplyValue {
  const decrement = incrementOf(at(args, 2));
  if (BigInt(decrement) === -9223372036854775808n) throw new ErrorReply("ERR decrement would overflow");
  return addInteger(caller, at(args, 1), narrow(-BigInt(decrement)));
}

function incrbyfloat(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const old = parseLongDouble(database.readString(key) ?? "0");
  if (old === null) throw new ErrorReply(NOT_A_FLOAT);
  if (/^[+-]?inf(inity)?$/i.test(at(args, 2)))
    throw new ErrorReply("ERR increment would produce NaN or Infinity");
  const increment = parseLongDouble(at(args, 2));
  if (increment === null) throw new ErrorReply(NOT_A_FLOAT);
  const sum = formatLongDouble(addLongDoubles(old, increment));
  database.set(key, sum, { expireAt: "keep", form: "text" });
  database.modified(key, "$", "incrbyfloat");
  return sum;
}

function append(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const old = database.readString(key);
  const value = (old ?? "") + at(args, 2);
  if (value.length > MAX_STRING_BYTES) throw new ErrorReply(TOO_LONG);
  database.set(key, value, { expireAt: "keep", form: old === undefined ? "plain" : "raw" });
  database.modified(key, "$", "append");
  return value.length;
}

function setrange(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const offset = integerOf(at(args, 2));
  if (offset < 0) throw new ErrorReply("ERR offset is out of range");
  const old = database.readString(key) ?? "";
  const piece = at(args, 3);
  if (piece === "") return old.length;
  if (offset + piece.length > MAX_STRING_BYTES) throw new ErrorReply(TOO_LONG);
  const value = old.padEnd(offset, "\0").slice(0, offset) + piece + old.slice(offset + piece.length);
  database.set(key, value, { expireAt: "keep", form: "raw" });
  database.modified(key, "$", "setrange");
  return value.length;
}

function getrange(caller: Caller, args: readonly string[]): ReplyValue {
  const start = integerOf(at(args, 2));
  const end = integerOf(at(args, 3));
  const value = caller.database.readString(at(args, 1)) ?? "";
  if (start < 0 && end < 0 && start > end) return "";
  const from = Math.max(0, start < 0 ? start + value.length : start);
  const to = Math.max(0, end < 0 ? end + value.length : end);
  const range = clampRange(from, to, value.length);
  return range === null ? "" : value.slice(range.start, range.end + 1);
}

function lcs(caller: Caller, args: readonly string[]): ReplyValue {
  const [a, b] = [1, 2].map((place) => {
    const entry = caller.database.find(at(args, place));
    if (entry !== undefined && typeof entry.value !== "string") {
      throw new ErrorReply("ERR The specified keys must contain string values");
    }
    return (entry?.value as string | undefined) ?? "";
  });
  const options = { wantsLength: false, wantsMatches: false, minimum: 0, withLengths: false };
  for (let index = 3; index < args.length; index++) {
    const option = word(args, index);
    if (option === "LEN") options.wantsLength = true;
    else if (option === "IDX") options.wantsMatches = true;
    else if (option === "WITHMATCHLEN") options.withLengths = true;
    else if (option === "MINMATCHLEN") options.minimum = Math.max(0, integerOf(following(args, index++)));
    else throw syntaxError();
  }
  if (options.wantsLength && options.wantsMatches) {
    throw new ErrorReply("ERR If you want both the length and indexes, please just use IDX.");
  }
  const found = longestCommonSubsequence(a ?? "", b ?? "");
  if (options.wantsLength) return found.text.length;
  if (!options.wantsMatches) return found.text;
  const matches = found.matches
    .filter(({ length }) => length >= options.minimum)
    .map((match): ReplyValue => {
      const ranges: ReplyValue[] = [
        [match.a, match.a + match.length - 1],
        [match.b, match.b + match.length - 1],
      ];
      if (options.withLengths) ranges.push(match.length);
      return ranges;
    });
  return new MapReply(["matches", matches, "len", found.text.length]);
}

/** Valkey: MSETEX numkeys key value … [NX | XX] [EX seconds | … | KEEPTTL]. */
function msetex(caller: Caller, args: readonly string[]): ReplyValue {
  const count = integerOf(at(args, 1), "ERR invalid numkeys value");
  if (count <= 0) throw new ErrorReply("ERR invalid numkeys value");
  const end = 2 + 2 * count;
  if (end > args.length) throw new ErrorReply("ERR wrong number of key-value pairs");
  const options = setOptions(caller, ["set", "", "", ...args.slice(end)]);
  if (options.wantsOld || options.condition === "IFEQ") throw syntaxError();
  for (let index = 2; index < end; index += 2) {
    const isThere = caller.database.has(at(args, index));
    if ((options.condition === "NX" && isThere) || (options.condition === "XX" && !isThere)) return 0;
  }
  for (let index = 2; index < end; index += 2) {
    store(caller, { key: at(args, index), value: at(args, index + 1), expireAt: options.expireAt });
  }
  return 1;
}

function delifeq(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  if (database.readString(key) !== at(args, 2)) return 0;
  database.delete(key);
  database.modified(key, "g", "del");
  return 1;
}

export const stringHandlers: Handlers = {
  get: (caller, args) => caller.database.readString(at(args, 1)) ?? null,
  set,
  setnx(caller, args) {
    if (caller.database.has(at(args, 1))) return 0;
    store(caller, { key: at(args, 1), value: at(args, 2), expireAt: 0 });
    return 1;
  },
  setex: setWithTime("setex", "EX"),
  psetex: setWithTime("psetex", "PX"),
  getset(caller, args) {
    const old = caller.database.readString(at(args, 1));
    store(caller, { key: at(args, 1), value: at(args, 2), expireAt: 0 });
    return old ?? null;
  },
  getdel(caller, args) {
    const key = at(args, 1);
    const value = caller.database.readString(key);
    if (value === undefined) return null;
    caller.database.delete(key);
    caller.database.modified(key, "g", "del");
    return value;
  },
  getex,
  mget(caller, args) {
    return args.slice(1).map((key) => {
      const value = caller.database.find(key)?.value;
      return typeof value === "string" ? value : null;
    });
  },
  mset(caller, args) {
    checkPairs(args);
    storePairs(caller, args);
    return OK;
  },
  msetnx(caller, args) {
    checkPairs(args);
    for (let index = 1; index < args.length; index += 2) if (caller.database.has(at(args, index))) return 0;
    storePairs(caller, args);
    return 1;
  },
  msetex,
  incr: (caller, args) => addInteger(caller, at(args, 1), 1),
  decr: (caller, args) => addInteger(caller, at(args, 1), -1),
  incrby: (caller, args) => addInteger(caller, at(args, 1), incrementOf(at(args, 2))),
  decrby,
  incrbyfloat,
  append,
  strlen: (caller, args) => (caller.database.readString(at(args, 1)) ?? "").length,
  setrange,
  getrange,
  substr: getrange,
  lcs,
  delifeq,
};
