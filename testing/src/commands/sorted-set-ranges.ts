/**
 * Ranges of sorted sets: by rank, score and bytes, as `(1`, `+inf`, `[a`, `-` and `+` give them.
 */

import type { ScoredMember, SortedSetValue } from "../keyspace/sorted-set-value";
import { parseFloatText } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";
import { clampRange } from "./arguments";

/** Indexes in the order of the set, both included. */
export interface IndexRange {
  readonly start: number;
  readonly end: number;
}

type IsBefore = (node: ScoredMember) => boolean;

function between(zset: SortedSetValue, isBefore: IsBefore, isInside: IsBefore): IndexRange | null {
  const start = zset.lowerBound(isBefore);
  const end = zset.lowerBound(isInside) - 1;
  return start > end ? null : { start, end };
}

interface ScoreLimit {
  readonly value: number;
  readonly isExclusive: boolean;
}

function scoreLimit(text: string, mayBeHex: boolean): ScoreLimit {
  const isExclusive = text.startsWith("(");
  const number = isExclusive ? text.slice(1) : text;
  // Nothing is 0, as strtod reads it.
  const value = number === "" ? 0 : parseFloatText(number, mayBeHex);
  if (value === null) throw new ErrorReply("ERR min or max is not a float");
  return { value, isExclusive };
}

export type RangeFinder = (zset: SortedSetValue) => IndexRange | null;

export function byScore(low: string, high: string, mayBeHex: boolean): RangeFinder {
  const [min, max] = [scoreLimit(low, mayBeHex), scoreLimit(high, mayBeHex)];
  const isBefore: IsBefore = ({ score }) => (min.isExclusive ? score <= min.value : score < min.value);
  const isInside: IsBefore = ({ score }) => (max.isExclusive ? score < max.value : score <= max.value);
  return (zset) => between(zset, isBefore, isInside);
}

interface LexLimit {
  readonly text: string;
  readonly isExclusive: boolean;
  /** -1 below everything, 1 above everything. */
  readonly infinity: -1 | 0 | 1;
}

function lexLimit(text: string): LexLimit {
  if (text === "-") return { text: "", isExclusive: false, infinity: -1 };
  if (text === "+") return { text: "", isExclusive: false, infinity: 1 };
  if (text[0] !== "[" && text[0] !== "(") throw new ErrorReply("ERR min or max not valid string range item");
  return { text: text.slice(1), isExclusive: text[0] === "(", infinity: 0 };
}

interface Reading {
  /** From the end. */
  readonly isReverse: boolean;
  /** So many members are passed over. */
  readonly offset: number;
}

const FROM_THE_START: Reading = { isReverse: false, offset: 0 };

export function byLex(low: string, high: string, reading: Reading = FROM_THE_START): RangeFinder {
  const [min, max] = [lexLimit(low), lexLimit(high)];
  const isBefore: IsBefore = ({ member }) => {
    if (min.infinity !== 0) return min.infinity > 0;
    return min.isExclusive ? member <= min.text : member < min.text;
  };
  const isInside: IsBefore = ({ member }) => {
    if (max.infinity !== 0) return max.infinity > 0;
    return max.isExclusive ? member < max.text : member <= max.text;
  };
  return (zset) => {
    const [first, last] = [zset.members[0], zset.members.at(-1)];
    if (first?.score === last?.score) return between(zset, isBefore, isInside);
    return unevenRange(zset.members, { isBefore, isInside, ...reading });
  };
}

/**
 * Members of different scores are in no order of bytes. Servers look at both ends of the set first, then walk to the
 * first member that is not before the range and on while members are inside; those that LIMIT passes over they do not
 * look at.
 */
function unevenRange(
  members: readonly ScoredMember[],
  { isBefore, isInside, isReverse, offset }: Reading & { isBefore: IsBefore; isInside: IsBefore },
): IndexRange | null {
  const [first, last] = [members[0] as ScoredMember, members.at(-1) as ScoredMember];
  if (isBefore(last) || !isInside(first)) return null;
  const step = isReverse ? -1 : 1;
  const isReached: IsBefore = isReverse ? isInside : (node) => !isBefore(node);
  const isWithin: IsBefore = isReverse ? (node) => !isBefore(node) : isInside;
  let start = isReverse ? members.length - 1 : 0;
  while (members[start] !== undefined && !isReached(members[start] as ScoredMember)) start += step;
  if (members[start] === undefined || !isWithin(members[start] as ScoredMember)) return null;
  const passed = Math.min(Math.max(0, offset), isReverse ? start + 1 : members.length - start);
  let end = start + step * passed;
  while (members[end] !== undefined && isWithin(members[end] as ScoredMember)) end += step;
  return isReverse ? { start: end + 1, end: start } : { start, end: end - 1 };
}

/** Ranks from the lowest score, or from the highest. */
export function byRank(start: number, end: number, isReverse: boolean): RangeFinder {
  return (zset) => {
    const range = clampRange(start, end, zset.size);
    if (range === null || !isReverse) return range;
    return { start: zset.size - 1 - range.end, end: zset.size - 1 - range.start };
  };
}

export interface Page {
  readonly isReverse: boolean;
  readonly offset: number;
  /** Negative: all. */
  readonly count: number;
}

/** The members of a range in the direction asked for, from an offset, so many at most. */
export function pageOf(zset: SortedSetValue, range: IndexRange | null, page: Page): ScoredMember[] {
  if (range === null || page.offset < 0) return [];
  const members = zset.members.slice(range.start, range.end + 1);
  if (page.isReverse) members.reverse();
  if (page.offset === 0 && page.count < 0) return members;
  return members.slice(page.offset, page.count < 0 ? undefined : page.offset + page.count);
}
