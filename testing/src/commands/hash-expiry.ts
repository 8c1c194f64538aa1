/**
 * Expiry of hash fields: HEXPIRE and its kind, HTTL and its kind, HPERSIST, HGETDEL.
 */

import { HashValue } from "../keyspace/values";
import { integerOf, NOT_AN_INTEGER, parseInteger } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, word } from "./arguments";
import type { ExpiryUnit } from "./expiry-options";
import { liveHash, pastEvent } from "./live-hash";

const NO_FIELD = -2;
const NOT_MET = 0;
const DONE = 1;
const DELETED = 2;
/** The largest time in milliseconds that fits into a hash. */
const MAX_TIME = 2 ** 46;
const MAX_VALKEY_TIME = 2 ** 63;

const MISMATCH = "ERR The `numfields` parameter must match the number of arguments";

/** Valkey has one message for commands that read times, another for the rest. */
function valkeyMismatch(args: readonly string[]): string {
  if (/^h(p?ttl|p?expiretime)$/i.test(at(args, 0))) return "ERR syntax error";
  return "ERR numfields should be greater than 0 and match the provided number of fields";
}

interface FieldList {
  readonly fields: readonly string[];
  readonly condition: string;
}

/** `[NX | XX | GT | LT] FIELDS count field …` from a place on. */
function fieldList(caller: Caller, args: readonly string[], from: number): FieldList {
  const isValkey = caller.engine.version.product === "valkey";
  // Redis checks the key first.
  if (!isValkey) caller.database.read(at(args, 1), HashValue);
  let place = from;
  let condition = "";
  if (/^(NX|XX|GT|LT)$/.test(word(args, place))) condition = word(args, place++);
  if (word(args, place) !== "FIELDS") {
    throw new ErrorReply("ERR Mandatory argument FIELDS is missing or not at the right position");
  }
  const message = "ERR Number of fields must be a positive integer";
  const count = integerOf(args[place + 1] ?? "", message);
  if (count < 1) throw new ErrorReply(message);
  const fields = args.slice(place + 2);
  if (fields.length !== count) throw new ErrorReply(isValkey ? valkeyMismatch(args) : MISMATCH);
  return { fields, condition };
}

function isAllowed(condition: string, old: number | undefined, next: number): boolean {
  switch (condition) {
    case "NX":
      return old === undefined;
    case "XX":
      return old !== undefined;
    case "GT":
      return old !== undefined && next > old;
    case "LT":
      return old === undefined || next < old;
    default:
      return true;
  }
}

interface TimeContext {
  readonly now: number;
  readonly command: string;
  readonly isValkey: boolean;
}

export function fieldTime(text: string, unit: ExpiryUnit, context: TimeContext): number {
  const parsed = parseInteger(text);
  if (parsed === null) throw new ErrorReply(NOT_AN_INTEGER);
  const invalid = new ErrorReply(`ERR invalid expire time in '${context.command}' command`);
  if (parsed < 0) throw context.isValkey ? invalid : new ErrorReply("ERR invalid expire time, must be >= 0");
  const value = Number(parsed) * (unit.isSeconds ? 1000 : 1) + (unit.isAbsolute ? 0 : context.now);
  if (value > (context.isValkey ? MAX_VALKEY_TIME : MAX_TIME)) throw invalid;
  return value;
}

function expire(command: string, unit: ExpiryUnit): Handler {
  return (caller, args) => {
    const { database, engine } = caller;
    const key = at(args, 1);
    const { now } = engine.clock;
    const isValkey = engine.version.product === "valkey";
    if (isValkey) fieldList(caller, args, 3);
    else database.read(key, HashValue);
    const time = fieldTime(at(args, 2), unit, { now, command, isValkey });
    const { fields, condition } = fieldList(caller, args, 3);
    if (liveHash(database, key, now) === undefined) return fields.map(() => NO_FIELD);
    const hash = database.write(key, HashValue) as HashValue;
    // Redis switches to the encoding with times even if no field gets one.
    if (!isValkey) hash.expiries ??= new Map();
    const replies = fields.map((field) => {
      if (!hash.fields.has(field)) return NO_FIELD;
      if (!isAllowed(condition, hash.expiries?.get(field), time)) return NOT_MET;
      if (time <= now) {
        hash.delete(field);
        return DELETED;
      }
      hash.expiries ??= new Map();
      // Valkey has no small form with times in it.
      if (isValkey) hash.isBig = true;
      hash.expiries.set(field, time);
      return DONE;
    });
    const isDeleted = replies.includes(DELETED);
    if (isDeleted || replies.includes(DONE))
      database.modified(key, "h", isDeleted ? pastEvent(engine) : "hexpire");
    database.removeIfEmpty(key, hash);
    return replies;
  };
}

function remaining(divisor: number, isAbsolute: boolean): Handler {
  return (caller, args) => {
    const { fields } = fieldList(caller, args, 2);
    const { now } = caller.engine.clock;
    const hash = liveHash(caller.database, at(args, 1), now);
    return fields.map((field) => {
      if (hash === undefined || !hash.fields.has(field)) return NO_FIELD;
      const time = hash.expiries?.get(field);
      if (time === undefined) return -1;
      return Math.ceil((isAbsolute ? time : time - now) / divisor);
    });
  };
}

function persist(caller: Caller, args: readonly string[]): ReplyValue {
  const { fields } = fieldList(caller, args, 2);
  const { database } = caller;
  const key = at(args, 1);
  if (liveHash(database, key, caller.engine.clock.now) === undefined) return fields.map(() => NO_FIELD);
  const hash = database.write(key, HashValue) as HashValue;
  const replies = fields.map((field) => {
    if (!hash.fields.has(field)) return NO_FIELD;
    return hash.expiries?.delete(field) ? DONE : -1;
  });
  if (replies.includes(DONE)) database.modified(key, "h", "hpersist");
  return replies;
}

function hgetdel(caller: Caller, args: readonly string[]): ReplyValue {
  const { fields } = fieldList(caller, args, 2);
  const { database } = caller;
  const key = at(args, 1);
  if (liveHash(database, key, caller.engine.clock.now) === undefined) return fields.map(() => null);
  const hash = database.write(key, HashValue) as HashValue;
  let isChanged = false;
  const values = fields.map((field) => {
    const value = hash.fields.get(field) ?? null;
    if (hash.delete(field)) isChanged = true;
    return value;
  });
  if (isChanged) database.modified(key, "h", "hdel");
  database.removeIfEmpty(key, hash);
  return values;
}

const SECONDS: ExpiryUnit = { isSeconds: true, isAbsolute: false };
const MILLISECONDS: ExpiryUnit = { isSeconds: false, isAbsolute: false };

export const hashExpiryHandlers: Handlers = {
  hexpire: expire("hexpire", SECONDS),
  hpexpire: expire("hpexpire", MILLISECONDS),
  hexpireat: expire("hexpireat", { ...SECONDS, isAbsolute: true }),
  hpexpireat: expire("hpexpireat", { ...MILLISECONDS, isAbsolute: true }),
  httl: remaining(1000, false),
  hpttl: remaining(1, false),
  hexpiretime: remaining(1000, true),
  hpexpiretime: remaining(1, true),
  hpersist: persist,
  hgetdel,
};
