/**
 * Sends a link's commands to its current connection. Tracks the server's selected database and inserts a SELECT
 * before a command that was issued for another one.
 */

import { isIndependent } from "../command/batch";
import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { LatePart } from "../util/late-part";
import { EarlyCommands, type EarlyDeps } from "./early-commands";
import type { LinkDeps } from "./link-options";
import { DB_WHEN_SENT, SelectedDb } from "./selected-db";
import type { Unblocker } from "./unblocker";

export const unblocking = new LatePart(
  "timeouts",
  () => require("./unblocker") as typeof import("./unblocker"),
);

export class CurrentConnection {
  connection: Connection | null = null;
  readonly early: EarlyCommands;
  /** Null until a call is given up that may be blocking on the server. */
  unblocker: Unblocker | null = null;
  /** The database that is selected on the server after all dispatched commands. */
  private selected = new SelectedDb(0);
  /** An EXEC whose reply determines the selected database. */
  private deciding: Command | null = null;

  constructor(
    private readonly owner: EarlyDeps,
    private readonly deps: Pick<LinkDeps, "credentials" | "listener">,
    /** The database that the server has last confirmed: the next connection is ready only with it. */
    public agreed: number,
  ) {
    this.early = new EarlyCommands(this, owner);
  }

  /** A connection was opened; its handshake selects `db`. */
  open(db: number): void {
    this.selected = new SelectedDb(db);
  }

  /** The connection is lost or being replaced. */
  drop(): void {
    this.unblocker?.stop();
    this.deciding = null;
    this.connection = null;
  }

  get isReady(): boolean {
    return this.connection !== null && this.connection.state === ConnectionState.Ready;
  }

  send(command: Command): void {
    if (command.db === DB_WHEN_SENT) command.db = this.selected.db;
    if (command.db !== this.selected.db || this.isDeciding) this.selectAnew(command.db);
    this.note(command);
    // Without limits it cannot be given up.
    if ((command.spec.flags & CommandFlag.Blocking) !== 0 && command.extra !== null) {
      command.extra.recall = () => this.recall(command);
    }
    this.connection?.dispatch(command);
  }

  /** Sends a command again on the connection that has just answered it, or on the next one. */
  resend(command: Command): void {
    if (this.isReady) this.send(command);
    else this.owner.offline.requeue(command);
  }

  /** The selected database is unknown until the reply of an EXEC. */
  get isDeciding(): boolean {
    return this.deciding !== null;
  }

  /** Ensures that later commands run on `db`. */
  select(db: number): void {
    if (db !== this.selected.db) this.selectAnew(db);
  }

  /** Sends a command on the link's own account, issued for `db`. */
  request(name: string, args: string[], db = 0): Command {
    const command = ownCommand(Origin.Client, name, args);
    command.db = db;
    this.connection?.dispatch(command);
    return command;
  }

  /** Before ready, handshake commands are sent if the user issues them one by one. */
  mayBypass(command: Command): boolean {
    return (
      command.batch === null &&
      (command.spec.flags & CommandFlag.Handshake) !== 0 &&
      this.connection?.state === ConnectionState.Handshaking
    );
  }

  /** An EXEC is refused: a transaction opened by hand is still open on the server. */
  discardInsteadOf(exec: Command): void {
    if (!isIndependent(exec.batch) || !this.isReady) return;
    this.note(this.request("discard", []));
  }

  /** An EXEC is settled, and `db` is selected now; null: unchanged. */
  onDecided(exec: Command, db: number | null): void {
    if (this.deciding !== exec) return;
    this.deciding = null;
    if (db !== null) {
      this.agreed = db;
      this.setDb(db);
    }
    // Also when the reply tells the database, because a command may have been resent in its own database
    // meanwhile.
    if (this.isReady) this.selectAnew(this.selected.db);
  }

  /** The transaction that is being sent will not run. */
  abandonOpen(): void {
    if (this.selected.abandonOpen() && this.isReady) this.selectAnew(this.selected.db);
  }

  setDb(db: number): void {
    const before = this.selected.db;
    this.selected.db = db;
    this.tell(before);
  }

  private selectAnew(db: number): void {
    this.request("select", [String(db)], this.selected.db);
    this.setDb(db);
  }

  /** The caller of a written blocking command has given up. */
  private recall(command: Command): void {
    if (this.unblocker === null) {
      const { Unblocker } = unblocking.get();
      this.unblocker = new Unblocker(this, this.owner.options, this.deps);
    }
    this.unblocker.recall(command);
  }

  private note(command: Command): void {
    const before = this.selected.db;
    const selects = this.selected.note(command);
    if (selects !== null && !command.isSettled) this.deciding = command;
    this.tell(before);
  }

  private tell(before: number): void {
    if (this.selected.db !== before) this.deps.listener.onSelect(this.selected.db);
  }
}
