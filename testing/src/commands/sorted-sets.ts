/**
 * Sorted sets: members, scores, ranges, and the commands that wait for members. Their algebra is
 * in sorted-set-algebra.ts.
 */

import { type ScoredMember, SortedSetValue } from "../keyspace/sorted-set-value";
import { matchesGlob } from "../protocol/glob";
import { formatSeventeen, integerOf } from "../protocol/numbers";
import { BLOCKED, ErrorReply, NULL_ARRAY, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, blockingTimeout, following, NOT_POSITIVE, syntaxError, word } from "./arguments";
import { growSortedSet } from "./encodings";
import { sample } from "./sampling";
import { cursorOf, scanKeys, scanOptions } from "./scan";
import { score, scoreOf, scoreText, withScores } from "./scores";
import { byLex, byRank, byScore, pageOf, type RangeFinder } from "./sorted-set-ranges";

function zsetOf(caller: Caller, key: string): SortedSetValue | undefined {
  return caller.database.read(key, SortedSetValue);
}

function setScore(caller: Caller, zset: SortedSetValue, node: ScoredMember): boolean {
  const isNew = zset.set(node.member, node.score);
  growSortedSet(zset, node.member, caller.engine);
  return isNew;
}

interface AddOptions {
  onlyNew: boolean;
  onlyPresent: boolean;
  onlyGreater: boolean;
  onlyLess: boolean;
  countsChanged: boolean;
  increments: boolean;
  /** Where scores begin. */
  from: number;
}

const ADD_OPTIONS: Readonly<Record<string, Exclude<keyof AddOptions, "from">>> = {
  NX: "onlyNew",
  XX: "onlyPresent",
  GT: "onlyGreater",
  LT: "onlyLess",
  CH: "countsChanged",
  INCR: "increments",
};

function addOptions(args: readonly string[]): AddOptions {
  const options: AddOptions = {
    onlyNew: false,
    onlyPresent: false,
    onlyGreater: false,
    onlyLess: false,
    countsChanged: false,
    increments: false,
    from: 2,
  };
  while (options.from < args.length) {
    const name = ADD_OPTIONS[word(args, options.from)];
    if (name === undefined) break;
    options[name] = true;
    options.from++;
  }
  const pairs = args.length - options.from;
  if (pairs === 0 || pairs % 2 === 1) throw syntaxError();
  if (options.onlyNew && options.onlyPresent) {
    throw new ErrorReply("ERR XX and NX options at the same time are not compatible");
  }
  if (
    (options.onlyGreater && options.onlyNew) ||
    (options.onlyLess && options.onlyNew) ||
    (options.onlyGreater && options.onlyLess)
  ) {
    throw new ErrorReply("ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  if (options.increments && pairs > 2) {
    throw new ErrorReply("ERR INCR option supports a single increment-element pair");
  }
  return options;
}

/** The score that a member gets, or null if the options keep it as it is. */
function nextScore(options: AddOptions, old: number | undefined, given: number): number | null {
  if (old === undefined) return options.onlyPresent ? null : given;
  if (options.onlyNew) return null;
  const next = options.increments ? old + given : given;
  if (Number.isNaN(next)) throw new ErrorReply("ERR resulting score is not a number (NaN)");
  if (options.onlyGreater && next <= old) return null;
  return options.onlyLess && next >= old ? null : next;
}

function addAll(caller: Caller, args: readonly string[], options: AddOptions): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const scores: number[] = [];
  for (let index = options.from; index < args.length; index += 2)
    scores.push(scoreOf(caller, at(args, index)));
  const present = zsetOf(caller, key);
  if (present === undefined && options.onlyPresent) return options.increments ? null : 0;
  const zset = database.writeOrCreate(key, SortedSetValue);
  let added = 0;
  let changed = 0;
  let result: number | null = null;
  try {
    scores.forEach((given, index) => {
      const member = at(args, options.from + 2 * index + 1);
      const old = zset.scoreOf(member);
      const next = nextScore(options, old, given);
      if (next === null) return;
      result = next;
      if (setScore(caller, zset, { member, score: next })) added++;
      else if (next !== old) changed++;
    });
  } finally {
    if (added + changed > 0) database.modified(key, "z", options.increments ? "zincr" : "zadd");
    else if (zset.size === 0) database.delete(key);
  }
  if (options.increments) return result === null ? null : score(caller, result);
  return options.countsChanged ? added + changed : added;
}

/** ZADD with its words, for commands that add members in words of their own. */
export function addToSortedSet(caller: Caller, args: readonly string[]): ReplyValue {
  return addAll(caller, args, addOptions(args));
}

function zincrby(caller: Caller, args: readonly string[]): ReplyValue {
  const plain = addOptions(["zadd", "", "INCR", "0", ""]);
  return addAll(caller, ["zadd", at(args, 1), at(args, 2), at(args, 3)], { ...plain, from: 2 });
}

function zrem(caller: Caller, args: readonly string[]): ReplyValue {
  const { database } = caller;
  const key = at(args, 1);
  const zset = database.write(key, SortedSetValue);
  if (zset === undefined) return 0;
  let removed = 0;
  for (let index = 2; index < args.length; index++) if (zset.delete(at(args, index))) removed++;
  if (removed === 0) return 0;
  database.modified(key, "z", "zrem");
  database.removeIfEmpty(key, zset);
  return removed;
}

/** Limits of a range; Redis 7.0 also reads hexadecimal scores. */
type FinderOf = (args: readonly string[], mayBeHex: boolean) => RangeFinder;

function removeRange(finderOf: FinderOf, event: string): Handler {
  return (caller, args) => {
    const finder = finderOf(args, !caller.engine.version.isModern);
    const { database } = caller;
    const key = at(args, 1);
    const zset = database.write(key, SortedSetValue);
    const range = zset === undefined ? null : finder(zset);
    if (zset === undefined || range === null) return 0;
    const removed = zset.removeRange(range.start, range.end);
    database.modified(key, "z", event);
    database.removeIfEmpty(key, zset);
    return removed.length;
  };
}

interface RangeRequest {
  finder: RangeFinder;
  isReverse: boolean;
  withScores: boolean;
  offset: number;
  count: number;
}

type By = "rank" | "score" | "lex";

interface RangeForm {
  readonly by: By;
  readonly isReverse: boolean;
  /** Options may say how the range is meant (ZRANGE). */
  readonly isOpen: boolean;
  readonly mayHaveScores: boolean;
}

interface RangeOptions {
  by: By;
  isReverse: boolean;
  withScores: boolean;
  hasLimit: boolean;
  offset: number;
  count: number;
}

function rangeOptions(args: readonly string[], from: number, form: RangeForm): RangeOptions {
  const options: RangeOptions = {
    by: form.by,
    isReverse: form.isReverse,
    withScores: false,
    hasLimit: false,
    offset: 0,
    count: -1,
  };
  for (let index = from; index < args.length; index++) {
    const option = word(args, index);
    if (option === "WITHSCORES" && form.mayHaveScores) options.withScores = true;
    else if (option === "LIMIT" && index + 2 < args.length) {
      options.hasLimit = true;
      options.offset = integerOf(at(args, ++index));
      options.count = integerOf(at(args, ++index));
    } else if (form.isOpen && option === "REV") options.isReverse = true;
    else if (form.isOpen && options.by === "rank" && option === "BYSCORE") options.by = "score";
    else if (form.isOpen && options.by === "rank" && option === "BYLEX") options.by = "lex";
    else throw syntaxError();
  }
  if (options.hasLimit && options.by === "rank" && options.count !== -1) {
    throw new ErrorReply(
      "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
    );
  }
  if (options.withScores && options.by === "lex") {
    throw new ErrorReply("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
  }
  return options;
}

/** Limits of a range stand at `from` and behind it; reversed ranges by score and bytes name the higher first. */
function rangeRequest(caller: Caller, args: readonly string[], from: number, form: RangeForm): RangeRequest {
  const options = rangeOptions(args, from + 2, form);
  const [first, second] = [at(args, from), at(args, from + 1)];
  const [low, high] = options.isReverse ? [second, first] : [first, second];
  const { by, isReverse, offset, count } = options;
  const finder =
    by === "rank"
      ? byRank(integerOf(first), integerOf(second), isReverse)
      : by === "score"
        ? byScore(low, high, !caller.engine.version.isModern)
        : byLex(low, high, { isReverse, offset });
  return { finder, isReverse, withScores: options.withScores, offset, count };
}

function range(form: RangeForm): Handler {
  return (caller, args) => {
    const request = rangeRequest(caller, args, 2, form);
    const zset = zsetOf(caller, at(args, 1));
    if (zset === undefined) return [];
    const members = pageOf(zset, request.finder(zset), request);
    return withScores(caller, members, request.withScores);
  };
}

function zrangestore(caller: Caller, args: readonly string[]): ReplyValue {
  const form: RangeForm = { by: "rank", isReverse: false, isOpen: true, mayHaveScores: false };
  const request = rangeRequest(caller, args, 3, form);
  const source = zsetOf(caller, at(args, 2));
  const members = source === undefined ? [] : pageOf(source, request.finder(source), request);
  return storeSortedSet(caller, { target: at(args, 1), members, event: "zrangestore" });
}

interface Storing {
  readonly target: string;
  readonly members: readonly ScoredMember[];
  readonly event: string;
}

/** A result becomes a key; an empty one removes it. */
export function storeSortedSet(caller: Caller, { target, members, event }: Storing): number {
  const { database } = caller;
  const zset = new SortedSetValue();
  for (const node of members) setScore(caller, zset, node);
  if (zset.size > 0) {
    database.set(target, zset);
    database.modified(target, "z", event);
  } else if (database.delete(target)) database.modified(target, "g", "del");
  return zset.size;
}

function rank(isReverse: boolean): Handler {
  return (caller, args) => {
    if (args.length > 4) {
      throw new ErrorReply(`ERR wrong number of arguments for '${at(args, 0).toLowerCase()}' command`);
    }
    const wantsScore = args.length === 4;
    if (wantsScore && (word(args, 3) !== "WITHSCORE" || !caller.engine.version.isModern)) throw syntaxError();
    const zset = zsetOf(caller, at(args, 1));
    const place = zset?.rankOf(at(args, 2)) ?? -1;
    if (zset === undefined || place < 0) return wantsScore ? NULL_ARRAY : null;
    const shown = isReverse ? zset.size - 1 - place : place;
    return wantsScore ? [shown, score(caller, zset.scoreOf(at(args, 2)) as number)] : shown;
  };
}

type Side = "MIN" | "MAX";

function takeFrom(caller: Caller, key: string, side: Side, count: number): ScoredMember[] {
  const { database } = caller;
  const zset = database.write(key, SortedSetValue) as SortedSetValue;
  const { size } = zset;
  const taken =
    side === "MIN"
      ? zset.removeRange(0, Math.min(count, size) - 1)
      : zset.removeRange(Math.max(0, size - count), size - 1).reverse();
  if (taken.length > 0) database.modified(key, "z", side === "MIN" ? "zpopmin" : "zpopmax");
  database.removeIfEmpty(key, zset);
  return taken;
}

function pop(side: Side): Handler {
  return (caller, args) => {
    if (args.length > 3) throw syntaxError();
    const key = at(args, 1);
    const count = args.length === 3 ? integerOf(at(args, 2), NOT_POSITIVE) : null;
    if (count !== null && count < 0) throw new ErrorReply(NOT_POSITIVE);
    if (zsetOf(caller, key) === undefined || count === 0) return [];
    const taken = takeFrom(caller, key, side, count ?? 1);
    if (count !== null) return withScores(caller, taken, true);
    return taken.flatMap(({ member, score: value }) => [member, score(caller, value)]);
  };
}

function blockingPop(side: Side): Handler {
  return (caller, args) => {
    const timeoutMs = blockingTimeout(at(args, args.length - 1));
    const keys = args.slice(1, -1);
    const attempt = (): ReplyValue => {
      for (const key of keys) {
        if (zsetOf(caller, key) === undefined) continue;
        const [node] = takeFrom(caller, key, side, 1) as [ScoredMember];
        return [key, node.member, score(caller, node.score)];
      }
      return BLOCKED;
    };
    return caller.engine.blocking.attemptOrWait(caller, { keys, timeoutMs, attempt });
  };
}

interface MultiPop {
  readonly keys: readonly string[];
  readonly side: Side;
  readonly count: number;
}

function multiPopOf(args: readonly string[], from: number): MultiPop {
  const size = integerOf(at(args, from), "ERR numkeys should be greater than 0");
  if (size <= 0) throw new ErrorReply("ERR numkeys should be greater than 0");
  const whereAt = from + 1 + size;
  const side = word(args, whereAt);
  if (side !== "MIN" && side !== "MAX") throw syntaxError();
  let count: number | null = null;
  for (let index = whereAt + 1; index < args.length; index++) {
    if (count !== null || word(args, index) !== "COUNT") throw syntaxError();
    count = integerOf(following(args, index++), "ERR count should be greater than 0");
    if (count <= 0) throw new ErrorReply("ERR count should be greater than 0");
  }
  return { keys: args.slice(from + 1, whereAt), side, count: count ?? 1 };
}

function multiPop(caller: Caller, { keys, side, count }: MultiPop): ReplyValue {
  for (const key of keys) {
    if (zsetOf(caller, key) === undefined) continue;
    const taken = takeFrom(caller, key, side, count);
    return [key, taken.map((node) => [node.member, score(caller, node.score)])];
  }
  return BLOCKED;
}

function count(finderOf: FinderOf): Handler {
  return (caller, args) => {
    const finder = finderOf(args, !caller.engine.version.isModern);
    const zset = zsetOf(caller, at(args, 1));
    const found = zset === undefined ? null : finder(zset);
    return found === null ? 0 : found.end - found.start + 1;
  };
}

function zrandmember(caller: Caller, args: readonly string[]): ReplyValue {
  if (args.length > 4 || (args.length === 4 && word(args, 3) !== "WITHSCORES")) throw syntaxError();
  const wanted = args.length > 2 ? integerOf(at(args, 2)) : null;
  const zset = zsetOf(caller, at(args, 1));
  if (zset === undefined) return wanted === null ? null : [];
  const { members } = zset;
  if (wanted === null) return (members[caller.engine.random.below(members.length)] as ScoredMember).member;
  return withScores(caller, sample(members, wanted, caller.engine.random), args.length === 4);
}

function zscan(caller: Caller, args: readonly string[]): ReplyValue {
  const known =
    caller.engine.version.product === "valkey" ? ["MATCH", "COUNT", "NOSCORES"] : ["MATCH", "COUNT"];
  cursorOf(at(args, 2));
  const zset = zsetOf(caller, at(args, 1));
  if (zset === undefined) return ["0", []];
  const options = scanOptions(args, 2, known);
  const all = zset.members.map(({ member }) => member);
  const page = zset.isBig ? scanKeys(all, options) : { cursor: "0", keys: all };
  const { pattern } = options;
  const found = page.keys.filter((member) => pattern === null || matchesGlob(pattern, member));
  if (options.hasNoScores) return [page.cursor, found];
  // Of a sorted set in its big form every server prints the score with 17 digits.
  const show = zset.isBig ? formatSeventeen : (value: number) => scoreText(caller, value);
  const pairs = found.flatMap((member) => [member, show(zset.scoreOf(member) as number)]);
  return [page.cursor, pairs];
}

const OPEN: RangeForm = { by: "rank", isReverse: false, isOpen: true, mayHaveScores: true };

function closed(by: By, isReverse: boolean): RangeForm {
  return { by, isReverse, isOpen: false, mayHaveScores: by !== "lex" };
}

function ranksOf(args: readonly string[]): RangeFinder {
  return byRank(integerOf(at(args, 2)), integerOf(at(args, 3)), false);
}

export const sortedSetHandlers: Handlers = {
  zadd: (caller, args) => addAll(caller, args, addOptions(args)),
  zincrby,
  zrem,
  zcard: (caller, args) => zsetOf(caller, at(args, 1))?.size ?? 0,
  zscore(caller, args) {
    const value = zsetOf(caller, at(args, 1))?.scoreOf(at(args, 2));
    return value === undefined ? null : score(caller, value);
  },
  zmscore(caller, args) {
    const zset = zsetOf(caller, at(args, 1));
    return args.slice(2).map((member) => {
      const value = zset?.scoreOf(member);
      return value === undefined ? null : score(caller, value);
    });
  },
  zrank: rank(false),
  zrevrank: rank(true),
  zcount: count((args, mayBeHex) => byScore(at(args, 2), at(args, 3), mayBeHex)),
  zlexcount: count((args) => byLex(at(args, 2), at(args, 3))),
  zrange: range(OPEN),
  zrevrange: range(closed("rank", true)),
  zrangebyscore: range(closed("score", false)),
  zrevrangebyscore: range(closed("score", true)),
  zrangebylex: range(closed("lex", false)),
  zrevrangebylex: range(closed("lex", true)),
  zrangestore,
  zremrangebyrank: removeRange(ranksOf, "zremrangebyrank"),
  zremrangebyscore: removeRange(
    (args, mayBeHex) => byScore(at(args, 2), at(args, 3), mayBeHex),
    "zremrangebyscore",
  ),
  zremrangebylex: removeRange((args) => byLex(at(args, 2), at(args, 3)), "zremrangebylex"),
  zpopmin: pop("MIN"),
  zpopmax: pop("MAX"),
  bzpopmin: blockingPop("MIN"),
  bzpopmax: blockingPop("MAX"),
  zmpop(caller, args) {
    const reply = multiPop(caller, multiPopOf(args, 1));
    return reply === BLOCKED ? NULL_ARRAY : reply;
  },
  bzmpop(caller, args) {
    const wanted = multiPopOf(args, 2);
    const timeoutMs = blockingTimeout(at(args, 1));
    const attempt = (): ReplyValue => multiPop(caller, wanted);
    return caller.engine.blocking.attemptOrWait(caller, { keys: wanted.keys, timeoutMs, attempt });
  },
  zrandmember,
  zscan,
};
