/**
 * DUMP and RESTORE: values in the format of the servers' files, which real servers read and write
 * as well.
 */

import { BadPayload, dumpValue, isIntact, loadValue } from "../keyspace/rdb";
import { SortedSetValue } from "../keyspace/sorted-set-value";
import type { Value } from "../keyspace/values";
import { HashValue, SetValue } from "../keyspace/values";
import { integerOf } from "../protocol/numbers";
import { ErrorReply, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handlers } from "../server/model";
import { at, following, syntaxError, word } from "./arguments";
import { growHash, growSet, growSortedSet } from "./encodings";

/** Of the format that each version writes. */
const FORMATS: Readonly<Record<string, number>> = { "7.0": 10, "8.2": 12, "valkey-9.1": 80 };

function formatOf(caller: Caller): number {
  return FORMATS[caller.engine.version.name] as number;
}

function dump(caller: Caller, args: readonly string[]): ReplyValue {
  const entry = caller.database.find(at(args, 1));
  if (entry === undefined) return null;
  const text = dumpValue(entry.value, formatOf(caller));
  if (text !== null) return text;
  throw new ErrorReply(
    "ERR TestServer does not support DUMP of a stream or of a hash whose fields expire; test it with RealServer",
  );
}

interface RestoreOptions {
  replaces: boolean;
  isAbsolute: boolean;
}

function restoreOptions(args: readonly string[]): RestoreOptions {
  const options = { replaces: false, isAbsolute: false };
  for (let index = 4; index < args.length; index++) {
    const name = word(args, index);
    if (name === "REPLACE") options.replaces = true;
    else if (name === "ABSTTL") options.isAbsolute = true;
    else if (name === "IDLETIME") {
      if (integerOf(following(args, index++)) < 0)
        throw new ErrorReply("ERR Invalid IDLETIME value, must be >= 0");
    } else if (name === "FREQ") {
      const frequency = integerOf(following(args, index++));
      if (frequency < 0 || frequency > 255)
        throw new ErrorReply("ERR Invalid FREQ value, must be >= 0 and <= 255");
    } else throw syntaxError();
  }
  return options;
}

function restoredValue(payload: string, format: number): Value {
  if (!isIntact(payload, format)) throw new ErrorReply("ERR DUMP payload version or checksum are wrong");
  let value: Value | null;
  try {
    value = loadValue(payload);
  } catch (error) {
    if (error instanceof BadPayload || error instanceof RangeError)
      throw new ErrorReply("ERR Bad data format");
    throw error;
  }
  if (value !== null) return value;
  throw new ErrorReply(
    "ERR TestServer does not support RESTORE of a stream, a module's value or a hash whose fields expire; test it with RealServer",
  );
}

/** The form that the value would have grown into. */
function settle(caller: Caller, value: Value): void {
  const { engine } = caller;
  if (value instanceof HashValue)
    for (const [field, text] of value.fields) growHash(value, field, text, engine);
  else if (value instanceof SortedSetValue)
    for (const { member } of value.members) growSortedSet(value, member, engine);
  else if (value instanceof SetValue) for (const member of value.members) growSet(value, member, engine);
}

function restore(caller: Caller, args: readonly string[]): ReplyValue {
  const { database, engine } = caller;
  const options = restoreOptions(args);
  const key = at(args, 1);
  if (!options.replaces && database.has(key)) throw new ErrorReply("BUSYKEY Target key name already exists.");
  const ttl = integerOf(at(args, 2));
  if (ttl < 0) throw new ErrorReply("ERR Invalid TTL value, must be >= 0");
  const value = restoredValue(at(args, 3), formatOf(caller));
  settle(caller, value);
  const isReplaced = options.replaces && database.delete(key);
  const { now } = engine.clock;
  const expireAt = ttl === 0 ? 0 : options.isAbsolute ? ttl : now + ttl;
  if (expireAt !== 0 && expireAt <= now) {
    if (isReplaced) database.modified(key, "g", "del");
    return OK;
  }
  database.set(key, value, { expireAt });
  database.modified(key, "g", "restore");
  return OK;
}

export const dumpHandlers: Handlers = { dump, restore, "restore-asking": restore };
