/**
 * SCAN, HSCAN, SSCAN and ZSCAN. A cursor is a position in the order of hashes, not an index: elements that
 * exist from the first to the last call are returned, even if others are added or removed meanwhile.
 */

import { integerOf } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";
import { at, following, syntaxError, word } from "./arguments";

export interface ScanOptions {
  readonly cursor: bigint;
  readonly pattern: string | null;
  readonly count: number;
  readonly type: string | null;
  readonly hasNoValues: boolean;
  readonly hasNoScores: boolean;
}

export interface ScanPage {
  readonly cursor: string;
  readonly keys: readonly string[];
}

const CURSOR = /^\d{1,20}$/;
const MAX_CURSOR = 2n ** 64n;
const DEFAULT_COUNT = 10;

/** The cursor is checked before the key, the options after it. */
export function cursorOf(text: string): bigint {
  if (!CURSOR.test(text) || BigInt(text) >= MAX_CURSOR) throw new ErrorReply("ERR invalid cursor");
  return BigInt(text);
}

/** `args[cursorAt]` is the cursor. */
export function scanOptions(
  args: readonly string[],
  cursorAt: number,
  known: readonly string[],
): ScanOptions {
  const cursor = cursorOf(at(args, cursorAt));
  const options = { pattern: null as string | null, count: DEFAULT_COUNT, type: null as string | null };
  let hasNoValues = false;
  let hasNoScores = false;
  for (let index = cursorAt + 1; index < args.length; index++) {
    const option = word(args, index);
    if (!known.includes(option)) throw syntaxError();
    if (option === "NOVALUES") hasNoValues = true;
    else if (option === "NOSCORES") hasNoScores = true;
    else {
      const value = following(args, index++);
      if (option === "MATCH") options.pattern = value;
      else if (option === "TYPE") options.type = value;
      else {
        options.count = integerOf(value);
        if (options.count < 1) throw syntaxError();
      }
    }
  }
  return { cursor, ...options, hasNoValues, hasNoScores };
}

/** FNV-1a, moved by one: 0 is the cursor of the start and of the end. */
function placeOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) + 1;
}

/** The next keys in order of their places, at least `count` of them if there are so many. */
export function scanKeys(keys: Iterable<string>, { cursor, count }: ScanOptions): ScanPage {
  const from = Number(cursor);
  const places: { place: number; key: string }[] = [];
  for (const key of keys) {
    const place = placeOf(key);
    if (place >= from) places.push({ place, key });
  }
  places.sort((a, b) => a.place - b.place);
  let end = Math.min(count, places.length);
  // Keys of one place go together, so that the cursor can stand behind them.
  while (end < places.length && places[end]?.place === places[end - 1]?.place) end++;
  const next = places[end];
  return {
    cursor: next === undefined ? "0" : String(next.place),
    keys: places.slice(0, end).map(({ key }) => key),
  };
}
