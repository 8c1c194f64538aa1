/**
 * Keys of any kind: deletion, expiry, renaming, copies, enumeration.
 */

import type { Database } from "../keyspace/database";
import { typeOf, type Value, type ValueType } from "../keyspace/values";
import { matchesGlob } from "../protocol/glob";
import { integerOf } from "../protocol/numbers";
import { ErrorReply, OK, type ReplyValue, Status } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, following, NO_SUCH_KEY, syntaxError, word } from "./arguments";
import { encodingOf, referenceCount } from "./encodings";
import { EXPIRY_OPTIONS, type ExpiryUnit, expiryTime } from "./expiry-options";
import { scanKeys, scanOptions } from "./scan";

function deleteKeys(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  let count = 0;
  for (let index = 1; index < args.length; index++) {
    const key = at(args, index);
    if (!database.delete(key)) continue;
    database.modified(key, "g", "del");
    count++;
  }
  return count;
}

interface ExpireConditions {
  isNew: boolean;
  isPresent: boolean;
  isGreater: boolean;
  isLess: boolean;
}

function expireConditions(args: readonly string[], from: number): ExpireConditions {
  const found: ExpireConditions = { isNew: false, isPresent: false, isGreater: false, isLess: false };
  for (let index = from; index < args.length; index++) {
    const option = word(args, index);
    if (option === "NX") found.isNew = true;
    else if (option === "XX") found.isPresent = true;
    else if (option === "GT") found.isGreater = true;
    else if (option === "LT") found.isLess = true;
    else throw new ErrorReply(`ERR Unsupported option ${at(args, index)}`);
  }
  if (found.isNew && (found.isPresent || found.isGreater || found.isLess)) {
    throw new ErrorReply("ERR NX and XX, GT or LT options at the same time are not compatible");
  }
  if (found.isGreater && found.isLess) {
    throw new ErrorReply("ERR GT and LT options at the same time are not compatible");
  }
  return found;
}

/** Whether a time of expiry may replace another (0: none). */
function mayExpire(conditions: ExpireConditions, old: number, next: number): boolean {
  if (conditions.isNew) return old === 0;
  if (conditions.isPresent && old === 0) return false;
  if (conditions.isGreater && (old === 0 || next <= old)) return false;
  return !(conditions.isLess && old !== 0 && next >= old);
}

function expire(command: string, unit: ExpiryUnit): Handler {
  return (caller, args) => {
    const { database, engine } = caller;
    const key = at(args, 1);
    const conditions = expireConditions(args, 3);
    const time = expiryTime(at(args, 2), unit, { now: engine.clock.now, command });
    const entry = database.find(key);
    if (entry === undefined || !mayExpire(conditions, entry.expireAt, time)) return 0;
    if (time <= engine.clock.now) {
      database.delete(key);
      if (engine.version.product === "valkey") database.modified(key, "x", "expired");
      else database.modified(key, "g", "del");
    } else {
      database.setExpiry(key, time);
      database.modified(key, "g", "expire");
    }
    return 1;
  };
}

function remaining(divisor: number, isAbsolute: boolean): Handler {
  return (caller, args) => {
    const entry = caller.database.find(at(args, 1));
    if (entry === undefined) return -2;
    if (entry.expireAt === 0) return -1;
    if (isAbsolute) return Math.floor(entry.expireAt / divisor);
    const left = entry.expireAt - caller.engine.clock.now;
    return divisor === 1 ? left : Math.floor((left + 500) / divisor);
  };
}

interface Move {
  readonly from: Database;
  readonly to: Database;
  readonly source: string;
  readonly target: string;
}

function rename(caller: Caller, args: readonly string[], onlyNew: boolean): ReplyValue {
  const { database } = caller;
  const [source, target] = [at(args, 1), at(args, 2)];
  const entry = database.find(source);
  if (entry === undefined) throw new ErrorReply(NO_SUCH_KEY);
  if (source === target) return onlyNew ? 0 : OK;
  if (onlyNew && database.has(target)) return 0;
  transfer({ from: database, to: database, source, target });
  database.modified(source, "g", "rename_from");
  database.modified(target, "g", "rename_to");
  return onlyNew ? 1 : OK;
}

/** The value with its time of expiry goes to another key. */
function transfer({ from, to, source, target }: Move): void {
  const entry = from.find(source);
  if (entry === undefined) return;
  // A snapshot may share the value, and the key that held it is gone: the copy is the caller's own.
  const { value, expireAt, form } = entry;
  to.delete(target);
  from.delete(source);
  to.set(target, cloneOf(value), { expireAt, form });
}

function cloneOf(value: Value): Value {
  return typeof value === "string" ? value : value.clone();
}

function databaseOf(caller: Caller, text: string): Database {
  const index = integerOf(text);
  const found = caller.engine.allDatabases[index];
  if (found === undefined) throw new ErrorReply("ERR DB index is out of range");
  return found;
}

function copy(caller: Caller, args: readonly string[]): ReplyValue {
  let to = caller.database;
  let replaces = false;
  for (let index = 3; index < args.length; index++) {
    const option = word(args, index);
    if (option === "REPLACE") replaces = true;
    else if (option === "DB") to = databaseOf(caller, following(args, index++));
    else throw syntaxError();
  }
  const [source, target] = [at(args, 1), at(args, 2)];
  if (to === caller.database && source === target) {
    throw new ErrorReply("ERR source and destination objects are the same");
  }
  const entry = caller.database.find(source);
  if (entry === undefined) return 0;
  if (to.has(target)) {
    if (!replaces) return 0;
    to.delete(target);
  }
  const { value, expireAt, form } = entry;
  to.set(target, cloneOf(value), { expireAt, form: form === "plain" ? "unshared" : form });
  to.modified(target, "g", "copy_to");
  return 1;
}

function move(caller: Caller, args: readonly string[]): ReplyValue {
  const index = integerOf(at(args, 2));
  const to = caller.engine.allDatabases[index];
  if (to === undefined) throw new ErrorReply("ERR DB index is out of range");
  const key = at(args, 1);
  const from = caller.database;
  if (to === from) throw new ErrorReply("ERR source and destination objects are the same");
  if (!from.has(key) || to.has(key)) return 0;
  transfer({ from, to, source: key, target: key });
  from.modified(key, "g", "move_from");
  to.modified(key, "g", "move_to");
  return 1;
}

function randomKey(caller: Caller): ReplyValue {
  const keys = [...caller.database.liveKeys()];
  return keys[caller.engine.random.below(keys.length)] ?? null;
}

function keys(caller: Caller, args: readonly string[]): ReplyValue {
  const pattern = at(args, 1);
  const found: string[] = [];
  for (const key of caller.database.liveKeys()) if (matchesGlob(pattern, key)) found.push(key);
  return found;
}

const TYPES: ReadonlySet<string> = new Set<ValueType>(["string", "list", "set", "zset", "hash", "stream"]);

function scan(caller: Caller, args: readonly string[]): ReplyValue {
  const options = scanOptions(args, 1, ["MATCH", "COUNT", "TYPE"]);
  const { database } = caller;
  const page = scanKeys(database.liveKeys(), options);
  const type = options.type?.toLowerCase();
  if (type !== undefined && !TYPES.has(type) && caller.engine.version.product === "valkey") {
    throw new ErrorReply(`ERR unknown type name '${options.type}'`);
  }
  const found = page.keys.filter((key) => {
    if (options.pattern !== null && !matchesGlob(options.pattern, key)) return false;
    if (type === undefined) return true;
    const value = database.find(key)?.value;
    return value !== undefined && typeOf(value) === type;
  });
  return [page.cursor, found];
}

function entryOf(caller: Caller, key: string) {
  return caller.database.find(key);
}

function isLeastFrequent(caller: Caller): boolean {
  return caller.engine.configuration.get("maxmemory-policy").includes("lfu");
}

export const keyHandlers: Handlers = {
  del: deleteKeys,
  unlink: deleteKeys,
  exists(caller, args) {
    let count = 0;
    for (let index = 1; index < args.length; index++) if (caller.database.has(at(args, index))) count++;
    return count;
  },
  touch(caller, args) {
    let count = 0;
    for (let index = 1; index < args.length; index++) if (caller.database.has(at(args, index))) count++;
    return count;
  },
  type(caller, args) {
    const value = entryOf(caller, at(args, 1))?.value;
    return new Status(value === undefined ? "none" : typeOf(value));
  },
  expire: expire("expire", EXPIRY_OPTIONS["EX"] as ExpiryUnit),
  pexpire: expire("pexpire", EXPIRY_OPTIONS["PX"] as ExpiryUnit),
  expireat: expire("expireat", EXPIRY_OPTIONS["EXAT"] as ExpiryUnit),
  pexpireat: expire("pexpireat", EXPIRY_OPTIONS["PXAT"] as ExpiryUnit),
  ttl: remaining(1000, false),
  pttl: remaining(1, false),
  expiretime: remaining(1000, true),
  pexpiretime: remaining(1, true),
  persist(caller, args) {
    const key = at(args, 1);
    const entry = caller.database.find(key);
    if (entry === undefined || entry.expireAt === 0) return 0;
    caller.database.setExpiry(key, 0);
    caller.database.modified(key, "g", "persist");
    return 1;
  },
  rename: (caller, args) => rename(caller, args, false),
  renamenx: (caller, args) => rename(caller, args, true),
  copy,
  move,
  randomkey: randomKey,
  keys,
  scan,
  dbsize: (caller) => caller.database.size,
  flushdb: (caller, args) => flush(caller, args, [caller.database]),
  flushall: (caller, args) => flush(caller, args, caller.engine.allDatabases),
  swapdb(caller, args) {
    const [a, b] = [1, 2].map((place) => {
      const which = place === 1 ? "first" : "second";
      const index = integerOf(at(args, place), `ERR invalid ${which} DB index`);
      const found = caller.engine.allDatabases[index];
      if (found === undefined) throw new ErrorReply("ERR DB index is out of range");
      return found;
    });
    if (a !== undefined && b !== undefined && a !== b) a.swapWith(b);
    return OK;
  },
  "object|encoding"(caller, args) {
    const entry = entryOf(caller, at(args, 2));
    return entry === undefined ? null : encodingOf(entry, caller.engine);
  },
  "object|refcount"(caller, args) {
    const entry = entryOf(caller, at(args, 2));
    return entry === undefined ? null : referenceCount(entry, caller.engine);
  },
  "object|idletime"(caller, args) {
    const entry = entryOf(caller, at(args, 2));
    if (entry === undefined) return null;
    if (isLeastFrequent(caller)) {
      throw new ErrorReply(
        "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
      );
    }
    return Math.floor((caller.engine.clock.now - entry.usedAt) / 1000);
  },
  "object|freq"(caller, args) {
    if (entryOf(caller, at(args, 2)) === undefined) return null;
    if (!isLeastFrequent(caller)) {
      throw new ErrorReply(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
      );
    }
    return 5;
  },
};

function flush(caller: Caller, args: readonly string[], databases: readonly Database[]): ReplyValue {
  const mode = word(args, 1);
  if (args.length > 2 || (args.length === 2 && mode !== "ASYNC" && mode !== "SYNC")) throw syntaxError();
  const { tracking } = caller.engine;
  // Those who track keys are told even where there was none.
  if (tracking.isActive && databases.every(({ size }) => size === 0)) tracking.invalidateAll();
  for (const database of databases) database.flush();
  return OK;
}
