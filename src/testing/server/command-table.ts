/**
 * The commands of one server version: arity, flags and keys from the generated table, joined with
 * the handlers of the command families. A command without handler is known and not supported.
 */

import { help } from "../commands/help";
import { COMMAND_ROWS } from "../generated/command-rows";
import type { CommandEntry, CommandTable, Handlers } from "./model";
import type { ServerVersion } from "./version";

interface Row extends Omit<CommandEntry, "run" | "subcommands"> {
  readonly versions: string;
}

function parseRow(line: string): Row {
  const [name = "", arity, flags = "0", first, last, step, group = "", versions = ""] = line.split(" ");
  return {
    name,
    arity: Number(arity),
    flags: Number.parseInt(flags, 16),
    keys: [Number(first), Number(last), Number(step)],
    group,
    versions,
  };
}

let parsedRows: readonly Row[] | null = null;

function buildTable(version: ServerVersion, handlers: Handlers): CommandTable {
  parsedRows ??= COMMAND_ROWS.map(parseRow);
  const table = new Map<string, CommandEntry>();
  for (const row of parsedRows) {
    if (!row.versions.includes(version.letter)) continue;
    const [parent = "", child] = row.name.split("|");
    const entry: CommandEntry = {
      name: row.name,
      arity: row.arity,
      flags: row.flags,
      keys: row.keys,
      group: row.group,
      run: handlers[row.name] ?? (child === "help" ? help : null),
      subcommands: child === undefined && CONTAINERS.has(parent) ? new Map() : null,
    };
    if (child === undefined) table.set(parent, entry);
    else table.get(parent)?.subcommands?.set(child, entry);
  }
  return table;
}

const CONTAINERS: ReadonlySet<string> = new Set(
  COMMAND_ROWS.filter((line) => line.slice(0, line.indexOf(" ")).includes("|")).map((line) =>
    line.slice(0, line.indexOf("|")),
  ),
);

const tables = new Map<string, CommandTable>();

/** The table of a version; made once in a process. */
export function commandTable(version: ServerVersion, handlers: Handlers): CommandTable {
  let table = tables.get(version.name);
  if (table === undefined) {
    table = buildTable(version, handlers);
    tables.set(version.name, table);
  }
  return table;
}

/** The words that are keys, by the entry's simple rule. */
export function simpleKeys({ keys: [first, last, step] }: CommandEntry, args: readonly string[]): string[] {
  if (first === 0) return [];
  const end = last < 0 ? args.length + last : last;
  const found: string[] = [];
  for (let at = first; at <= end && at < args.length; at += step) found.push(args[at] as string);
  return found;
}
