/**
 * The way from a link to its present connection. Follows the database of the server's side and
 * puts a SELECT before a command that was issued for another one.
 */

import { BatchKind } from "../command/batch";
import { Command } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { IGNORED } from "../command/promise-completion";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";

export class Outlet {
  connection: Connection | null = null;
  /** Database of the server's side after all that was dispatched. */
  private db = 0;
  /** Database of the server's side when the open transaction began. */
  private dbBefore: number | null = null;

  constructor(
    private readonly recall: (command: Command) => void,
    private readonly onSelect: (db: number) => void,
  ) {}

  /** A connection was opened; its handshake selects `db`. */
  open(db: number): void {
    this.db = db;
    this.dbBefore = null;
  }

  /** True while commands may be handed to the connection. */
  get isReady(): boolean {
    return this.connection !== null && this.connection.state === ConnectionState.Ready;
  }

  get isWritable(): boolean {
    return this.connection?.isWritable === true;
  }

  send(command: Command): void {
    if (command.db !== this.db) this.select(command.db);
    if ((command.spec.flags & CommandFlag.Select) !== 0) {
      const db = Number(command.args[0]);
      if (Number.isInteger(db) && db >= 0) this.setDb(db);
    }
    // Without limits it cannot be given up.
    if ((command.spec.flags & CommandFlag.Blocking) !== 0 && command.extra !== null) {
      command.extra.recall = () => this.recall(command);
    }
    this.connection?.dispatch(command);
    this.followTransaction(command.spec.flags);
  }

  /** Makes sure that what follows runs on `db`. */
  select(db: number): void {
    if (db === this.db) return;
    this.request("select", [String(db)], this.db);
    this.setDb(db);
  }

  /** Sends a command on the link's own account, issued for `db`. */
  request(name: string, args: string[], db = 0): void {
    const command = new Command(specOf(name), args, false, IGNORED);
    command.db = db;
    this.connection?.dispatch(command);
  }

  /** Before ready, commands of the handshake kind pass when the user issues them one by one. */
  mayBypass(command: Command): boolean {
    return (
      command.batch === null &&
      (command.spec.flags & CommandFlag.Handshake) !== 0 &&
      this.connection?.state === ConnectionState.Handshaking
    );
  }

  /** An EXEC is refused: a transaction that was opened by hand is still open on the server. */
  discardInsteadOf(exec: Command): void {
    const isByHand = exec.batch === null || exec.batch.kind === BatchKind.Automatic;
    if (!isByHand || !this.isReady) return;
    this.request("discard", []);
    this.followTransaction(CommandFlag.Exec);
  }

  /**
   * A SELECT inside a transaction that does not run has selected nothing. What follows EXEC was
   * issued for its database all the same, so it is selected once more.
   */
  private followTransaction(flags: number): void {
    if ((flags & (CommandFlag.Multi | TRANSACTION_END)) === 0) return;
    const { db, dbBefore } = this;
    this.dbBefore = (flags & CommandFlag.Multi) !== 0 ? db : null;
    if (dbBefore === null || dbBefore === db) return;
    if ((flags & CommandFlag.Exec) !== 0) this.request("select", [String(db)], dbBefore);
    else if ((flags & CommandFlag.Multi) === 0) this.setDb(dbBefore);
  }

  setDb(db: number): void {
    if (this.db === db) return;
    this.db = db;
    this.onSelect(db);
  }
}
