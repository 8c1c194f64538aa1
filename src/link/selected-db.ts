/**
 * Tracks the selected database over a sequence of commands. A SELECT inside a transaction counts only if EXEC
 * runs it, so commands after such an EXEC wait for its reply and run in the database that is selected then.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { ownCommand } from "../command/own-command";

/** The `db` of a command that runs in whichever database is selected when it is sent. */
export const DB_WHEN_SENT = -1;

/** The SELECTs of a transaction: index in the reply of EXEC, and database. */
export type Selects = readonly (readonly [place: number, db: number])[];

/** Selects the database on another link of the client, unless it is selected there already. */
export function followDb(
  link: Dispatcher & { readonly session: { readonly selected: SelectedDb } },
  db: number,
): void {
  if (link.session.selected.db === db) return;
  link.dispatch(ownCommand(Origin.Client, "select", [String(db)]));
}

export class SelectedDb {
  private open: { size: number; readonly selects: [place: number, db: number][] } | null = null;

  constructor(public db: number) {}

  get isOpen(): boolean {
    return this.open !== null;
  }

  /** Records a command. Returns the SELECTs of the transaction that an EXEC ends; null without one. */
  note({ spec: { flags }, args }: Command): Selects | null {
    const { open } = this;
    if ((flags & CommandFlag.Multi) !== 0) this.open ??= { size: 0, selects: [] };
    else if ((flags & (TRANSACTION_END | CommandFlag.Reset)) !== 0) {
      this.open = null;
      if ((flags & CommandFlag.Reset) !== 0) this.db = 0;
      if ((flags & CommandFlag.Exec) !== 0 && open !== null && open.selects.length > 0) return open.selects;
    } else if ((flags & CommandFlag.Select) !== 0) this.select(Number(args[0]));
    else if (open !== null) open.size++;
    return null;
  }

  /** The open transaction will not run. True if it has a SELECT. */
  abandonOpen(): boolean {
    const { open } = this;
    this.open = null;
    return open !== null && open.selects.length > 0;
  }

  private select(db: number): void {
    const place = this.open === null ? 0 : this.open.size++;
    if (!Number.isInteger(db) || db < 0) return;
    if (this.open === null) this.db = db;
    else this.open.selects.push([place, db]);
  }
}

/** The database that EXEC has selected, by its reply; null: none. */
export function selectedBy(selects: Selects, reply: unknown): number | null {
  if (!Array.isArray(reply)) return null;
  return selects.findLast(([place]) => !(reply[place] instanceof Error))?.[1] ?? null;
}

/** The databases that a new connection must be able to select: those of waiting commands, and then `db`. */
export function databasesFor(commands: readonly Command[], db: number): readonly number[] {
  const selected = new SelectedDb(db);
  const otherDbs = new Set<number>();
  for (const command of commands) {
    if (command.db !== selected.db && command.db !== DB_WHEN_SENT) {
      otherDbs.add(command.db);
      selected.db = command.db;
    }
    selected.note(command);
  }
  return [...otherDbs, db];
}
