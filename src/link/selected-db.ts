/**
 * Tracks the selected database over a sequence of commands. A SELECT inside a transaction counts only if EXEC
 * runs it, so commands after such an EXEC wait for its reply and run in the database that is selected then.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { ownCommand } from "../command/own-command";
import type { Reply } from "../protocol/resp-types";

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

  /** EXEC has been answered. */
  settle(selects: Selects, reply: Reply): void {
    if (!Array.isArray(reply)) return;
    for (const [place, db] of selects) if (!(reply[place] instanceof Error)) this.db = db;
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

/** The state that `DatabaseChanges` corrects. */
export interface DatabaseDeps {
  /** In the order of issue. */
  readonly session: { readonly selected: SelectedDb; settleExec(exec: Command, db: number | null): void };
  /** In the order of sending, on the current connection. */
  readonly current: {
    settle(exec: Command, reply?: Reply): number | null;
    setDb(db: number): void;
    abandonOpen(): void;
  };
  /** The unanswered commands, in order. */
  unanswered(): readonly Pick<Command, "db" | "spec">[];
  /** Commands no longer have to wait for EXEC. */
  resume(): void;
}

/** Follows the server's replies about databases. */
export class DatabaseChanges {
  constructor(
    private readonly deps: DatabaseDeps,
    /** The database that the server has last confirmed: the next connection is ready only with it. */
    public agreed: number,
  ) {}

  onSelected(db: number): void {
    this.agreed = db;
  }

  /**
   * The databases that the next connection will select: the server's current one, and those of commands that
   * wait for others.
   */
  toCome(): { readonly db: number; readonly otherDbs: readonly number[] } {
    const selected = new SelectedDb(this.agreed);
    const others = new Set<number>();
    for (const command of this.deps.unanswered()) {
      if (command.db !== selected.db && command.db !== DB_WHEN_SENT) {
        others.add(command.db);
        selected.db = command.db;
      }
      if (command.spec !== undefined) selected.note(command as Command);
    }
    return { db: this.agreed, otherDbs: [...others] };
  }

  /** A SELECT has failed: the previous database is still selected, unless another SELECT followed. */
  onRefused(command: Command): void {
    const { session, current } = this.deps;
    if (session.selected.db !== Number(command.args[0])) return;
    session.selected.db = command.db;
    current.setDb(command.db);
  }

  /** MULTI has failed, so the commands behind it are not a transaction. */
  onMultiRefused(error: Error): void {
    // Inside a transaction, which continues.
    if (error.message.includes("nested")) return;
    this.deps.session.selected.abandonOpen();
    this.deps.current.abandonOpen();
  }

  /** An EXEC is answered; without a reply, it has failed. */
  onExecSettled(exec: Command, reply?: Reply): void {
    const { session, current } = this.deps;
    const db = current.settle(exec, reply);
    if (db !== null && reply !== undefined) this.agreed = db;
    session.settleExec(exec, reply === undefined ? null : db);
    this.deps.resume();
  }
}
