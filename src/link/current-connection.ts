/**
 * Sends a link's commands to its current connection. Tracks the server's selected database and inserts a SELECT
 * before a command that was issued for another one.
 *
 * Waiting commands are sent behind the handshake of a new connection, in the same write, which saves a round trip.
 * If the handshake fails, they are withdrawn: their replies are dropped, and they wait as if never written.
 * Only commands that are safe in that case are sent early. Reads are always safe. A write is safe if it may
 * be sent again and the handshake has no login and no SELECT that the server could refuse. The outcome of the
 * handshake is known before the first reply to an early command.
 */

import { isIndependent } from "../command/batch";
import { Command, CommandState, IGNORED, issuedBy, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor, isRead } from "../command/command-table";
import { ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { type Credentials, hasAny } from "../connection/handshake";
import { ReplyError } from "../errors";
import { isTransientRefusal, isTurnedAway } from "../observability/hints";
import { isCertain } from "../util/error-hint";
import { LatePart } from "../util/late-part";
import { type AbstractConnector, takesAnyServer } from "./connector";
import { type LinkDeps, type LinkOptions, retryPolicyOf } from "./link-options";
import type { OfflineQueue } from "./offline-queue";
import { DB_WHEN_SENT, SelectedDb } from "./selected-db";
import type { Unblocker } from "./unblocker";

export const unblocking = new LatePart(
  "timeouts",
  () => require("./unblocker") as typeof import("./unblocker"),
);

/** Commands that depend on the state of the connection, hold it, or end it. */
const NEVER_EARLY =
  CommandFlag.NeverAutoPipelined | CommandFlag.Blocking | CommandFlag.Fieldsets | CommandFlag.WillDisconnect;

export interface CurrentOwner {
  readonly options: LinkOptions;
  readonly connector: AbstractConnector;
  readonly offline: OfflineQueue;
  readonly subscriptions: { readonly isEmpty: boolean };
  /**
   * An attempt has failed since the link was last ready. A command that ends its connection may be the reason, and
   * would never be given up: only losses of ready connections count.
   */
  readonly hasFailedAttempt: boolean;
  readonly hasBeenReady: boolean;
}

export class CurrentConnection {
  connection: Connection | null = null;
  /** Commands that were sent behind a handshake without an outcome. */
  early: readonly Command[] = [];
  /** Null until a call is given up that may be blocking on the server. */
  unblocker: Unblocker | null = null;
  /** The database that is selected on the server after all dispatched commands. */
  private selected = new SelectedDb(0);
  /** An EXEC whose reply determines the selected database. */
  private deciding: Command | null = null;

  constructor(
    private readonly owner: CurrentOwner,
    private readonly deps: Pick<LinkDeps, "credentials" | "listener" | "takeover">,
    /** The database that the server has last confirmed: the next connection is ready only with it. */
    public agreed: number,
  ) {}

  /** A connection was opened; its handshake selects `db`. */
  open(db: number): void {
    this.selected = new SelectedDb(db);
  }

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

  /** Sends a command of the client. */
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
    // Even if the reply determines the database: a command may have been resent in its own one meanwhile.
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

  /** Sends the waiting commands behind the handshake, up to the first one that must wait for the outcome. */
  sendEarly(credentials: Credentials): void {
    const { options, connector, offline, subscriptions, hasBeenReady, hasFailedAttempt } = this.owner;
    const { agreed: db } = this;
    if (hasFailedAttempt || !takesAnyServer(connector)) return;
    // A custom stream may deliver replies at any time, also before the listeners of `ready` have run.
    if (!subscriptions.isEmpty || options.monitor || this.connection?.isOwnSocket !== true) return;
    // Only in the first attempt of a client of one server. After a failed attempt, another server may answer a
    // write while the first one, silent so far, still runs it later.
    const isFirst = !hasBeenReady && this.deps.takeover === null;
    const mayWrite = ({ extra }: Command): boolean =>
      isFirst &&
      db === 0 &&
      !hasAny(credentials) &&
      (extra?.retryPolicy ?? retryPolicyOf(options)) === "at-least-once";
    const sent: Command[] = [];
    offline.drain(
      (command) => {
        sent.push(command);
        this.send(command);
      },
      (command) => command.db !== db || !isEarly(command) || !(isRead(command) || mayWrite(command)),
    );
    this.early = sent;
  }

  /**
   * The early commands wait again.
   * @param refusal The reason; null: certainly no server has run them.
   */
  withdraw(refusal: Error | null): void {
    const sent = new Set(this.early.filter((command) => !command.isSettled));
    this.early = [];
    if (sent.size === 0) return;
    this.connection?.queue.replaceAll((command) => (sent.has(command) ? placeholderFor(command) : command));
    const hasRunNone = refusal === null || refusesAll(refusal);
    for (const command of sent) {
      if (!hasRunNone && command.state === CommandState.Sent && !isRead(command)) command.mayHaveRun = true;
      if (command.extra !== null) command.extra.sentAtMs = 0;
      if (command.group !== null) command.group.isStarted = false;
      command.state = CommandState.Queued;
    }
    this.owner.offline.putBack([...sent]);
  }

  /** If the cause is certain, such as an HTTP port, no server has run the early commands. */
  onTrouble(error: Error): void {
    if (isCertain(error)) this.withdraw(null);
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

function isEarly({ spec, args }: Command): boolean {
  const flags = flagsFor(spec, args);
  return (flags & CommandFlag.Known) !== 0 && (flags & NEVER_EARLY) === 0;
}

/** Whether the server answers every command behind its refusal with an error. */
function refusesAll(error: Error): boolean {
  if (!(error instanceof ReplyError)) return false;
  const { message } = error;
  return message.startsWith("NOAUTH ") || isTurnedAway(message) || isTransientRefusal(message);
}

/** Takes the place of a command and drops its reply. An unwritten one is skipped. */
function placeholderFor({ spec, wantsBuffers, state }: Command): Command {
  const command = issuedBy(Origin.Connection, new Command(spec, [], wantsBuffers, IGNORED));
  command.state = state === CommandState.Sent ? state : CommandState.Settled;
  return command;
}
