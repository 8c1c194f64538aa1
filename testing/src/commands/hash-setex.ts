/**
 * Fields together with their times of expiry: HGETEX and HSETEX. Redis and Valkey read the options
 * by rules and with messages of their own.
 */

import { HashValue } from "../keyspace/values";
import { integerOf, parseInteger } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers, ServerEngine } from "../server/model";
import { at, syntaxError, word } from "./arguments";
import { growHash } from "./encodings";
import { EXPIRY_OPTIONS } from "./expiry-options";
import { fieldTime } from "./hash-expiry";
import { liveHash, pastEvent } from "./live-hash";

interface Request {
  /** Milliseconds since 1970; null if none is given. */
  time: number | null;
  /** PERSIST or KEEPTTL. */
  isKept: boolean;
  condition: "" | "FNX" | "FXX" | "NX" | "XX";
  words: readonly string[];
}

interface Dialect {
  readonly command: "hgetex" | "hsetex";
  /** Words for each field: the field, or field and value. */
  readonly width: 1 | 2;
  /** The word for "leave the times": it is no time of its own. */
  readonly keeps: "PERSIST" | "KEEPTTL";
  readonly conditions: ReadonlySet<string>;
}

const HGETEX: Dialect = { command: "hgetex", width: 1, keeps: "PERSIST", conditions: new Set() };
const HSETEX: Dialect = {
  command: "hsetex",
  width: 2,
  keeps: "KEEPTTL",
  conditions: new Set(["FNX", "FXX"]),
};
const VALKEY_HSETEX: Dialect = { ...HSETEX, conditions: new Set(["FNX", "FXX", "NX", "XX"]) };

const NOT_AT_ITS_PLACE = "ERR Mandatory argument FIELDS is missing or not at the right position";
const VALKEY_COUNT = "ERR numfields should be greater than 0 and match the provided number of fields";

/** The error messages of a product, by mistake. */
function unknownWord(isValkey: boolean, { command }: Dialect, text: string): ErrorReply {
  if (isValkey) return syntaxError();
  return new ErrorReply(command === "hgetex" ? NOT_AT_ITS_PLACE : `ERR unknown argument: ${text}`);
}

function twoTimes(isValkey: boolean, { command }: Dialect): ErrorReply {
  if (isValkey) return syntaxError();
  return new ErrorReply(
    command === "hgetex"
      ? NOT_AT_ITS_PLACE
      : "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified",
  );
}

function readFields(
  isValkey: boolean,
  { width, command }: Dialect,
  words: readonly string[],
): readonly string[] {
  const [countText = "", ...rest] = words;
  if (isValkey) {
    if (integerOf(countText) * width !== rest.length || rest.length === 0) throw new ErrorReply(VALKEY_COUNT);
    return rest;
  }
  const count = parseInteger(countText);
  if (count === null || count < 1) {
    throw new ErrorReply(
      command === "hgetex"
        ? "ERR Number of fields must be a positive integer"
        : "ERR invalid number of fields",
    );
  }
  if (Number(count) * width === rest.length) return rest;
  throw new ErrorReply(
    command === "hgetex"
      ? "ERR The `numfields` parameter must match the number of arguments"
      : "ERR wrong number of arguments for 'hsetex' command",
  );
}

function requestOf(caller: Caller, args: readonly string[], dialect: Dialect): Request {
  const { version, clock } = caller.engine;
  const isValkey = version.product === "valkey";
  const request: Request = { time: null, isKept: false, condition: "", words: [] };
  const end = args.findIndex((_, index) => index > 1 && word(args, index) === "FIELDS");
  let readTime: (() => number) | null = null;
  let place = 2;
  for (; place < args.length && word(args, place) !== "FIELDS"; place++) {
    const name = word(args, place);
    const unit = EXPIRY_OPTIONS[name];
    if (unit !== undefined || name === dialect.keeps) {
      if (request.time !== null || request.isKept) throw twoTimes(isValkey, dialect);
      if (unit === undefined) request.isKept = true;
      else {
        if (isValkey && place + 1 === end) throw syntaxError();
        const text = at(args, ++place);
        const context = { now: clock.now, command: dialect.command, isValkey };
        readTime = () => fieldTime(text, unit, context);
        // Valkey checks it last.
        request.time = isValkey ? 0 : readTime();
      }
    } else if (dialect.conditions.has(name)) {
      if (request.condition !== "" && !(isValkey && request.condition === name)) {
        throw isValkey
          ? syntaxError()
          : new ErrorReply("ERR Only one of FXX or FNX arguments can be specified");
      }
      request.condition = name as Request["condition"];
    } else if (isValkey && end < 0) throw new ErrorReply(VALKEY_COUNT);
    else throw unknownWord(isValkey, dialect, at(args, place));
  }
  request.words = readFields(isValkey, dialect, args.slice(place + 1));
  if (isValkey && readTime !== null) {
    // Checks the type of the key before it reads the time.
    caller.database.read(at(args, 1), HashValue);
    request.time = readTime();
  }
  return request;
}

function setTime(hash: HashValue, field: string, time: number): void {
  hash.expiries ??= new Map();
  hash.expiries.set(field, time);
}

function hgetex(caller: Caller, args: readonly string[]): ReplyValue {
  const { database, engine } = caller;
  const { now } = engine.clock;
  const key = at(args, 1);
  if (engine.version.product === "redis") database.read(key, HashValue);
  const { time, isKept, words } = requestOf(caller, args, HGETEX);
  const present = liveHash(database, key, now);
  const values = words.map((field) => present?.fields.get(field) ?? null);
  if (present === undefined || (time === null && !isKept)) return values;
  const hash = database.write(key, HashValue) as HashValue;
  const found = words.filter((field) => hash.fields.has(field));
  const touched = time === null ? found.filter((field) => hash.expiries?.has(field)) : found;
  for (const field of touched) {
    if (time === null) hash.expiries?.delete(field);
    else if (time <= now) hash.delete(field);
    else {
      setTime(hash, field, time);
      if (engine.version.product === "valkey") hash.isBig = true;
    }
  }
  if (touched.length > 0) database.modified(key, "h", eventOf(time, engine));
  database.removeIfEmpty(key, hash);
  return values;
}

function eventOf(time: number | null, engine: ServerEngine): string {
  if (time === null) return "hpersist";
  return time <= engine.clock.now ? pastEvent(engine) : "hexpire";
}

function mayWrite(
  condition: Request["condition"],
  hash: HashValue | undefined,
  fields: readonly string[],
): boolean {
  switch (condition) {
    case "FNX":
      return !fields.some((field) => hash?.fields.has(field));
    case "FXX":
      return hash !== undefined && fields.every((field) => hash.fields.has(field));
    case "NX":
      return hash === undefined;
    case "XX":
      return hash !== undefined;
    default:
      return true;
  }
}

function hsetex(caller: Caller, args: readonly string[]): ReplyValue {
  const { database, engine } = caller;
  const { now } = engine.clock;
  const key = at(args, 1);
  const isValkey = engine.version.product === "valkey";
  const { time, isKept, condition, words } = requestOf(caller, args, isValkey ? VALKEY_HSETEX : HSETEX);
  const fields = words.filter((_, index) => index % 2 === 0);
  if (!mayWrite(condition, liveHash(database, key, now), fields)) return 0;
  const hash = database.writeOrCreate(key, HashValue);
  fields.forEach((field, index) => {
    if (time !== null && time <= now) {
      hash.delete(field);
      return;
    }
    const value = at(words, 2 * index + 1);
    hash.fields.set(field, value);
    if (time !== null) setTime(hash, field, time);
    else if (!isKept) hash.expiries?.delete(field);
    growHash(hash, field, value, engine);
    if (isValkey && time !== null) hash.isBig = true;
  });
  database.modified(key, "h", "hset");
  if (time !== null && (isValkey || time > now)) database.event(key, "h", "hexpire");
  if (time !== null && time <= now) database.event(key, "h", pastEvent(engine));
  database.removeIfEmpty(key, hash);
  return 1;
}

export const hashSetexHandlers: Handlers = { hgetex, hsetex };
