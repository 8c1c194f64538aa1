/**
 * Which database is selected after a row of commands, in the order in which they were issued or
 * sent. A SELECT inside of a transaction counts from EXEC on; when the answer to EXEC tells that it
 * did not run, everything is as it was before MULTI.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import type { Reply } from "../protocol/resp-types";

/** A transaction with a SELECT. */
interface Move {
  /** Database before MULTI. */
  before: number;
  /** Numbers of SELECTs before MULTI, and at EXEC. */
  readonly start: number;
  end: number;
  /** Its SELECTs: number of the member, database. */
  readonly selects: [member: number, db: number][];
  members: number;
}

/** The database was taken to be `from` behind a transaction, and is `to`. */
interface Correction {
  readonly from: number;
  readonly to: number;
}

export class SelectedDb {
  private selects = 0;
  private open: Move | null = null;
  /** Transactions by their EXEC, which has not been answered. */
  private moves: Map<Command, Move> | null = null;

  constructor(public db: number) {}

  /** Another database is selected, outside of any transaction. */
  select(db: number): void {
    this.db = db;
    this.selects++;
  }

  /** The open transaction is lost: it will never run. */
  abandonOpen(): void {
    if (this.open !== null && this.open.selects.length > 0) this.db = this.open.before;
    this.open = null;
  }

  /** Follows a command. True when it is the EXEC of a transaction with a SELECT: its answer decides. */
  note(command: Command): boolean {
    const { flags } = command.spec;
    const { open } = this;
    if ((flags & CommandFlag.Select) !== 0) this.noteSelect(command);
    else if ((flags & CommandFlag.Multi) !== 0) {
      this.open ??= { before: this.db, start: this.selects, end: 0, selects: [], members: 0 };
    } else if ((flags & CommandFlag.Exec) !== 0) {
      if (open !== null && open.selects.length > 0) {
        open.end = this.selects;
        this.moves ??= new Map();
        this.moves.set(command, open);
      }
      this.open = null;
      return this.moves?.has(command) === true;
    } else if ((flags & CommandFlag.Discard) !== 0) {
      if (open !== null) this.db = open.before;
      this.open = null;
    } else if ((flags & CommandFlag.Reset) !== 0) {
      this.select(0);
      this.open = null;
    } else if (open !== null) open.members++;
    return false;
  }

  /** EXEC was answered, or has ended without having been written (null). */
  settle(exec: Command, reply: Reply): Correction | null {
    const { moves } = this;
    const move = moves?.get(exec);
    if (moves === null || move === undefined) return null;
    moves.delete(exec);
    const [, from] = move.selects[move.selects.length - 1] as [number, number];
    let to = move.before;
    if (Array.isArray(reply)) {
      for (const [member, db] of move.selects) if (!(reply[member] instanceof Error)) to = db;
    }
    if (to === from) return null;
    if (this.selects === move.end) this.db = to;
    for (const later of this.open === null ? moves.values() : [...moves.values(), this.open]) {
      if (later.start === move.end) later.before = to;
    }
    return { from, to };
  }

  /** Forgets each EXEC that has ended without an answer. */
  forgetSettled(): void {
    const { moves } = this;
    if (moves !== null) for (const exec of moves.keys()) if (exec.isSettled) moves.delete(exec);
  }

  private noteSelect({ args }: Command): void {
    const db = Number(args[0]);
    const member = this.open === null ? 0 : this.open.members++;
    if (!Number.isInteger(db) || db < 0) return;
    this.select(db);
    this.open?.selects.push([member, db]);
  }
}

/** A command, or the calls of a pipeline, that runs on a database. */
export interface UnansweredCommand {
  db: number;
  readonly spec?: Command["spec"];
}

/** The state that `DatabaseChanges` corrects. */
export interface DatabaseDeps {
  /** In the order of issue. */
  readonly issued: SelectedDb;
  /** In the order of sending, on the present connection. */
  readonly sent: { settle(exec: Command, reply: Reply): void; setDb(db: number): void };
  /** The unanswered commands, in order. */
  unanswered(): readonly UnansweredCommand[];
}

/** Follows what the server says about databases. */
export class DatabaseChanges {
  constructor(
    private readonly deps: DatabaseDeps,
    /** Database that the server has last agreed to: the next connection is ready with it only. */
    public agreed: number,
  ) {}

  onSelected(db: number): void {
    this.agreed = db;
  }

  /** The databases that the next connection will select: the database of the server, and those of commands that wait for others. */
  toCome(): { readonly db: number; readonly otherDbs: readonly number[] } {
    const selected = new SelectedDb(this.agreed);
    const others = new Set<number>();
    for (const command of this.deps.unanswered()) {
      if (command.db !== selected.db) {
        others.add(command.db);
        selected.select(command.db);
      }
      if (command.spec !== undefined) selected.note(command as Command);
    }
    return { db: this.agreed, otherDbs: [...others] };
  }

  /** A SELECT has failed: the database is what it was before, unless another one followed. */
  onRefused(command: Command): void {
    const { issued, sent } = this.deps;
    if (issued.db !== Number(command.args[0])) return;
    issued.select(command.db);
    sent.setDb(command.db);
  }

  /** Whether the SELECTs of a transaction count is known: by the reply to EXEC, or null when it did not run. */
  onExecSettled(exec: Command, reply: Reply): void {
    const { issued, sent } = this.deps;
    const correction = issued.settle(exec, reply);
    sent.settle(exec, reply);
    if (correction !== null) relabel(this.deps.unanswered(), exec, correction);
  }
}

/** Commands behind EXEC, until the next SELECT, were issued for a database that it has not selected. */
function relabel(commands: readonly UnansweredCommand[], exec: Command, { from, to }: Correction): void {
  for (let i = (commands as readonly unknown[]).indexOf(exec) + 1; i < commands.length; i++) {
    const command = commands[i] as (typeof commands)[number];
    if (((command.spec?.flags ?? 0) & CommandFlag.Select) !== 0) return;
    if (command.db === from) command.db = to;
  }
}
