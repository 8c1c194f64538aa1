/**
 * The commands of one server version: arity, flags and keys from the generated table. Each finds its
 * handler when it is first run. A command without handler is known and not supported.
 */

import { help } from "../commands/help";
import { COMMAND_ROWS } from "../generated/command-rows";
import { handlerOf } from "./handlers";
import type { CommandEntry, CommandTable, Handler } from "./model";
import type { ServerVersion } from "./version";

interface Row extends Omit<CommandEntry, "run" | "subcommands"> {
  readonly versions: string;
}

function parseRow(line: string): Row {
  const [name = "", arity, flags = "0", categories = "0", ...rest] = line.split(" ");
  const [first, last, step, group = "", versions = ""] = rest;
  return {
    name,
    arity: Number(arity),
    flags: Number.parseInt(flags, 16),
    categories: Number.parseInt(categories, 16),
    keys: [Number(first), Number(last), Number(step)],
    group,
    versions,
  };
}

let parsedRows: readonly Row[] | null = null;

class TableEntry implements CommandEntry {
  readonly name: string;
  readonly arity: number;
  readonly flags: number;
  readonly categories: number;
  readonly keys: CommandEntry["keys"];
  readonly group: string;
  /** Undefined until it is asked for. */
  private handler: Handler | null | undefined = undefined;

  constructor(
    row: Row,
    readonly subcommands: CommandEntry["subcommands"],
  ) {
    this.name = row.name;
    this.arity = row.arity;
    this.flags = row.flags;
    this.categories = row.categories;
    this.keys = row.keys;
    this.group = row.group;
  }

  get run(): Handler | null {
    if (this.handler === undefined) {
      this.handler = handlerOf(this.name, this.group) ?? (this.name.endsWith("|help") ? help : null);
    }
    return this.handler;
  }
}

function buildTable(version: ServerVersion): CommandTable {
  parsedRows ??= COMMAND_ROWS.map(parseRow);
  const table = new Map<string, CommandEntry>();
  for (const row of parsedRows) {
    if (!row.versions.includes(version.letter)) continue;
    const [parent = "", child] = row.name.split("|");
    const entry = new TableEntry(row, child === undefined && CONTAINERS.has(parent) ? new Map() : null);
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
export function commandTable(version: ServerVersion): CommandTable {
  let table = tables.get(version.name);
  if (table === undefined) {
    table = buildTable(version);
    tables.set(version.name, table);
  }
  return table;
}
