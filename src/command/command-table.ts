/**
 * Static facts about commands: flags, keys, policies, transformers. Each call looks them up once by name
 * (`specOf`) or never (methods hold their spec). The rows are generated. Flags and keys ignore letter case,
 * transformers apply to the exact name. Names are never looked up in an object with a prototype, and unknown
 * names cannot make the table grow without bound.
 */

import type { Argument } from "../protocol/resp-types";
import { MOST_NAMES } from "../util/bounds";
import { BUILTIN_ARGUMENT_MAPPERS } from "./argument-mappers";
import { blockPosition } from "./blocking";
import { CommandFlag, CommandSpec } from "./command-spec";
import { ADDITIONAL_ROWS, COMMAND_DETAILS, METHOD_ROWS, MODULE_KEYS } from "./generated/table";
import { type KeyRule, KeyWalk, lowerWord, NO_KEYS, parseKeyRule, UNKNOWN_KEYS } from "./key-positions";
import { observedTable } from "./observed-table";
import { BUILTIN_REPLY_MAPPERS } from "./reply-mappers";

/** Positions of the keys, as in COMMAND INFO: 1 is the first argument, negative numbers count from the end. */
export interface KeyPlaces {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

interface Details {
  /** The request policy and the response policy of the server's tips, if any. */
  readonly tips: string;
  readonly subcommands: ReadonlyMap<string, Subcommand>;
}

interface Subcommand {
  readonly flags: number;
  readonly keys: KeyRule;
  readonly tips: string;
}

/** Longer names are not cached: no command has such a name. */
const MAX_CACHED_WORD_LENGTH = 128;

const NO_DETAILS: Details = { tips: "", subcommands: new Map() };

const moduleKeys = new Map(Object.entries(MODULE_KEYS));
/** A text is parsed on first use. */
const details = new Map<string, string | Details>(Object.entries(COMMAND_DETAILS));
const keyRules = new Map<string, KeyRule>([[KeyWalk.None, NO_KEYS]]);
/** Specs of the table's own names, in lower case: all of them, because they become methods immediately. */
const tableSpecs = new Map<string, CommandSpec>();
/** Specs of other spellings and of unknown names. */
const otherSpecs = new Map<string, CommandSpec>();
/** The key positions of other commands, as programs have declared them. */
const addedRules = new Map<string, KeyRule>();
/** The methods of the API, in lower case, sorted. */
export const commandNames: readonly string[] = addSpecs(METHOD_ROWS);
/** Commands of the table that are not in `commandNames`: newer than the API (methods too), or MONITOR. */
export const additionalCommandNames: readonly string[] = addSpecs(ADDITIONAL_ROWS);

/** Argument transformers by exact name. A change takes effect with the next call. */
export const argumentTransformers = observedTable(BUILTIN_ARGUMENT_MAPPERS, refreshTransformers);
/** Reply transformers by exact name. A change takes effect with the next reply. */
export const replyTransformers = observedTable(BUILTIN_REPLY_MAPPERS, refreshTransformers);

for (const word of Object.keys(argumentTransformers)) refreshTransformers(word);
for (const word of Object.keys(replyTransformers)) refreshTransformers(word);

// flags keys name name …
function addSpecs(rows: readonly string[]): string[] {
  const added: string[] = [];
  for (const row of rows) {
    const [flags = "0", keys = "-", ...names] = row.split(" ");
    const sum = Number.parseInt(flags, 16);
    for (const name of names) {
      tableSpecs.set(name, new CommandSpec(name, name, sum, keyRule(name, keys)));
      added.push(name);
    }
  }
  return added.sort();
}

/** The spec of a name, spelled as it will be sent. */
export function specOf(word: string): CommandSpec {
  return tableSpecs.get(word) ?? otherSpecs.get(word) ?? makeSpec(word);
}

function makeSpec(word: string): CommandSpec {
  const lowerName = word.toLowerCase();
  const known = tableSpecs.get(lowerName);
  const keys = known?.keys ?? addedRules.get(lowerName) ?? moduleKeyRule(lowerName);
  const spec = new CommandSpec(word, lowerName, known?.flags ?? 0, keys ?? UNKNOWN_KEYS);
  setTransformers(spec);
  if (word.length > MAX_CACHED_WORD_LENGTH) return spec;
  if (otherSpecs.size >= MOST_NAMES) otherSpecs.clear();
  otherSpecs.set(word, spec);
  return spec;
}

/** Declares the key positions of a command that the table does not contain. Replaces an earlier declaration. */
export function stateKeys(word: string, { first, last, step }: KeyPlaces): void {
  const lowerName = word.toLowerCase();
  if (tableSpecs.has(lowerName)) return;
  const end = last < 0 ? last : last - 1;
  addedRules.set(lowerName, first < 1 ? NO_KEYS : parseKeyRule(`r${first - 1}.${end}.${step}`));
  otherSpecs.clear();
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
 * The flags of one call. They differ from `spec.flags` only if `DependsOnArguments` is set: XREAD blocks only
 * with BLOCK; XINFO STREAM reads and XGROUP CREATE writes.
 */
export function flagsFor(spec: CommandSpec, args: readonly Argument[]): number {
  const flags = spec.flags;
  if ((flags & CommandFlag.DependsOnArguments) === 0) return flags;
  if ((flags & CommandFlag.BlockOption) !== 0) {
    return blockPosition(args) >= 0
      ? flags
      : flags & ~(CommandFlag.Blocking | CommandFlag.NeverAutoPipelined);
  }
  const subcommand = subcommandOf(spec, args);
  return subcommand === undefined ? flags : flags | subcommand.flags;
}

/** Whether this call has no effect on the data. */
export function isRead({ spec, args }: { spec: CommandSpec; args: readonly Argument[] }): boolean {
  return (flagsFor(spec, args) & CommandFlag.Readonly) !== 0;
}

/** Without these flags, only its name can keep a command out of automatic batches. */
export const MAY_GO_ALONE = CommandFlag.NeverAutoPipelined | CommandFlag.DependsOnArguments;

/** True if a command never joins an automatic batch: because of its kind, or because `names` contains it. */
export function goesAlone(spec: CommandSpec, args: readonly Argument[], names: ReadonlySet<string>): boolean {
  if ((flagsFor(spec, args) & CommandFlag.NeverAutoPipelined) !== 0) return true;
  return names.size > 0 && names.has(spec.lowerName);
}

/** The request policy and the response policy of the server's tips for the call, if any. */
export function tipsFor(spec: CommandSpec, args: readonly Argument[]): string {
  return (subcommandOf(spec, args) ?? detailsOf(spec.lowerName)).tips;
}

function subcommandOf(spec: CommandSpec, args: readonly Argument[]): Subcommand | undefined {
  const word = args[0];
  return word === undefined ? undefined : detailsOf(spec.lowerName).subcommands.get(lowerWord(word));
}

/** The rule of a module command; undefined if its family is unknown. */
function moduleKeyRule(lowerName: string): KeyRule | undefined {
  const family = lowerName.slice(0, lowerName.indexOf(".") + 1);
  const text = moduleKeys.get(lowerName) ?? moduleKeys.get(family);
  return text === undefined ? undefined : keyRule(lowerName, text);
}

/** Hundreds of commands share a handful of rules. */
function keyRule(name: string, text: string): KeyRule {
  if (text === KeyWalk.Subcommand) return parseKeyRule(text, detailsOf(name).subcommands);
  let rule = keyRules.get(text);
  if (rule === undefined) {
    rule = parseKeyRule(text);
    keyRules.set(text, rule);
  }
  return rule;
}

function detailsOf(name: string): Details {
  const known = details.get(name) ?? NO_DETAILS;
  if (typeof known !== "string") return known;
  const parsed = parseDetails(known);
  details.set(name, parsed);
  return parsed;
}

// [request [response]][;subcommand flags keys [request [response]]]…
function parseDetails(text: string): Details {
  const [tips = "", ...parts] = text.split(";");
  const subcommands = new Map<string, Subcommand>();
  for (const part of parts) {
    const [name = "", flags = "0", keys = "-", ...words] = part.split(" ");
    const rule = keyRule(name, keys);
    subcommands.set(name, { flags: Number.parseInt(flags, 16), keys: rule, tips: words.join(" ") });
  }
  return { tips, subcommands };
}
