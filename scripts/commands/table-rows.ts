/**
 * Makes the rows of the command table from snapshots and overrides. Later servers add facts that earlier ones
 * lack, and override their tips. If two servers disagree about the keys or the effect of a command,
 * generation stops, because the command would be routed incorrectly for one of them.
 */

import { CommandFlag } from "../../src/command/command-spec";
import { FLAG_OVERRIDES, KEY_OVERRIDES, METHOD_NAMES } from "./overrides";
import type { CommandInfo, KeySpec, Snapshot } from "./snapshot";
import { SUMMARIES } from "./summaries";

export interface TableRow {
  readonly name: string;
  readonly flags: number;
  /** In the form of `parseKeyRule`. */
  readonly keys: string;
  readonly requestPolicy: string;
  readonly responsePolicy: string;
  readonly info: CommandInfo;
  /** Servers that have it, or where its data is from. */
  readonly sources: readonly string[];
  readonly subcommands: readonly TableRow[];
}

export interface Table {
  readonly methods: readonly TableRow[];
  readonly additional: readonly TableRow[];
}

interface Merged {
  info: CommandInfo;
  readonly sources: string[];
}

const FLAGS_OF_SERVERS: readonly (readonly [string, number])[] = [
  ["readonly", CommandFlag.Readonly],
  ["write", CommandFlag.Write],
  ["blocking", CommandFlag.Blocking],
];

export function buildTable(snapshots: readonly Snapshot[]): Table {
  const merged = mergeSnapshots(snapshots);
  const names = [...merged.keys()].filter((name) => !name.includes("|")).sort();
  const rows = names.map((name) => buildRow(name, merged));
  const methods = rows.filter((row) => METHOD_NAMES.includes(row.name));
  const missing = METHOD_NAMES.filter((name) => !merged.has(name));
  if (missing.length > 0) throw new Error(`No data about ${missing.join(", ")}`);
  checkOverrides(merged);
  return { methods, additional: rows.filter((row) => !METHOD_NAMES.includes(row.name)) };
}

function mergeSnapshots(snapshots: readonly Snapshot[]): Map<string, Merged> {
  const merged = new Map<string, Merged>();
  for (const { server, commands } of snapshots) {
    for (const [name, info] of Object.entries(commands)) {
      const source = (info as { source?: string }).source ?? server;
      const known = merged.get(name);
      if (known === undefined) {
        merged.set(name, { info, sources: [source] });
        continue;
      }
      checkAgreement(name, known.info, info);
      known.sources.push(source);
      known.info = { ...info, tips: [...new Set([...known.info.tips, ...info.tips])], docs: info.docs };
    }
  }
  return merged;
}

function checkAgreement(name: string, one: CommandInfo, other: CommandInfo): void {
  const essence = (info: CommandInfo) =>
    JSON.stringify([info.keys, info.flags.includes("readonly"), info.flags.includes("write")]);
  if (essence(one) !== essence(other)) throw new Error(`Servers disagree about ${name}`);
}

function checkOverrides(merged: ReadonlyMap<string, Merged>): void {
  const words = FLAG_OVERRIDES.flatMap(({ commands }) => commands.split(" ")).concat(
    Object.keys(KEY_OVERRIDES),
  );
  const unknown = words.filter((word) => !merged.has(word));
  if (unknown.length > 0) throw new Error(`Overrides for unknown commands: ${unknown.join(", ")}`);
}

function buildRow(name: string, merged: ReadonlyMap<string, Merged>): TableRow {
  const { info: said, sources } = merged.get(name) as Merged;
  const summary = said.docs.summary ?? SUMMARIES[name];
  if (summary === undefined) throw new Error(`No summary of ${name}`);
  const info = { ...said, docs: { ...said.docs, summary } };
  const prefix = `${name}|`;
  const subcommands = [...merged.keys()]
    .filter((other) => other.startsWith(prefix))
    .sort()
    .map((other) => ({ ...buildRow(other, merged), name: other.slice(prefix.length) }));
  return {
    name,
    flags: flagsOf(name, info, subcommands),
    keys: keysOf(name, info, subcommands),
    requestPolicy: policyOf(info, "request_policy:"),
    responsePolicy: policyOf(info, "response_policy:"),
    info,
    sources,
    subcommands,
  };
}

function flagsOf(name: string, info: CommandInfo, subcommands: readonly TableRow[]): number {
  let flags: number = name.includes("|") ? 0 : CommandFlag.Known;
  for (const [word, bit] of FLAGS_OF_SERVERS) if (info.flags.includes(word)) flags |= bit;
  const bits: Readonly<Record<string, number>> = CommandFlag;
  for (const { flag, commands } of FLAG_OVERRIDES) {
    const bit = bits[flag];
    if (bit === undefined) throw new Error(`No flag is called ${flag}`);
    if (commands.split(" ").includes(name)) flags |= bit;
  }
  if (subcommands.some((row) => row.flags !== 0)) flags |= CommandFlag.DependsOnArguments;
  return flags;
}

function keysOf(name: string, info: CommandInfo, subcommands: readonly TableRow[]): string {
  const override = KEY_OVERRIDES[name];
  if (override !== undefined) return override.keys;
  if (subcommands.some((row) => row.keys !== "-")) return "s";
  const [first, last, step] = info.keys;
  if (!info.flags.includes("movablekeys")) return first === 0 ? "-" : rangeRule(first, last, step);
  return movableRule(name, info.keySpecs);
}

// Servers count from the command word, the client from the argument behind it.
function rangeRule(first: number, last: number, step: number): string {
  return `r${first - 1}.${last < 0 ? last : last - 1}.${step}`;
}

function movableRule(name: string, specs: readonly KeySpec[]): string {
  const [spec, counted] = specs;
  if (spec === undefined) throw new Error(`${name} has movable keys but does not say where`);
  if (counted !== undefined) return countRule("d", counted);
  if (spec.find_keys.type === "keynum") return countRule("n", spec);
  const { keyword, startfrom } = spec.begin_search.spec;
  if (spec.find_keys.spec.limit !== 2) throw new Error(`The keys of ${name} need a rule of their own`);
  return `k.${keyword}.${Number(startfrom) - 1}`;
}

function countRule(letter: string, spec: KeySpec): string {
  const { keynumidx = 0, firstkey = 0, keystep = 1 } = spec.find_keys.spec;
  const begin = Number(spec.begin_search.spec.index) - 1;
  return `${letter}${begin + keynumidx}.${begin + firstkey}.${keystep}`;
}

function policyOf(info: CommandInfo, prefix: string): string {
  return info.tips.find((tip) => tip.startsWith(prefix))?.slice(prefix.length) ?? "default";
}

/** The details of the table about a command; empty for most. */
export function formatDetails(row: TableRow): string {
  const subcommands = row.subcommands.map(formatSubcommand).filter((text) => !text.endsWith(" 0 -"));
  return [formatPolicies(row).trim(), ...subcommands].join(";");
}

// A subcommand that says nothing beyond the command itself needs no entry.
function formatSubcommand(row: TableRow): string {
  return `${row.name} ${row.flags.toString(16)} ${row.keys}${formatPolicies(row)}`;
}

function formatPolicies(row: TableRow): string {
  if (row.responsePolicy !== "default") return ` ${row.requestPolicy} ${row.responsePolicy}`;
  return row.requestPolicy === "default" ? "" : ` ${row.requestPolicy}`;
}
