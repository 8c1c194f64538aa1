/**
 * Lists, with the commands that wait for elements.
 */

import { ListValue } from "../keyspace/list-value";
import { integerOf } from "../protocol/numbers";
import { BLOCKED, ErrorReply, NULL_ARRAY, OK, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import {
  at,
  blockingTimeout,
  clampRange,
  following,
  NO_SUCH_KEY,
  NOT_POSITIVE,
  syntaxError,
  word,
} from "./arguments";

type End = "LEFT" | "RIGHT";

function endOf(text: string): End {
  const end = text.toUpperCase();
  if (end !== "LEFT" && end !== "RIGHT") throw syntaxError();
  return end;
}

function add(list: ListValue, value: string, end: End): void {
  if (end === "LEFT") list.unshift(value);
  else list.push(value);
}

function take(list: ListValue, end: End): string | undefined {
  return end === "LEFT" ? list.shift() : list.pop();
}

function push(end: End, onlyIfPresent: boolean): Handler {
  return (caller, args) => {
    const { database } = caller;
    const key = at(args, 1);
    const list = onlyIfPresent ? database.write(key, ListValue) : database.writeOrCreate(key, ListValue);
    if (list === undefined) return 0;
    for (let index = 2; index < args.length; index++) add(list, at(args, index), end);
    database.modified(key, "l", end === "LEFT" ? "lpush" : "rpush");
    return list.size;
  };
}

/** Takes elements from one end, with everything that follows from it. */
function takeFrom(caller: Caller, key: string, end: End, count: number): string[] {
  const { database } = caller;
  const list = database.write(key, ListValue) as ListValue;
  const taken: string[] = [];
  while (taken.length < count && list.size > 0) taken.push(take(list, end) as string);
  database.modified(key, "l", end === "LEFT" ? "lpop" : "rpop");
  database.removeIfEmpty(key, list);
  return taken;
}

function pop(end: End): Handler {
  return (caller, args) => {
    if (args.length > 3) {
      throw new ErrorReply(`ERR wrong number of arguments for '${at(args, 0).toLowerCase()}' command`);
    }
    const key = at(args, 1);
    const count = args.length === 3 ? integerOf(at(args, 2), NOT_POSITIVE) : null;
    if (count !== null && count < 0) throw new ErrorReply(NOT_POSITIVE);
    const list = caller.database.read(key, ListValue);
    if (list === undefined) return count === null ? null : NULL_ARRAY;
    if (count === 0) return [];
    const taken = takeFrom(caller, key, end, count ?? 1);
    return count === null ? (taken[0] as string) : taken;
  };
}

function blockingPop(end: End): Handler {
  return (caller, args) => {
    const timeoutMs = blockingTimeout(at(args, args.length - 1));
    const keys = args.slice(1, -1);
    const attempt = (): ReplyValue => {
      for (const key of keys) {
        if (caller.database.read(key, ListValue) !== undefined) {
          return [key, takeFrom(caller, key, end, 1)[0] as string];
        }
      }
      return BLOCKED;
    };
    return caller.engine.blocking.attemptOrWait(caller, { keys, timeoutMs, attempt });
  };
}

interface Move {
  readonly source: string;
  readonly target: string;
  readonly from: End;
  readonly to: End;
}

function moveElement(caller: Caller, { source, target, from, to }: Move): ReplyValue {
  const { database } = caller;
  if (database.read(source, ListValue) === undefined) return BLOCKED;
  database.read(target, ListValue);
  const list = database.write(source, ListValue) as ListValue;
  const value = take(list, from) as string;
  add(database.writeOrCreate(target, ListValue), value, to);
  database.modified(target, "l", to === "LEFT" ? "lpush" : "rpush");
  database.modified(source, "l", from === "LEFT" ? "lpop" : "rpop");
  database.removeIfEmpty(source, list);
  return value;
}

function moveNow(caller: Caller, move: Move): ReplyValue {
  const reply = moveElement(caller, move);
  return reply === BLOCKED ? null : reply;
}

function moveOrWait(caller: Caller, move: Move, timeout: string): ReplyValue {
  return caller.engine.blocking.attemptOrWait(caller, {
    keys: [move.source],
    timeoutMs: blockingTimeout(timeout),
    batchReply: null,
    attempt: () => moveElement(caller, move),
  });
}

function moveOf(args: readonly string[]): Move {
  const [from, to] = [endOf(at(args, 3)), endOf(at(args, 4))];
  return { source: at(args, 1), target: at(args, 2), from, to };
}

function shiftOf(args: readonly string[]): Move {
  return { source: at(args, 1), target: at(args, 2), from: "RIGHT", to: "LEFT" };
}

interface MultiPop {
  readonly keys: readonly string[];
  readonly end: End;
  readonly count: number;
}

function multiPopOf(args: readonly string[], from: number): MultiPop {
  const size = integerOf(at(args, from), "ERR numkeys should be greater than 0");
  if (size <= 0) throw new ErrorReply("ERR numkeys should be greater than 0");
  const whereAt = from + 1 + size;
  if (args[whereAt] === undefined) throw syntaxError();
  const end = endOf(at(args, whereAt));
  let count: number | null = null;
  for (let index = whereAt + 1; index < args.length; index++) {
    if (count !== null || word(args, index) !== "COUNT") throw syntaxError();
    count = integerOf(following(args, index++), "ERR count should be greater than 0");
    if (count <= 0) throw new ErrorReply("ERR count should be greater than 0");
  }
  return { keys: args.slice(from + 1, whereAt), end, count: count ?? 1 };
}

function multiPop(caller: Caller, { keys, end, count }: MultiPop): ReplyValue {
  for (const key of keys) {
    if (caller.database.read(key, ListValue) !== undefined) return [key, takeFrom(caller, key, end, count)];
  }
  return BLOCKED;
}

function lrange(caller: Caller, args: readonly string[]): ReplyValue {
  const [start, end] = [integerOf(at(args, 2)), integerOf(at(args, 3))];
  const list = caller.database.read(at(args, 1), ListValue);
  const range = clampRange(start, end, list?.size ?? 0);
  return list === undefined || range === null ? [] : list.slice(range.start, range.end);
}

function ltrim(caller: Caller, args: readonly string[]): ReplyValue {
  const [start, end] = [integerOf(at(args, 2)), integerOf(at(args, 3))];
  const { database } = caller;
  const key = at(args, 1);
  const list = database.write(key, ListValue);
  if (list === undefined) return OK;
  const range = clampRange(start, end, list.size);
  const before = list.size;
  list.replaceAll(range === null ? [] : list.slice(range.start, range.end));
  database.event(key, "l", "ltrim");
  // Valkey does not notify watchers of a list that stays unchanged.
  if (list.size < before || caller.engine.version.product === "redis") database.touched(key);
  database.removeIfEmpty(key, list);
  return OK;
}

function lset(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const list = database.write(key, ListValue);
  if (list === undefined) throw new ErrorReply(NO_SUCH_KEY);
  const given = integerOf(at(args, 2));
  const index = given < 0 ? given + list.size : given;
  if (index < 0 || index >= list.size) throw new ErrorReply("ERR index out of range");
  list.set(index, at(args, 3));
  database.modified(key, "l", "lset");
  return OK;
}

function lrem(caller: Caller, args: readonly string[]): ReplyValue {
  const count = integerOf(at(args, 2));
  const { database } = caller;
  const key = at(args, 1);
  const list = database.write(key, ListValue);
  if (list === undefined) return 0;
  const values = list.toArray();
  if (count < 0) values.reverse();
  let left = count === 0 ? Number.POSITIVE_INFINITY : Math.abs(count);
  const kept = values.filter((value) => value !== at(args, 3) || left-- <= 0);
  const removed = values.length - kept.length;
  if (removed === 0) return 0;
  list.replaceAll(count < 0 ? kept.reverse() : kept);
  database.modified(key, "l", "lrem");
  database.removeIfEmpty(key, list);
  return removed;
}

function linsert(caller: Caller, args: readonly string[]): ReplyValue {
  const where = word(args, 2);
  if (where !== "BEFORE" && where !== "AFTER") throw syntaxError();
  const { database } = caller;
  const key = at(args, 1);
  const list = database.write(key, ListValue);
  if (list === undefined) return 0;
  const values = list.toArray();
  const place = values.indexOf(at(args, 3));
  if (place < 0) return -1;
  values.splice(where === "BEFORE" ? place : place + 1, 0, at(args, 4));
  list.replaceAll(values);
  database.modified(key, "l", "linsert");
  return values.length;
}

function lpos(caller: Caller, args: readonly string[]): ReplyValue {
  let rank = 1;
  let count: number | null = null;
  let limit = 0;
  for (let index = 3; index < args.length; index++) {
    const option = word(args, index);
    const value = following(args, index++);
    if (option === "RANK") rank = rankOf(caller, value);
    else if (option === "COUNT") count = naturalOf(value, "COUNT");
    else if (option === "MAXLEN") limit = naturalOf(value, "MAXLEN");
    else throw syntaxError();
  }
  const list = caller.database.read(at(args, 1), ListValue);
  if (list === undefined) return count === null ? null : [];
  const found: number[] = [];
  const size = list.size;
  // Redis 7.0 cannot negate the lowest rank: it skips none then, and no count ends it.
  const isLowest = rank === Number.NEGATIVE_INFINITY;
  const wanted = count === null ? 1 : count === 0 || isLowest ? size : count;
  let skip = isLowest ? 0 : Math.abs(rank) - 1;
  for (let step = 0; step < size && found.length < wanted && (limit === 0 || step < limit); step++) {
    const index = rank > 0 ? step : size - 1 - step;
    if (list.at(index) !== at(args, 2)) continue;
    if (skip-- <= 0) found.push(index);
  }
  return count === null ? (found[0] ?? null) : found;
}

const LOWEST_RANK = "-9223372036854775808";

function rankOf({ engine }: Caller, text: string): number {
  const rank = integerOf(text);
  if (text === LOWEST_RANK) {
    if (!engine.version.isModern) return Number.NEGATIVE_INFINITY;
    throw new ErrorReply(
      "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807",
    );
  }
  if (rank === 0) {
    throw new ErrorReply(
      "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
    );
  }
  return rank;
}

function naturalOf(text: string, name: string): number {
  const message = `ERR ${name} can't be negative`;
  const value = integerOf(text, message);
  if (value < 0) throw new ErrorReply(message);
  return value;
}

export const listHandlers: Handlers = {
  lpush: push("LEFT", false),
  rpush: push("RIGHT", false),
  lpushx: push("LEFT", true),
  rpushx: push("RIGHT", true),
  lpop: pop("LEFT"),
  rpop: pop("RIGHT"),
  blpop: blockingPop("LEFT"),
  brpop: blockingPop("RIGHT"),
  lmove: (caller, args) => moveNow(caller, moveOf(args)),
  rpoplpush: (caller, args) => moveNow(caller, shiftOf(args)),
  blmove: (caller, args) => moveOrWait(caller, moveOf(args), at(args, 5)),
  brpoplpush: (caller, args) => moveOrWait(caller, shiftOf(args), at(args, 3)),
  lmpop(caller, args) {
    const reply = multiPop(caller, multiPopOf(args, 1));
    return reply === BLOCKED ? NULL_ARRAY : reply;
  },
  blmpop(caller, args) {
    const wanted = multiPopOf(args, 2);
    const timeoutMs = blockingTimeout(at(args, 1));
    const attempt = (): ReplyValue => multiPop(caller, wanted);
    return caller.engine.blocking.attemptOrWait(caller, { keys: wanted.keys, timeoutMs, attempt });
  },
  llen: (caller, args) => caller.database.read(at(args, 1), ListValue)?.size ?? 0,
  lindex(caller, args) {
    const list = caller.database.read(at(args, 1), ListValue);
    if (list === undefined) return null;
    const given = integerOf(at(args, 2));
    return list.at(given < 0 ? given + list.size : given) ?? null;
  },
  lrange,
  ltrim,
  lset,
  lrem,
  linsert,
  lpos,
};
