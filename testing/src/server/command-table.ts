/**
 * The commands of one server version: arity, flags and keys from the generated table. Each finds its
 * handler when it is first run. A command without handler is known and not supported.
 */

import { help } from "../commands/help";
import { COMMAND_ROWS } from "../generated/command-rows";
import { handlerOf } from "./handlers";
import type { CommandEntry, CommandTable, Handler } from "./model";
import type { ServerVersion } from "./version";

/** The versions that have the command of a line: its last word. */
function isIn(line: string, version: ServerVersion): boolean {
  return line.includes(version.letter, line.lastIndexOf(" ") + 1);
}

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
    line: string,
    readonly subcommands: CommandEntry["subcommands"],
  ) {
    const [name = "", arity, flags = "0", categories = "0", first, last, step, group = ""] = line.split(" ");
    this.name = name;
    this.arity = Number(arity);
    this.flags = Number.parseInt(flags, 16);
    this.categories = Number.parseInt(categories, 16);
    this.keys = [Number(first), Number(last), Number(step)];
    this.group = group;
  }

  get run(): Handler | null {
    if (this.handler === undefined) {
      this.handler = handlerOf(this.name, this.group) ?? (this.name.endsWith("|help") ? help : null);
    }
    return this.handler;
  }
}

function subcommandsOf([, ...lines]: readonly string[]): CommandEntry["subcommands"] {
  if (lines.length === 0) return null;
  const entries = lines.map((line) => new TableEntry(line, null));
  return new Map(entries.map((entry) => [entry.name.slice(entry.name.indexOf("|") + 1), entry]));
}

/** Reads the line of a command when it is first asked for: a start must not wait for all of them. */
class VersionTable implements CommandTable {
  private readonly entries = new Map<string, CommandEntry>();
  private linesByCommand: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(private readonly version: ServerVersion) {}

  get size(): number {
    return this.lines.size;
  }

  get(name: string): CommandEntry | undefined {
    return this.entries.get(name) ?? this.read(name);
  }

  keys(): Iterable<string> {
    return this.lines.keys();
  }

  *values(): Iterable<CommandEntry> {
    for (const name of this.lines.keys()) yield this.get(name) as CommandEntry;
  }

  private read(name: string): CommandEntry | undefined {
    const lines = this.lines.get(name);
    if (lines === undefined) return undefined;
    const entry = new TableEntry(lines[0] as string, subcommandsOf(lines));
    this.entries.set(name, entry);
    return entry;
  }

  /** Of each command its own line, then those of its subcommands. */
  private get lines(): ReadonlyMap<string, readonly string[]> {
    if (this.linesByCommand !== null) return this.linesByCommand;
    const all = new Map<string, string[]>();
    for (const line of COMMAND_ROWS) {
      if (!isIn(line, this.version)) continue;
      const name = line.slice(0, line.indexOf(" "));
      const bar = name.indexOf("|");
      if (bar === -1) all.set(name, [line]);
      else all.get(name.slice(0, bar))?.push(line);
    }
    this.linesByCommand = all;
    return all;
  }
}

const tables = new Map<string, CommandTable>();

/** The table of a version; made once in a process. */
export function commandTable(version: ServerVersion): CommandTable {
  let table = tables.get(version.name);
  if (table === undefined) {
    table = new VersionTable(version);
    tables.set(version.name, table);
  }
  return table;
}
