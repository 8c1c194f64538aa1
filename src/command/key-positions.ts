/**
 * Finds the keys of a command. A rule is data: the start (index or keyword) and how to walk on (range or
 * count). Three commands with irregular keys have their own walks. Positions count from 0 after the command
 * name and always lie inside the arguments, which are already flat strings and Buffers. Comparisons of names
 * ignore letter case.
 *
 *   mset        k v k v       r0.-1.2      range: first, last (negative: from the end), step
 *   eval        s 2 k k a     n1.2.1       count: its position, first key, step
 *   zunionstore d 2 k k       d1.2.1       like n, with a destination key at 0
 *   xread       … STREAMS k i k.STREAMS.0  first half of the arguments after the word, searched from 0
 *   georadius   k … STORE k   g5           a key at 0, and keys after STORE and STOREDIST, searched from 5
 *   sort (o), migrate (m)                  named walks
 *   xinfo       stream k      s            the rule of the subcommand
 *   clusterscan cursor        c            no key, but the slot follows from the cursor
 */

import type { Argument } from "../protocol/resp-types";

interface Keyed {
  readonly keys: KeyRule;
}

type Subcommands = ReadonlyMap<string, Keyed>;

/** The letters of the notation. */
export const KeyWalk = {
  None: "-",
  Range: "r",
  Count: "n",
  DestinationAndCount: "d",
  Keyword: "k",
  Subcommand: "s",
  Sort: "o",
  Georadius: "g",
  Migrate: "m",
  Cursor: "c",
} as const;
export type KeyWalk = (typeof KeyWalk)[keyof typeof KeyWalk];

/** The head of this file explains the numbers and the word of each walk. */
export interface KeyRule {
  readonly walk: KeyWalk;
  readonly first: number;
  readonly second: number;
  readonly third: number;
  readonly word: string;
  readonly subcommands: Subcommands | null;
}

export const NO_KEYS: KeyRule = parseKeyRule(KeyWalk.None);
/** The keys of the command are unknown. Distinguished from `NO_KEYS` by identity. */
export const UNKNOWN_KEYS: KeyRule = { ...NO_KEYS };
const NO_POSITIONS: readonly number[] = [];

/** Parses the notation in the head of this file, in which the generated table is written. */
export function parseKeyRule(text: string, subcommands: Subcommands | null = null): KeyRule {
  const [first = 0, second = 0, third = 1] = text.slice(1).split(".").map(Number);
  const [, word = ""] = text.split(".");
  return { walk: text[0] as KeyWalk, first, second, third, word, subcommands };
}

/** The position of the first key, or of the argument that determines the slot, or -1. Called for every command. */
export function firstKeyPosition(spec: Keyed, args: readonly Argument[]): number {
  const { walk, first, second } = spec.keys;
  if (walk === KeyWalk.Range) return endOfRange(second, args.length) < first ? -1 : first;
  if (walk === KeyWalk.Cursor && args.length > 0) return 0;
  return keyPositions(spec, args)[0] ?? -1;
}

/** Positions of all keys, in order. */
export function keyPositions({ keys }: Keyed, args: readonly Argument[]): readonly number[] {
  const rule = keys.walk === KeyWalk.Subcommand ? ruleOfSubcommand(keys, args) : keys;
  switch (rule.walk) {
    case KeyWalk.Range:
      return sequence(rule.first, endOfRange(rule.second, args.length), rule.third);
    case KeyWalk.Count:
      return countedPositions(rule, args);
    case KeyWalk.DestinationAndCount:
      return args.length > 0 ? [0, ...countedPositions(rule, args)] : NO_POSITIONS;
    case KeyWalk.Keyword:
      return halfAfterWord(rule, args);
    case KeyWalk.Sort:
      return sortPositions(args);
    case KeyWalk.Georadius:
      return positionsAfter(["STORE", "STOREDIST"], rule.first, args);
    case KeyWalk.Migrate:
      return migratePositions(args);
    default:
      return NO_POSITIONS;
  }
}

/** Adds the prefix, if there is one, to every key, in place. If either of the two is a Buffer, so is the result. */
export function prefixKeys(spec: Keyed, args: Argument[], prefix: Argument | undefined): void {
  if (prefix === undefined || prefix.length === 0) return;
  for (const position of keyPositions(spec, args)) {
    const key = args[position] as Argument;
    const areTexts = typeof key === "string" && typeof prefix === "string";
    args[position] = areTexts ? prefix + key : Buffer.concat([prefix, key].map(bytesOf));
  }
}

function bytesOf(value: Argument): Buffer {
  return typeof value === "string" ? Buffer.from(value) : value;
}

function endOfRange(last: number, length: number): number {
  return last < 0 ? length + last : Math.min(last, length - 1);
}

function sequence(first: number, end: number, step: number): number[] {
  const positions: number[] = [];
  for (let position = first; position <= end; position += step) positions.push(position);
  return positions;
}

/** The number of keys as the caller wrote it; 0 if it is invalid. */
function countIn(text: Argument): number {
  return Number.parseInt(String(text), 10) || 0;
}

function countedPositions(
  { first: countAt, second: first, third: step }: KeyRule,
  args: readonly Argument[],
): number[] {
  const end = first + (countIn(args[countAt] ?? "") - 1) * step;
  return sequence(first, Math.min(end, args.length - 1), step);
}

function halfAfterWord({ word, third: from }: KeyRule, args: readonly Argument[]): readonly number[] {
  const at = args.findIndex((arg, index) => index >= from && isWord(arg, word));
  return at < 0 ? NO_POSITIONS : sequence(at + 1, at + Math.floor((args.length - at - 1) / 2), 1);
}

function ruleOfSubcommand({ subcommands }: KeyRule, [word = ""]: readonly Argument[]): KeyRule {
  return subcommands?.get(lowerWord(word))?.keys ?? NO_KEYS;
}

// SORT key [BY pattern] [LIMIT offset count] [GET pattern …] [ASC|DESC] [ALPHA] [STORE key]. Patterns get the
// prefix like keys, except GET #. A directive that is a Buffer is not recognised.
function sortPositions(args: readonly Argument[]): number[] {
  const texts = args.map((arg) => (typeof arg === "string" ? arg : ""));
  const positions = positionsAfter(["BY", "GET", "STORE"], 1, texts);
  return positions.filter((at) => !isWord(args[at], "#") || !isWord(texts[at - 1], "GET"));
}

/** The key at 0, and the arguments after these words. */
function positionsAfter(words: readonly string[], from: number, args: readonly Argument[]): number[] {
  const positions = args.length > 0 ? [0] : [];
  for (let index = from; index < args.length - 1; index++) {
    if (!words.some((word) => isWord(args[index], word))) continue;
    index += 1;
    positions.push(index);
  }
  return positions;
}

// MIGRATE host port key|"" db timeout [COPY] [REPLACE] [AUTH password | AUTH2 user password] [KEYS key …]
function migratePositions(args: readonly Argument[]): readonly number[] {
  const key = args[2];
  if (key === undefined) return NO_POSITIONS;
  if (key.length > 0) return [2];
  let index = 5;
  while (index < args.length) {
    const word = args[index];
    if (isWord(word, "KEYS")) return sequence(index + 1, args.length - 1, 1);
    if (isWord(word, "AUTH2")) index += 3;
    else index += isWord(word, "AUTH") ? 2 : 1;
  }
  return NO_POSITIONS;
}

/** Compares an argument, in any letter case, with a word that is given in upper case. */
export function isWord(arg: Argument | undefined, upperWord: string): boolean {
  return arg?.length === upperWord.length && lowerWord(arg).toUpperCase() === upperWord;
}

export function lowerWord(arg: Argument): string {
  return (typeof arg === "string" ? arg : arg.toString("latin1")).toLowerCase();
}
