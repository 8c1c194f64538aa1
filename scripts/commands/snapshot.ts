/**
 * The stored form of the replies to COMMAND and COMMAND DOCS: one entry for each command and subcommand
 * (`xinfo|stream`), sorted by name. Each entry has its own line, so that the changes of a newer server are a
 * readable diff. It only reads and writes files, and asks no server.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The entry of COMMAND DOCS about one argument; `block` and `oneof` have arguments of their own. */
export interface ArgumentDoc {
  readonly name: string;
  readonly type: string;
  readonly display_text?: string;
  readonly token?: string;
  readonly summary?: string;
  readonly since?: string;
  readonly deprecated_since?: string;
  readonly flags?: readonly string[];
  readonly key_spec_index?: number;
  readonly value?: string;
  readonly arguments?: readonly ArgumentDoc[];
}

export interface CommandDoc {
  readonly summary?: string;
  readonly since?: string;
  readonly group?: string;
  readonly complexity?: string;
  readonly module?: string;
  readonly doc_flags?: readonly string[];
  readonly deprecated_since?: string;
  readonly replaced_by?: string;
  readonly history?: readonly (readonly [string, string])[];
  readonly arguments?: readonly ArgumentDoc[];
}

/** One of the places where keys are found; positions count from 1 after the command word. */
export interface KeySpec {
  readonly flags: readonly string[];
  readonly begin_search: { readonly type: string; readonly spec: Readonly<Record<string, string | number>> };
  readonly find_keys: { readonly type: string; readonly spec: Readonly<Record<string, number>> };
}

export interface CommandInfo {
  readonly arity: number;
  readonly flags: readonly string[];
  /** First key, last key, step; positions count from 1 after the command word. */
  readonly keys: readonly [number, number, number];
  /** Of the access control list, as `@read`. */
  readonly categories?: readonly string[];
  readonly tips: readonly string[];
  readonly keySpecs: readonly KeySpec[];
  readonly docs: CommandDoc;
}

export interface Snapshot {
  /** Product and version, for example `redis 7.0.15`. */
  readonly server: string;
  readonly commands: Readonly<Record<string, CommandInfo>>;
}

/** The folder of the snapshots, also when run from the compiled copy. */
export const DATA_DIRECTORY = join(repositoryRoot(), "scripts", "commands", "data");

/** The checkout: the scripts run from `build/scripts/commands`. */
export function repositoryRoot(): string {
  const compiled = join("build", "scripts", "commands");
  return __dirname.endsWith(compiled) ? join(__dirname, "..", "..", "..") : join(__dirname, "..", "..");
}

export function formatSnapshot(snapshot: Snapshot): string {
  const names = Object.keys(snapshot.commands).sort();
  const lines = names.map(
    (name) => `    ${JSON.stringify(name)}: ${JSON.stringify(snapshot.commands[name])}`,
  );
  return `{\n  "server": ${JSON.stringify(snapshot.server)},\n  "commands": {\n${lines.join(",\n")}\n  }\n}\n`;
}

/** All snapshots: data of newer names first, then Redis by version, then Valkey. */
export function readSnapshots(): Snapshot[] {
  const files = readdirSync(DATA_DIRECTORY).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => JSON.parse(readFileSync(join(DATA_DIRECTORY, file), "utf8")) as Snapshot);
}
