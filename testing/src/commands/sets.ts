/**
 * Sets and their algebra.
 */

import type { Database } from "../keyspace/database";
import { SetValue } from "../keyspace/values";
import { matchesGlob } from "../protocol/glob";
import { integerOf } from "../protocol/numbers";
import { ErrorReply, type ReplyValue, SetReply } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, following, NOT_POSITIVE, syntaxError, word } from "./arguments";
import { growSet } from "./encodings";
import { sample } from "./sampling";
import { cursorOf, scanKeys, scanOptions } from "./scan";

const NONE: ReadonlySet<string> = new Set();

function membersOf(database: Database, key: string): ReadonlySet<string> {
  return database.read(key, SetValue)?.members ?? NONE;
}

function listOf(database: Database, key: string): string[] {
  return database.read(key, SetValue)?.list() ?? [];
}

function sadd(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const set = database.writeOrCreate(key, SetValue);
  let added = 0;
  for (let index = 2; index < args.length; index++) if (addMember(caller, set, at(args, index))) added++;
  if (added > 0) database.modified(key, "s", "sadd");
  return added;
}

function addMember(caller: Caller, set: SetValue, member: string): boolean {
  if (set.members.has(member)) return false;
  set.members.add(member);
  growSet(set, member, caller.engine);
  return true;
}

function srem(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const set = database.write(key, SetValue);
  if (set === undefined) return 0;
  let removed = 0;
  for (let index = 2; index < args.length; index++) if (set.members.delete(at(args, index))) removed++;
  if (removed === 0) return 0;
  database.modified(key, "s", "srem");
  database.removeIfEmpty(key, set);
  return removed;
}

function smove(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const [source, target, member] = [at(args, 1), at(args, 2), at(args, 3)];
  const from = database.read(source, SetValue);
  if (from === undefined) return 0;
  database.read(target, SetValue);
  if (!from.members.has(member)) return 0;
  if (source === target) return 1;
  const own = database.write(source, SetValue) as SetValue;
  own.members.delete(member);
  database.modified(source, "s", "srem");
  database.removeIfEmpty(source, own);
  const to = database.writeOrCreate(target, SetValue);
  if (addMember(caller, to, member)) database.modified(target, "s", "sadd");
  return 1;
}

function spop(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 3) throw syntaxError();
  const { database, engine } = caller;
  const key = at(args, 1);
  const count = args.length === 3 ? integerOf(at(args, 2), NOT_POSITIVE) : null;
  if (count !== null && count < 0) throw new ErrorReply(NOT_POSITIVE);
  const set = database.write(key, SetValue);
  if (set === undefined) return count === null ? null : new SetReply([]);
  if (count === 0) return new SetReply([]);
  const chosen = sample(set.list(), count ?? 1, engine.random);
  for (const member of chosen) set.members.delete(member);
  database.modified(key, "s", "spop");
  database.removeIfEmpty(key, set);
  return count === null ? (chosen[0] as string) : new SetReply(chosen);
}

function srandmember(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 3) throw syntaxError();
  const count = args.length === 3 ? integerOf(at(args, 2)) : null;
  const members = listOf(caller.database, at(args, 1));
  if (count === null) return members[caller.engine.random.below(members.length)] ?? null;
  if (count < -(2 ** 62)) throw new ErrorReply("ERR value is out of range");
  return sample(members, count, caller.engine.random);
}

type Algebra = (database: Database, keys: readonly string[]) => string[];

function intersection(database: Database, keys: readonly string[]): string[] {
  const sets = keys.map((key) => membersOf(database, key));
  const smallest = sets.reduce((a, b) => (b.size < a.size ? b : a));
  return [...smallest].filter((member) => sets.every((set) => set.has(member)));
}

function union(database: Database, keys: readonly string[]): string[] {
  const all = new Set<string>();
  for (const key of keys) for (const member of listOf(database, key)) all.add(member);
  return [...all];
}

function difference(database: Database, keys: readonly string[]): string[] {
  const [first = "", ...others] = keys;
  const left = listOf(database, first);
  const sets = others.map((key) => membersOf(database, key));
  return left.filter((member) => !sets.some((set) => set.has(member)));
}

function show(algebra: Algebra): Handler {
  return (caller, args) => new SetReply(ordered(caller, algebra(caller.database, args.slice(1))));
}

/** Small sets of numbers come in their order. */
function ordered(caller: Caller, members: readonly string[]): string[] {
  return newSet(caller, members).list();
}

function newSet(caller: Caller, members: readonly string[]): SetValue {
  const set = new SetValue();
  for (const member of members) addMember(caller, set, member);
  return set;
}

function store(algebra: Algebra, event: string): Handler {
  return (caller, args) => {
    const { database } = caller;
    const target = at(args, 1);
    const set = newSet(caller, algebra(database, args.slice(2)));
    if (set.size > 0) {
      database.set(target, set);
      database.modified(target, "s", event);
    } else if (database.delete(target)) database.modified(target, "g", "del");
    return set.size;
  };
}

function sintercard(caller: Caller, args: readonly string[]): ReplyValue {
  const size = integerOf(at(args, 1), "ERR numkeys should be greater than 0");
  if (size <= 0) throw new ErrorReply("ERR numkeys should be greater than 0");
  if (size > args.length - 2) throw new ErrorReply("ERR Number of keys can't be greater than number of args");
  let limit = 0;
  for (let index = 2 + size; index < args.length; index++) {
    if (word(args, index) !== "LIMIT") throw syntaxError();
    limit = integerOf(following(args, index++), "ERR LIMIT can't be negative");
    if (limit < 0) throw new ErrorReply("ERR LIMIT can't be negative");
  }
  const count = intersection(caller.database, args.slice(2, 2 + size)).length;
  return limit === 0 ? count : Math.min(limit, count);
}

function sscan(caller: Caller, args: readonly string[]): ReplyValue {
  cursorOf(at(args, 2));
  const set = caller.database.read(at(args, 1), SetValue);
  if (set === undefined) return ["0", []];
  const options = scanOptions(args, 2, ["MATCH", "COUNT"]);
  const page =
    set.encoding === "hashtable" ? scanKeys(set.members, options) : { cursor: "0", keys: set.list() };
  const { pattern } = options;
  return [page.cursor, page.keys.filter((member) => pattern === null || matchesGlob(pattern, member))];
}

export const setHandlers: Handlers = {
  sadd,
  srem,
  smove,
  spop,
  srandmember,
  smembers: (caller, args) => new SetReply(listOf(caller.database, at(args, 1))),
  scard: (caller, args) => membersOf(caller.database, at(args, 1)).size,
  sismember: (caller, args) => (membersOf(caller.database, at(args, 1)).has(at(args, 2)) ? 1 : 0),
  smismember(caller, args) {
    const members = membersOf(caller.database, at(args, 1));
    return args.slice(2).map((member) => (members.has(member) ? 1 : 0));
  },
  sinter: show(intersection),
  sunion: show(union),
  sdiff: show(difference),
  sinterstore: store(intersection, "sinterstore"),
  sunionstore: store(union, "sunionstore"),
  sdiffstore: store(difference, "sdiffstore"),
  sintercard,
  sscan,
};
