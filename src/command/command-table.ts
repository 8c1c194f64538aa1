/**
 * What is known about commands: flags, keys, policies, transformers, looked up once for each
 * call by word (`specOf`) or never (methods hold their spec). The rows are generated; this file
 * reads them when they are first asked for. Flags and keys ignore letter case, transformers
 * belong to the exact word. Words are never looked up in an object with a prototype, and words
 * that are not in the table cannot make anything grow without bound.
 */

import type { Argument } from "../protocol/resp-types";
import { BUILTIN_ARGUMENT_MAPPERS } from "./argument-mappers";
import { hasBlockOption } from "./blocking";
import { type ArgumentMapper, CommandFlag, type CommandSpec, type ReplyMapper } from "./command-spec";
import { ADDITIONAL_ROWS, METHOD_ROWS } from "./generated/table";
import { type KeyRule, lowerWord, NO_KEYS, parseKeyRule } from "./key-positions";
import { BUILTIN_REPLY_MAPPERS } from "./reply-mappers";
import { watchedTable } from "./watched-table";

/** Which servers a command should be sent to when it is fanned out, by the server's own tips. */
export type RequestPolicy = "default" | "all_nodes" | "all_shards" | "multi_shard" | "special";
/** How the answers of a fan-out become one. */
export type ResponsePolicy =
  | "default"
  | "one_succeeded"
  | "all_succeeded"
  | "agg_logical_and"
  | "agg_logical_or"
  | "agg_min"
  | "agg_max"
  | "agg_sum"
  | "special";

export interface FanOutPolicy {
  readonly request: RequestPolicy;
  readonly response: ResponsePolicy;
}

interface Row extends FanOutPolicy {
  readonly flags: number;
  readonly keys: KeyRule;
  readonly subcommands: ReadonlyMap<string, Row> | null;
}

class TableSpec implements CommandSpec {
  readonly encodedName: Buffer;
  replyMapper: ReplyMapper | null = null;
  argumentMapper: ArgumentMapper | null = null;

  constructor(
    readonly name: string,
    readonly lowerName: string,
    readonly flags: number,
    readonly keys: KeyRule,
  ) {
    this.encodedName = Buffer.from(`$${Buffer.byteLength(name)}\r\n${name}\r\n`);
  }
}

/** Enough for every spelling a program uses on purpose; more are made anew each time. */
const MAX_CACHED_SPELLINGS = 1024;
/** Longer words are not worth keeping: no command has such a name. */
const MAX_CACHED_WORD_LENGTH = 128;

const UNKNOWN: Row = { flags: 0, keys: NO_KEYS, request: "default", response: "default", subcommands: null };
const texts = new Map<string, string>();
const methodNames: readonly string[] = METHOD_ROWS.map(register);
const additionalNames: readonly string[] = ADDITIONAL_ROWS.map(register);
const rows = new Map<string, Row>();
const keyRules = new Map<string, KeyRule>();
/** Specs of the table's own words, in lower case. */
const tableSpecs = new Map<string, CommandSpec>();
/** Specs of other spellings and of unknown words. */
const otherSpecs = new Map<string, CommandSpec>();

/** Argument transformers by exact word. A change counts from the next call on. */
export const argumentTransformers = watchedTable(BUILTIN_ARGUMENT_MAPPERS, refreshTransformers);
/** Reply transformers by exact word. A change counts from the next reply on. */
export const replyTransformers = watchedTable(BUILTIN_REPLY_MAPPERS, refreshTransformers);

function register(text: string): string {
  const name = text.slice(0, text.indexOf(" "));
  texts.set(name, text);
  return name;
}

/** The commands that are methods, in lower case, sorted. */
export function commandNames(): readonly string[] {
  return methodNames;
}

/** Commands of the table that are not among `commandNames()`: newer than the API, or MONITOR. */
export function additionalCommandNames(): readonly string[] {
  return additionalNames;
}

/** The spec of a word, spelled as it will be sent. */
export function specOf(word: string): CommandSpec {
  return tableSpecs.get(word) ?? otherSpecs.get(word) ?? makeSpec(word);
}

function makeSpec(word: string): CommandSpec {
  const lowerName = word.toLowerCase();
  const row = rowOf(lowerName);
  const spec = new TableSpec(word, lowerName, row.flags, row.keys);
  setTransformers(spec);
  if (word === lowerName && row !== UNKNOWN) {
    tableSpecs.set(word, spec);
  } else if (word.length <= MAX_CACHED_WORD_LENGTH) {
    if (otherSpecs.size >= MAX_CACHED_SPELLINGS) otherSpecs.clear();
    otherSpecs.set(word, spec);
  }
  return spec;
}

function setTransformers(spec: CommandSpec): void {
  const argumentMapper = argumentTransformers[spec.name];
  const replyMapper = replyTransformers[spec.name];
  spec.argumentMapper = typeof argumentMapper === "function" ? argumentMapper : null;
  spec.replyMapper = typeof replyMapper === "function" ? replyMapper : null;
}

function refreshTransformers(word: string): void {
  const spec = tableSpecs.get(word) ?? otherSpecs.get(word);
  if (spec !== undefined) setTransformers(spec);
}

/**
 * The flags of one call. They differ from `spec.flags` only where `DependsOnArguments` is set:
 * XREAD blocks only with BLOCK; XINFO STREAM reads and XGROUP CREATE writes.
 */
export function flagsFor(spec: CommandSpec, args: readonly Argument[]): number {
  const flags = spec.flags;
  if ((flags & CommandFlag.DependsOnArguments) === 0) return flags;
  if ((flags & CommandFlag.BlockOption) !== 0) {
    return hasBlockOption(args) ? flags : flags & ~(CommandFlag.Blocking | CommandFlag.NeverAutoPipelined);
  }
  const subcommand = subcommandOf(spec, args);
  return subcommand === undefined ? flags : flags | subcommand.flags;
}

/** Where the server wants the call to go in a cluster and how answers are joined. */
export function fanOutPolicyFor(spec: CommandSpec, args: readonly Argument[]): FanOutPolicy {
  return subcommandOf(spec, args) ?? rowOf(spec.lowerName);
}

function subcommandOf(spec: CommandSpec, args: readonly Argument[]): Row | undefined {
  const word = args[0];
  return word === undefined ? undefined : rowOf(spec.lowerName).subcommands?.get(lowerWord(word));
}

function rowOf(lowerName: string): Row {
  const known = rows.get(lowerName);
  if (known !== undefined) return known;
  const text = texts.get(lowerName);
  if (text === undefined) return UNKNOWN;
  const row = parseRow(text);
  rows.set(lowerName, row);
  return row;
}

// name flags keys [request response][;subcommand flags keys [request response]]…
function parseRow(text: string): Row {
  if (!text.includes(";")) return parseFields(text, null);
  const [head = "", ...rest] = text.split(";");
  const subcommands = new Map<string, Row>();
  for (const part of rest) subcommands.set(part.slice(0, part.indexOf(" ")), parseFields(part, null));
  return parseFields(head, subcommands);
}

function parseFields(text: string, subcommands: ReadonlyMap<string, Row> | null): Row {
  const fields = text.split(" ");
  const keys = fields[2] as string;
  return {
    flags: Number.parseInt(fields[1] as string, 16),
    keys: subcommands === null ? sharedKeyRule(keys) : parseKeyRule(keys, keysOf(subcommands)),
    request: (fields[3] ?? "default") as RequestPolicy,
    response: (fields[4] ?? "default") as ResponsePolicy,
    subcommands,
  };
}

/** Hundreds of commands have a handful of rules among them. */
function sharedKeyRule(text: string): KeyRule {
  let rule = keyRules.get(text);
  if (rule === undefined) {
    rule = parseKeyRule(text);
    keyRules.set(text, rule);
  }
  return rule;
}

function keysOf(subcommands: ReadonlyMap<string, Row>): ReadonlyMap<string, KeyRule> {
  const rules = new Map<string, KeyRule>();
  for (const [name, row] of subcommands) rules.set(name, row.keys);
  return rules;
}
