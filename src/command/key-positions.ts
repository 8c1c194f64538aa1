/**
 * Finds the keys of a command. A rule is data: the start (index or keyword) and how to walk on (range or
 * count). Three commands with irregular keys have their own walks. Positions count from 0 after the command
 * name and always lie inside the arguments, which are already flat strings and Buffers. Names are compared in
 * any letter case.
 *
 *   mset        k v k v       r0.-1.2      range: first, last (negative: from the end), step
 *   eval        s 2 k k a     n1.2.1       count: its position, first key, step
 *   zunionstore d 2 k k       d1.2.1       like n, with a destination key at 0
 *   xread       … STREAMS k i k.STREAMS.0  first half of the arguments after the word, searched from 0
 *   sort, georadius (g), migrate           named walks
 *   xinfo       stream k      s            the rule of the subcommand
 *   clusterscan cursor        c            no key, but the slot follows from the cursor
 */

import type { Argument } from "../protocol/resp-types";

/** The known facts about the keys of a command. */
interface Keyed {
  readonly keys: KeyRule;
}

export const KeyWalk = {
  None: 0,
  Range: 1,
  Count: 2,
  Keyword: 3,
  Subcommand: 4,
  Sort: 5,
  Georadius: 6,
  Migrate: 7,
  Cursor: 8,
} as const;
export type KeyWalk = (typeof KeyWalk)[keyof typeof KeyWalk];

export interface KeyRule {
  readonly walk: KeyWalk;
  /** The first key; for Keyword and Georadius the start of the search. */
  readonly first: number;
  /** Range: the last key, negative from the end. */
  readonly last: number;
  readonly step: number;
  /** Count: the position of the number of keys. */
  readonly countAt: number;
  /** Count: the key before the counted ones, -1 if the command has none. */
  readonly destination: number;
  /** Keyword: the word, in upper case. */
  readonly word: string;
  readonly subcommands: ReadonlyMap<string, KeyRule> | null;
}

const EMPTY: KeyRule = {
  walk: KeyWalk.None,
  first: 0,
  last: 0,
  step: 1,
  countAt: 0,
  destination: -1,
  word: "",
  subcommands: null,
};

export const NO_KEYS: KeyRule = EMPTY;
/** The keys of the command are unknown. Distinguished from `NO_KEYS` by identity. */
export const UNKNOWN_KEYS: KeyRule = { ...EMPTY };
const NO_POSITIONS: readonly number[] = [];

/** Parses the notation in the head of this file, in which the generated table is written. */
export function parseKeyRule(text: string, subcommands: ReadonlyMap<string, KeyRule> | null = null): KeyRule {
  const [first = 0, second = 0, third = 1] = text.slice(1).split(".").map(Number);
  switch (text[0]) {
    case "r":
      return { ...EMPTY, walk: KeyWalk.Range, first, last: second, step: third };
    case "n":
      return { ...EMPTY, walk: KeyWalk.Count, countAt: first, first: second, step: third };
    case "d":
      return { ...EMPTY, walk: KeyWalk.Count, countAt: first, first: second, step: third, destination: 0 };
    case "k":
      return { ...EMPTY, walk: KeyWalk.Keyword, word: text.split(".")[1] ?? "", first: third };
    case "g":
      return { ...EMPTY, walk: KeyWalk.Georadius, first };
    case "o":
      return { ...EMPTY, walk: KeyWalk.Sort };
    case "m":
      return { ...EMPTY, walk: KeyWalk.Migrate };
    case "s":
      return { ...EMPTY, walk: KeyWalk.Subcommand, subcommands };
    case "c":
      return { ...EMPTY, walk: KeyWalk.Cursor };
    default:
      return EMPTY;
  }
}

/**
 * The position of the first key, or of the argument that determines the slot; -1 if there is none. Allocates
 * nothing: the cluster calls it for every command.
 */
export function firstKeyPosition({ keys }: Keyed, args: readonly Argument[]): number {
  const rule = keys.walk === KeyWalk.Subcommand ? ruleOfSubcommand(keys, args) : keys;
  switch (rule.walk) {
    case KeyWalk.None:
      return -1;
    case KeyWalk.Range:
      return endOfRange(rule, args.length) < rule.first ? -1 : rule.first;
    case KeyWalk.Count:
      if (rule.destination >= 0) return args.length > rule.destination ? rule.destination : -1;
      return args.length > rule.first && countAt(rule, args) > 0 ? rule.first : -1;
    case KeyWalk.Keyword: {
      const at = indexOfWord(args, rule.word, rule.first);
      return at >= 0 && args.length - at > 2 ? at + 1 : -1;
    }
    case KeyWalk.Migrate:
      return migratePositions(args)[0] ?? -1;
    default:
      return args.length > 0 ? 0 : -1;
  }
}

/** Positions of all keys, in order. */
export function keyPositions({ keys }: Keyed, args: readonly Argument[]): readonly number[] {
  const rule = keys.walk === KeyWalk.Subcommand ? ruleOfSubcommand(keys, args) : keys;
  switch (rule.walk) {
    case KeyWalk.Range:
      return sequence(rule.first, endOfRange(rule, args.length), rule.step);
    case KeyWalk.Count:
      return countedPositions(rule, args);
    case KeyWalk.Keyword:
      return halfAfterWord(rule, args);
    case KeyWalk.Sort:
      return sortPositions(args);
    case KeyWalk.Georadius:
      return georadiusPositions(rule, args);
    case KeyWalk.Migrate:
      return migratePositions(args);
    default:
      return NO_POSITIONS;
  }
}

/** Adds the prefix, if there is one, to every key, in place. If either of the two is a Buffer, so is the result. */
export function prefixKeys(spec: Keyed, args: Argument[], prefix: Argument | undefined): void {
  if (prefix === undefined || prefix.length === 0) return;
  const rule = spec.keys;
  if (rule.walk === KeyWalk.Range) {
    const end = endOfRange(rule, args.length);
    for (let position = rule.first; position <= end; position += rule.step) prefixAt(args, position, prefix);
    return;
  }
  for (const position of keyPositions(spec, args)) prefixAt(args, position, prefix);
}

function prefixAt(args: Argument[], position: number, prefix: Argument): void {
  const key = args[position] as Argument;
  if (typeof key === "string" && typeof prefix === "string") {
    args[position] = prefix + key;
    return;
  }
  args[position] = Buffer.concat([bytesOf(prefix), bytesOf(key)]);
}

function bytesOf(value: Argument): Buffer {
  return typeof value === "string" ? Buffer.from(value) : value;
}

function endOfRange(rule: KeyRule, length: number): number {
  if (rule.last < 0) return length + rule.last;
  return rule.last < length ? rule.last : length - 1;
}

function sequence(first: number, end: number, step: number): number[] {
  const positions: number[] = [];
  for (let position = first; position <= end; position += step) positions.push(position);
  return positions;
}

/** The number of keys as the caller wrote it; 0 if it is invalid. Never more than the number of arguments. */
function countAt(rule: KeyRule, args: readonly Argument[]): number {
  const text = args[rule.countAt];
  if (text === undefined) return 0;
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const digit = unitAt(text, index) - 48;
    if (digit < 0 || digit > 9) return count;
    count = count * 10 + digit;
    if (count >= args.length) return args.length;
  }
  return count;
}

function countedPositions(rule: KeyRule, args: readonly Argument[]): number[] {
  const positions = rule.destination >= 0 && args.length > rule.destination ? [rule.destination] : [];
  const end = Math.min(rule.first + (countAt(rule, args) - 1) * rule.step, args.length - 1);
  for (let position = rule.first; position <= end; position += rule.step) positions.push(position);
  return positions;
}

function halfAfterWord(rule: KeyRule, args: readonly Argument[]): number[] {
  const at = indexOfWord(args, rule.word, rule.first);
  if (at < 0) return [];
  return sequence(at + 1, at + Math.floor((args.length - at - 1) / 2), 1);
}

function ruleOfSubcommand({ subcommands }: KeyRule, [word = ""]: readonly Argument[]): KeyRule {
  return subcommands?.get(lowerWord(word)) ?? NO_KEYS;
}

// SORT key [BY pattern] [LIMIT offset count] [GET pattern …] [ASC|DESC] [ALPHA] [STORE key]. Patterns get the
// prefix like keys, except GET #. A directive that is a Buffer is not recognised.
function sortPositions(args: readonly Argument[]): number[] {
  const positions = args.length > 0 ? [0] : [];
  let index = 1;
  while (index < args.length - 1) {
    const directive = args[index];
    if (typeof directive !== "string") index += 1;
    else if (isWord(directive, "LIMIT")) index += 3;
    else if (isWord(directive, "GET")) {
      if (!isWord(args[index + 1], "#")) positions.push(index + 1);
      index += 2;
    } else if (isWord(directive, "BY") || isWord(directive, "STORE")) {
      positions.push(index + 1);
      index += 2;
    } else index += 1;
  }
  return positions;
}

function georadiusPositions(rule: KeyRule, args: readonly Argument[]): number[] {
  const positions = args.length > 0 ? [0] : [];
  for (let index = rule.first; index < args.length - 1; index++) {
    if (!isWord(args[index], "STORE") && !isWord(args[index], "STOREDIST")) continue;
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

function indexOfWord(args: readonly Argument[], word: string, from: number): number {
  for (let index = from; index < args.length; index++) {
    if (isWord(args[index], word)) return index;
  }
  return -1;
}

/** Compares with a word in upper case, in any letter case, without creating a string. */
export function isWord(arg: Argument | undefined, upperWord: string): boolean {
  if (arg === undefined || arg.length !== upperWord.length) return false;
  for (let index = 0; index < upperWord.length; index++) {
    const unit = unitAt(arg, index);
    const upper = unit >= 97 && unit <= 122 ? unit - 32 : unit;
    if (upper !== upperWord.charCodeAt(index)) return false;
  }
  return true;
}

export function lowerWord(arg: Argument): string {
  return (typeof arg === "string" ? arg : arg.toString("latin1")).toLowerCase();
}

function unitAt(arg: Argument, index: number): number {
  return typeof arg === "string" ? arg.charCodeAt(index) : (arg[index] as number);
}
