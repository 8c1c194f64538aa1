/**
 * Hashes. Expiry of fields is in hash-expiry.ts; every handler reads through `liveHash`, which
 * drops the fields whose time is over.
 */

import { HashValue } from "../keyspace/values";
import { matchesGlob } from "../protocol/glob";
import { addLongDoubles, formatLongDouble, parseLongDouble } from "../protocol/long-double";
import { integerOf, isInt64, NOT_AN_INTEGER, narrow, parseInteger } from "../protocol/numbers";
import { ErrorReply, MapReply, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, syntaxError, word } from "./arguments";
import { growHash } from "./encodings";
import { liveHash } from "./live-hash";
import { sample } from "./sampling";
import { cursorOf, scanKeys, scanOptions } from "./scan";

function hashOf(caller: Caller, key: string): HashValue | undefined {
  return liveHash(caller.database, key, caller.engine.clock.now);
}

function hashToWrite(caller: Caller, key: string): HashValue {
  hashOf(caller, key);
  return caller.database.writeOrCreate(key, HashValue);
}

/** Sets a field and ends its time of expiry. True if it is new. */
function setField(caller: Caller, hash: HashValue, pair: readonly [string, string]): boolean {
  const [field, value] = pair;
  const isNew = !hash.fields.has(field);
  hash.fields.set(field, value);
  hash.expiries?.delete(field);
  growHash(hash, field, value, caller.engine);
  return isNew;
}

function setFields(caller: Caller, args: readonly string[]): number {
  if (args.length % 2 === 1) {
    throw new ErrorReply(`ERR wrong number of arguments for '${at(args, 0).toLowerCase()}' command`);
  }
  const key = at(args, 1);
  const hash = hashToWrite(caller, key);
  let added = 0;
  for (let index = 2; index < args.length; index += 2) {
    if (setField(caller, hash, [at(args, index), at(args, index + 1)])) added++;
  }
  caller.database.modified(key, "h", "hset");
  return added;
}

function hincrby(caller: Caller, args: readonly string[]): ReplyValue {
  const increment = parseInteger(at(args, 3));
  if (increment === null) throw new ErrorReply(NOT_AN_INTEGER);
  const [key, field] = [at(args, 1), at(args, 2)];
  const old = parseInteger(hashOf(caller, key)?.fields.get(field) ?? "0");
  if (old === null) throw new ErrorReply("ERR hash value is not an integer");
  const sum = BigInt(old) + BigInt(increment);
  if (!isInt64(sum)) throw new ErrorReply("ERR increment or decrement would overflow");
  storeNumber(caller, { key, field, value: String(sum), event: "hincrby" });
  return narrow(sum);
}

interface FieldWrite {
  readonly key: string;
  readonly field: string;
  readonly value: string;
  readonly event: string;
}

/** A number in a field: the field keeps its time of expiry. */
function storeNumber(caller: Caller, { key, field, value, event }: FieldWrite): void {
  const hash = hashToWrite(caller, key);
  hash.fields.set(field, value);
  growHash(hash, field, value, caller.engine);
  caller.database.modified(key, "h", event);
}

function hincrbyfloat(caller: Caller, args: readonly string[]): ReplyValue {
  const [key, field] = [at(args, 1), at(args, 2)];
  if (/^[+-]?inf(inity)?$/i.test(at(args, 3))) throw new ErrorReply("ERR value is NaN or Infinity");
  const increment = parseLongDouble(at(args, 3));
  if (increment === null) throw new ErrorReply("ERR value is not a valid float");
  const old = parseLongDouble(hashOf(caller, key)?.fields.get(field) ?? "0");
  if (old === null) throw new ErrorReply("ERR hash value is not a float");
  const sum = formatLongDouble(addLongDoubles(old, increment));
  storeNumber(caller, { key, field, value: sum, event: "hincrbyfloat" });
  return sum;
}

function hdel(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 1);
  if (hashOf(caller, key) === undefined) return 0;
  const hash = caller.database.write(key, HashValue) as HashValue;
  let count = 0;
  for (let index = 2; index < args.length; index++) if (hash.delete(at(args, index))) count++;
  if (count === 0) return 0;
  caller.database.modified(key, "h", "hdel");
  caller.database.removeIfEmpty(key, hash);
  return count;
}

function hrandfield(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 4 || (args.length === 4 && word(args, 3) !== "WITHVALUES")) throw syntaxError();
  const count = args.length > 2 ? integerOf(at(args, 2)) : null;
  const withValues = args.length > 3;
  if (count !== null && withValues && Math.abs(count) > Number.MAX_SAFE_INTEGER / 2) {
    throw new ErrorReply("ERR value is out of range");
  }
  const hash = hashOf(caller, at(args, 1));
  if (hash === undefined) return count === null ? null : [];
  const fields = [...hash.fields.keys()];
  if (count === null) return fields[caller.engine.random.below(fields.length)] as string;
  const chosen = sample(fields, count, caller.engine.random);
  if (!withValues) return chosen;
  if (caller.protocol === 3) return chosen.map((field) => [field, hash.fields.get(field) as string]);
  return chosen.flatMap((field) => [field, hash.fields.get(field) as string]);
}

function hscan(caller: Caller, args: readonly string[]): ReplyValue {
  const known = caller.engine.version.isModern ? ["MATCH", "COUNT", "NOVALUES"] : ["MATCH", "COUNT"];
  cursorOf(at(args, 2));
  const hash = hashOf(caller, at(args, 1));
  if (hash === undefined) return ["0", []];
  const options = scanOptions(args, 2, known);
  const page = hash.isBig
    ? scanKeys(hash.fields.keys(), options)
    : { cursor: "0", keys: [...hash.fields.keys()] };
  const { pattern } = options;
  const found = page.keys.filter((field) => pattern === null || matchesGlob(pattern, field));
  if (options.hasNoValues) return [page.cursor, found];
  return [page.cursor, found.flatMap((field) => [field, hash.fields.get(field) as string])];
}

export const hashHandlers: Handlers = {
  hset: setFields,
  hmset(caller, args) {
    setFields(caller, args);
    return OK;
  },
  hsetnx(caller, args) {
    const [key, field] = [at(args, 1), at(args, 2)];
    if (hashOf(caller, key)?.fields.has(field)) return 0;
    setField(caller, hashToWrite(caller, key), [field, at(args, 3)]);
    caller.database.modified(key, "h", "hset");
    return 1;
  },
  hget: (caller, args) => hashOf(caller, at(args, 1))?.fields.get(at(args, 2)) ?? null,
  hmget(caller, args) {
    const hash = hashOf(caller, at(args, 1));
    return args.slice(2).map((field) => hash?.fields.get(field) ?? null);
  },
  hgetall: (caller, args) => new MapReply([...(hashOf(caller, at(args, 1))?.fields ?? [])].flat()),
  hkeys: (caller, args) => [...(hashOf(caller, at(args, 1))?.fields.keys() ?? [])],
  hvals: (caller, args) => [...(hashOf(caller, at(args, 1))?.fields.values() ?? [])],
  hlen: (caller, args) => hashOf(caller, at(args, 1))?.size ?? 0,
  hexists: (caller, args) => (hashOf(caller, at(args, 1))?.fields.has(at(args, 2)) ? 1 : 0),
  hstrlen: (caller, args) => hashOf(caller, at(args, 1))?.fields.get(at(args, 2))?.length ?? 0,
  hdel,
  hincrby,
  hincrbyfloat,
  hrandfield,
  hscan,
};
