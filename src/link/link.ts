/**
 * A lasting bond to one server: it outlives its connections. Commands go straight to the ready
 * connection, or wait in the offline queue; after a loss the unanswered ones are sorted by the
 * resend rules and go out before everything else. Keeps the public status words.
 *
 * Every command handed over settles: by its reply, by the rules of `resend.ts`, or with
 * "Connection is closed." when the link ends.
 */

import { BatchKind } from "../command/batch";
import { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { IGNORED } from "../command/promise-completion";
import { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { RequestCompletion } from "../connection/handshake";
import { Subscriptions } from "../connection/subscriptions";
import {
  AlreadyConnectingError,
  ClosedOutcomeUnknownError,
  ConnectionClosedError,
  MaxRetriesPerRequestError,
  MonitorModeError,
  OfflineQueueDisabledError,
  SubscriberModeError,
  WatchLostError,
} from "../errors";
import type { AbstractConnector } from "./connector";
import { Establishment } from "./establishment";
import { LinkEvents } from "./link-events";
import type { LinkOptions, LinkOwner } from "./link-options";
import type { LinkStatus } from "./link-state";
import { OfflineQueue } from "./offline-queue";
import { restoreSubscriptions } from "./resubscribe";
import { type Leftovers, sortLeftovers } from "./resend";
import { retryDelay } from "./retry-policy";
import { SESSION_FLAGS, Session } from "./session";

/** Commands that need more than being passed on. */
const ATTENTION = SESSION_FLAGS | CommandFlag.Quit | CommandFlag.Monitor;

interface ConnectWaiter {
  resolve(): void;
  reject(error: Error): void;
}

export class Link implements Dispatcher {
  status: LinkStatus = "wait";
  readonly subscriptions = new Subscriptions();
  readonly offline = new OfflineQueue();
  readonly session: Session;
  connection: Connection | null = null;
  /** Attempts since the link was last ready. */
  attempts = 0;

  private readonly events: LinkEvents;
  private establishment: Establishment | null = null;
  private waiters: ConnectWaiter[] = [];
  private requeued: Command[] = [];
  private retryTimer: NodeJS.Timeout | undefined;
  private lastError: Error | undefined;
  /** The connection is ready and nothing has to be looked at before a command may go on. */
  private isDirect = false;
  private isClosing = false;
  private isQuitting = false;
  /** Database of the server's side after all that was dispatched to the connection. */
  private wireDb = 0;

  constructor(
    readonly options: LinkOptions,
    readonly connector: AbstractConnector,
    private readonly owner: LinkOwner,
  ) {
    this.session = new Session(options.db ?? 0);
    this.events = new LinkEvents(this, owner);
  }

  // --- Dispatcher --------------------------------------------------------------------------

  dispatch(command: Command): void {
    if (this.isDirect && (command.spec.flags & ATTENTION) === 0) {
      command.db = this.session.db;
      (this.connection as Connection).dispatch(command);
      return;
    }
    this.dispatchCarefully(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (!this.isDirect) {
      for (const command of commands) this.dispatchCarefully(command);
      return;
    }
    let needsAttention = 0;
    const { db } = this.session;
    for (const command of commands) {
      command.db = db;
      needsAttention |= command.spec.flags;
    }
    if ((needsAttention & ATTENTION) === 0) (this.connection as Connection).dispatchBatch(commands);
    else for (const command of commands) this.dispatchCarefully(command);
  }

  // --- life --------------------------------------------------------------------------------

  /** Resolves when ready; rejects when the attempt ends otherwise (retrying may go on). */
  connect(): Promise<void> {
    const { status } = this;
    if (status === "connecting" || status === "connect" || status === "ready") {
      return Promise.reject(new AlreadyConnectingError());
    }
    return new Promise((resolve, reject) => {
      this.waiters.push({ resolve, reject });
      this.beginAttempt();
    });
  }

  /** Half-closes the connection; with `isReconnect` a new one follows and commands are kept. */
  disconnect(isReconnect = false): void {
    const { status } = this;
    if (status === "end") return;
    if (!isReconnect) this.isClosing = true;
    if (status === "wait") {
      if (isReconnect) return;
      this.setStatus("close");
      this.end();
    } else if (status === "reconnecting" || status === "close") {
      if (isReconnect) return;
      clearTimeout(this.retryTimer);
      this.end();
    } else if (this.connection?.socket == null) {
      this.abandonAttempt(isReconnect);
    } else {
      this.isDirect = false;
      this.connection.end();
    }
    this.connector.disconnect();
  }

  /** Closes the present connection at once with an error; retry and resend follow the options. */
  reset(error: Error): void {
    this.isDirect = false;
    this.connection?.destroy(error);
  }

  /** Sends a command past the offline queue when the connection takes commands at all. */
  get isWritable(): boolean {
    return this.status === "ready" && this.connection?.isWritable === true && !this.isQuitting;
  }

  /** QUIT was issued, or the client is closing. */
  get isLeaving(): boolean {
    return this.isQuitting || this.isClosing;
  }

  get mode(): "normal" | "subscriber" | "monitor" {
    if (this.options.monitor) return "monitor";
    const isResp2 = this.connection !== null && this.connection.shape.protocol === 2;
    return isResp2 && !this.subscriptions.isEmpty ? "subscriber" : "normal";
  }

  /** Where the server is, for messages. */
  get server(): string {
    const { path, host, port } = this.options;
    return path ? String(path) : `${host}:${port}`;
  }

  // --- called by LinkEvents ----------------------------------------------------------------

  onOpen(): void {
    this.setStatus("connect");
    this.wireDb = this.options.db ?? 0;
    void this.establishment?.introduce();
  }

  onNamedError(type: string, error: Error): void {
    this.lastError = error;
    if (this.isClosing && isConnectionTrouble(error)) return;
    this.owner.onNamedError(type, error);
  }

  /** The connector failed: no socket, no `close`, no retry of its own. */
  onUnreachable(error: Error): void {
    this.dropConnection();
    this.failAll(() => error);
    this.rejectWaiters(error);
    this.finish();
  }

  onEstablished(info: Record<string, string>): void {
    const connection = this.connection as Connection;
    if (!this.connector.check(info)) {
      this.disconnect(true);
      return;
    }
    connection.markReady();
    this.attempts = 0;
    this.setStatus("ready");
    if (this.options.monitor) this.startMonitor(connection);
    this.sendWaiting(connection);
    const waiters = this.waiters;
    this.waiters = [];
    for (const waiter of waiters) waiter.resolve();
  }

  /** The handshake was refused: what waits fails with the reason, then comes the next attempt. */
  onRefused(error: Error): void {
    this.failAll(() => error);
    this.onNamedError("error", error);
    this.disconnect(true);
  }

  /** Puts a command at the front of what is sent on the next connection. */
  requeue(command: Command): void {
    this.requeued.push(command);
  }

  /** Sends a command again on the connection that has just answered it. */
  resendNow(command: Command): void {
    if (this.connection !== null && this.connection.state === ConnectionState.Ready) {
      this.connection.dispatch(command);
    } else this.requeued.push(command);
  }

  /** A SELECT has failed: the database is what it was before, unless another one followed. */
  onSelectRefused(command: Command): void {
    if (this.session.db !== Number(command.args[0])) return;
    this.session.db = command.db;
    this.setWireDb(command.db);
  }

  onModeChange(): void {
    this.isDirect =
      this.status === "ready" &&
      this.connection?.state === ConnectionState.Ready &&
      !this.isQuitting &&
      !this.isClosing &&
      !this.session.isBroken &&
      this.mode === "normal";
  }

  onClose(): void {
    const connection = this.connection;
    if (connection === null) return;
    this.dropConnection();
    const left = withoutRequests(connection.queue.takeAll());
    this.setStatus("close");
    if (this.isClosing || this.isQuitting) {
      this.failLeftovers(left);
      this.rejectWaiters(this.closedError());
      this.end();
      return;
    }
    this.keepForResend(left);
    this.rejectWaiters(this.closedError());
    if (!this.options.autoResubscribe) this.subscriptions.clear();
    this.planRetry();
  }

  // --- inside ------------------------------------------------------------------------------

  private setStatus(status: LinkStatus, argument?: unknown): void {
    this.status = status;
    this.onModeChange();
    this.owner.onStatus(status, argument);
  }

  private beginAttempt(): void {
    clearTimeout(this.retryTimer);
    this.isClosing = false;
    this.isQuitting = false;
    this.lastError = undefined;
    this.setStatus("connecting");
    const connection = new Connection(
      {
        highWaterBytes: this.options.highWaterBytes ?? DEFAULT_HIGH_WATER_BYTES,
        disconnectTimeoutMs: this.options.disconnectTimeout ?? 2000,
        replyMapping: this.options.replyMapping ?? "legacy",
        stringNumbers: this.options.stringNumbers ?? false,
      },
      this.events,
    );
    this.connection = connection;
    this.establishment = new Establishment(connection, this.connector, this.options, this.events);
    this.establishment.start();
  }

  /** disconnect() before the connector came back with a socket. */
  private abandonAttempt(isReconnect: boolean): void {
    this.dropConnection();
    this.rejectWaiters(new ConnectionClosedError());
    if (isReconnect) this.planRetry();
    else this.end();
  }

  private dropConnection(): void {
    this.establishment?.stop();
    this.establishment = null;
    this.connection = null;
    this.isDirect = false;
  }

  private dispatchCarefully(command: Command): void {
    const refusal = this.refusal(command);
    if (refusal !== null) {
      command.fail(refusal);
      return;
    }
    if (this.status === "wait") void this.connect().catch(ignore);
    command.db = this.session.db;
    const { flags } = command.spec;
    if ((flags & SESSION_FLAGS) !== 0) this.session.note(command);
    if (this.isWritable || this.mayBypass(command)) this.sendOne(command);
    else if (this.options.enableOfflineQueue === false) command.fail(new OfflineQueueDisabledError());
    else this.offline.push(command);
    if ((flags & CommandFlag.Quit) !== 0) {
      this.isQuitting = true;
      this.isDirect = false;
    }
    this.onModeChange();
  }

  /** Why the command cannot be taken, or null. */
  private refusal(command: Command): Error | null {
    if (this.status === "end" || this.isQuitting || (this.isClosing && this.status !== "wait")) {
      return new ConnectionClosedError();
    }
    const mode = this.mode;
    if (mode === "monitor" && (command.spec.flags & CommandFlag.Monitor) === 0) {
      return new MonitorModeError();
    }
    if (mode === "subscriber" && (command.spec.flags & CommandFlag.ValidInSubscriber) === 0) {
      return new SubscriberModeError();
    }
    const refusal = this.session.isBroken ? this.session.refusal(command) : null;
    if (refusal instanceof WatchLostError && (command.spec.flags & CommandFlag.Exec) !== 0) {
      this.session.note(command);
      if (command.batch === null || command.batch.kind === BatchKind.Automatic) this.discardByHand();
    }
    return refusal;
  }

  /** The caller opened MULTI itself and its EXEC is refused: the server must forget the transaction. */
  private discardByHand(): void {
    this.dispatchCarefully(new Command(specOf("discard"), [], false, IGNORED));
  }

  /** Before ready, commands of the handshake kind pass when the user issues them one by one. */
  private mayBypass(command: Command): boolean {
    return (
      this.status === "connect" &&
      command.batch === null &&
      (command.spec.flags & CommandFlag.Handshake) !== 0 &&
      this.connection?.state === ConnectionState.Handshaking
    );
  }

  /** Hands a command to the connection, on the database it was issued for. */
  private sendOne(command: Command): void {
    const connection = this.connection as Connection;
    if (command.db !== this.wireDb) this.select(connection, command.db);
    if ((command.spec.flags & CommandFlag.Select) !== 0) {
      const db = Number(command.args[0]);
      if (Number.isInteger(db) && db >= 0) this.setWireDb(db);
    }
    connection.dispatch(command);
  }

  private select(connection: Connection, db: number): void {
    connection.dispatch(new Command(specOf("select"), [String(db)], false, IGNORED));
    this.setWireDb(db);
  }

  private setWireDb(db: number): void {
    if (this.wireDb === db) return;
    this.wireDb = db;
    this.owner.onSelect(db);
  }

  /** On ready: subscriptions, then what a lost connection left, then what waited, then the database. */
  private sendWaiting(connection: Connection): void {
    if (!this.subscriptions.isEmpty) {
      if (this.session.db !== this.wireDb) this.select(connection, this.session.db);
      restoreSubscriptions(connection, this.subscriptions, (error) => this.onNamedError("error", error));
    }
    for (let command = this.offline.shift(); command !== undefined; command = this.offline.shift()) {
      if (!command.isSettled) this.sendOne(command);
    }
    if (this.session.db !== this.wireDb) this.select(connection, this.session.db);
    this.onModeChange();
  }

  private startMonitor(connection: Connection): void {
    connection.isMonitoring = true;
    connection.dispatch(new Command(specOf("monitor"), [], false, IGNORED));
    this.setStatus("monitoring");
  }

  private keepForResend(left: Leftovers): void {
    const policy =
      this.options.autoResendUnfulfilledCommands === false
        ? "at-most-once"
        : (this.options.retryPolicy ?? "at-least-once");
    const again = sortLeftovers(left, {
      policy,
      maxLosses: this.options.maxLossesPerCommand ?? 3,
      cause: this.lastError,
      server: this.server,
    });
    const front = this.requeued.length === 0 ? again : [...this.requeued, ...again];
    this.requeued = [];
    this.session.onLoss(front);
    this.offline.putBack(front);
  }

  private failLeftovers(left: Leftovers): void {
    for (const command of left.sent) {
      if ((command.spec.flags & CommandFlag.Quit) !== 0)
        command.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
      else command.fail(new ClosedOutcomeUnknownError(this.causeOptions()));
    }
    for (const command of left.unsent) command.fail(this.closedError());
  }

  private planRetry(): void {
    const delayMs = retryDelay(this.options.retryStrategy, ++this.attempts);
    if (delayMs === null) {
      this.end();
      return;
    }
    const limit = this.options.maxRetriesPerRequest;
    if (typeof limit === "number" && limit >= 0 && this.attempts % (limit + 1) === 0) {
      this.failAll(() => new MaxRetriesPerRequestError(limit, this.causeOptions()));
    }
    this.setStatus("reconnecting", delayMs);
    this.retryTimer = setTimeout(() => {
      this.retryTimer = undefined;
      void this.connect().catch(ignore);
    }, delayMs);
  }

  /** Status `end`: everything that still waits is told so. */
  private end(): void {
    this.session.clear();
    this.failAll(() => this.closedError());
    this.finish();
  }

  private finish(): void {
    this.attempts = 0;
    this.setStatus("end");
  }

  private failAll(makeError: () => Error): void {
    const waiting = [...this.requeued, ...this.offline.takeAll()];
    this.requeued = [];
    for (const command of waiting) command.fail(makeError());
  }

  private rejectWaiters(error: Error): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const waiter of waiters) waiter.reject(error);
  }

  private closedError(): ConnectionClosedError {
    return new ConnectionClosedError(this.causeOptions());
  }

  private causeOptions(): ErrorOptions | undefined {
    return this.lastError === undefined ? undefined : { cause: this.lastError };
  }
}

/** One stretch of output; see docs/decisions on how it was measured. */
const DEFAULT_HIGH_WATER_BYTES = 256 * 1024;

function ignore(): void {}

/** Fails the handshake commands of a closed connection and returns what its users had sent. */
function withoutRequests(left: Leftovers): Leftovers {
  const isOwn = (command: Command): boolean => command.completion instanceof RequestCompletion;
  for (const command of [...left.sent, ...left.unsent]) {
    if (isOwn(command)) command.fail(new ConnectionClosedError());
  }
  const isUsers = (command: Command): boolean => !isOwn(command) && command.completion !== IGNORED;
  return { sent: left.sent.filter(isUsers), unsent: left.unsent.filter(isUsers) };
}

function isConnectionTrouble(error: Error): boolean {
  const { syscall } = error as NodeJS.ErrnoException;
  return error instanceof ConnectionClosedError || syscall === "connect" || syscall === "read";
}
