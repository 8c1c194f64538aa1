/** SORT and SORT_RO: sorts lists, sets and sorted sets by their elements or by keys derived from them. */

import type { Database } from "../keyspace/database";
import { WRONG_TYPE } from "../keyspace/database";
import { ListValue } from "../keyspace/list-value";
import { SortedSetValue } from "../keyspace/sorted-set-value";
import { HashValue, SetValue } from "../keyspace/values";
import { integerOf, parseFloatText } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import type { ServerVersion } from "../server/version";
import { at, following, syntaxError, word } from "./arguments";
import { liveHash } from "./live-hash";

interface SortRequest {
  isDescending: boolean;
  isText: boolean;
  offset: number;
  /** Negative: all. */
  count: number;
  by: string | null;
  readonly get: string[];
  target: string | null;
}

interface Ranked {
  readonly element: string;
  /** The value that it is sorted by; null if that key is not there. */
  readonly key: string | null;
  readonly score: number;
}

function requestOf(args: readonly string[], mayStore: boolean): SortRequest {
  const request: SortRequest = {
    isDescending: false,
    isText: false,
    offset: 0,
    count: -1,
    by: null,
    get: [],
    target: null,
  };
  for (let index = 2; index < args.length; index++) index += readOption(request, args, { index, mayStore });
  return request;
}

/** Reads one option; how many words follow it. */
function readOption(
  request: SortRequest,
  args: readonly string[],
  { index, mayStore }: { index: number; mayStore: boolean },
): number {
  switch (word(args, index)) {
    case "ASC":
      request.isDescending = false;
      return 0;
    case "DESC":
      request.isDescending = true;
      return 0;
    case "ALPHA":
      request.isText = true;
      return 0;
    case "LIMIT":
      following(args, index + 1);
      request.offset = integerOf(at(args, index + 1));
      request.count = integerOf(at(args, index + 2));
      return 2;
    case "BY":
      request.by = following(args, index);
      return 1;
    case "GET":
      request.get.push(following(args, index));
      return 1;
    case "STORE":
      if (!mayStore) throw syntaxError();
      request.target = following(args, index);
      return 1;
    default:
      throw syntaxError();
  }
}

/** The value that a pattern names for an element: a string, or a field of a hash (`key_*->field`). */
function lookUp(caller: Caller, pattern: string, element: string): string | null {
  if (pattern === "#") return element;
  const star = pattern.indexOf("*");
  if (star < 0) return null;
  const arrow = pattern.indexOf("->", star + 1);
  const hasField = arrow >= 0 && arrow + 2 < pattern.length;
  const end = hasField ? arrow : pattern.length;
  const key = pattern.slice(0, star) + element + pattern.slice(star + 1, end);
  return hasField ? fieldOf(caller, key, pattern.slice(arrow + 2)) : stringOf(caller.database, key);
}

function fieldOf(caller: Caller, key: string, field: string): string | null {
  const value = caller.database.find(key)?.value;
  if (!(value instanceof HashValue)) return null;
  return liveHash(caller.database, key, caller.engine.clock.now)?.fields.get(field) ?? null;
}

function stringOf(database: Database, key: string): string | null {
  const value = database.find(key)?.value;
  return typeof value === "string" ? value : null;
}

function elementsOf(caller: Caller, key: string): { elements: string[]; isSet: boolean } {
  const value = caller.database.find(key)?.value;
  if (value === undefined) return { elements: [], isSet: false };
  if (value instanceof ListValue) return { elements: value.toArray(), isSet: false };
  if (value instanceof SetValue) return { elements: value.list(), isSet: true };
  if (value instanceof SortedSetValue)
    return { elements: value.members.map(({ member }) => member), isSet: false };
  throw new ErrorReply(WRONG_TYPE);
}

/** Servers sort a sorted set in its big form, and it keeps that. */
function spreadSortedSet({ database }: Caller, key: string): void {
  if (!(database.find(key)?.value instanceof SortedSetValue)) return;
  const zset = database.write(key, SortedSetValue);
  if (zset !== undefined) zset.isBig = true;
}

/** Redis 7.0 reads a number behind white space, as C does; an empty one is 0, of Valkey none. */
function scoreOf(text: string | null, { isModern, product }: ServerVersion): number {
  if (text === null) return 0;
  // It is read as C reads a text: up to the first byte 0.
  const [read = ""] = text.split("\0", 1);
  if (read === "" && product === "redis") return 0;
  const value = parseFloatText(isModern ? read : read.replace(/^[ \t-\r]+/, ""), true);
  if (value === null) throw new ErrorReply("ERR One or more scores can't be converted into double");
  return value;
}

function compareText(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}

function compare(a: Ranked, b: Ranked, isText: boolean): number {
  if (isText) return compareText(a.key, b.key);
  return a.score - b.score || compareText(a.element, b.element);
}

function beforeZero(text: string | null): string | null {
  return text === null ? null : (text.split("\0", 1)[0] ?? "");
}

/** The elements in order; `BY` a name without `*` keeps the order that they have. */
function inOrder(caller: Caller, source: string, request: SortRequest): string[] {
  const { elements, isSet } = elementsOf(caller, source);
  let { by, isText } = request;
  if (by !== null && !by.includes("*")) {
    const isStable = request.target === null && caller.session !== null && !caller.isScript;
    if (!isSet || isStable) {
      return request.isDescending && !isSet ? elements.reverse() : elements;
    }
    // The stored list must not depend on the order of a set.
    by = null;
    isText = true;
  }
  const ranked = elements.map((element): Ranked => {
    const text = by === null ? element : lookUp(caller, by, element);
    // Values that are not stored are compared as C compares texts: up to the first byte 0.
    const key = isText && request.target === null ? beforeZero(text) : text;
    return { element, key, score: isText ? 0 : scoreOf(key, caller.engine.version) };
  });
  const sign = request.isDescending ? -1 : 1;
  return ranked.sort((a, b) => sign * compare(a, b, isText)).map(({ element }) => element);
}

function pageOf(elements: readonly string[], { offset, count }: SortRequest): readonly string[] {
  const start = Math.max(0, offset);
  return elements.slice(start, count < 0 ? undefined : start + count);
}

function sort(mayStore: boolean): Handler {
  return (caller, args) => {
    const request = requestOf(args, mayStore);
    spreadSortedSet(caller, at(args, 1));
    const elements = pageOf(inOrder(caller, at(args, 1), request), request);
    const { get, target } = request;
    const shown =
      get.length === 0
        ? [...elements]
        : elements.flatMap((element) => get.map((pattern) => lookUp(caller, pattern, element)));
    return target === null ? shown : store(caller, target, shown);
  };
}

function store(caller: Caller, target: string, values: readonly (string | null)[]): ReplyValue {
  const { database } = caller;
  if (values.length === 0) {
    if (database.delete(target)) database.modified(target, "g", "del");
    return 0;
  }
  database.set(
    target,
    new ListValue(
      [],
      values.map((value) => value ?? ""),
    ),
  );
  database.modified(target, "l", "sortstore");
  return values.length;
}

export const sortHandlers: Handlers = { sort: sort(true), sort_ro: sort(false) };
