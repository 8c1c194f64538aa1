/**
 * A lasting bond to one server: it outlives its connections and keeps the public status words.
 * Commands go straight to the ready connection, or wait in the offline queue; after a loss the
 * unanswered ones are sorted by the resend rules and go out before everything else. Each settles:
 * by its reply, by the rules of `resend.ts`, or with "Connection is closed." when the link ends.
 */

import { flagsOf } from "../command/batch-flags";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import type { PlainCalls } from "../command/plain-calls";
import { Connection } from "../connection/connection";
import { Subscriptions } from "../connection/subscriptions";
import {
  AlreadyConnectingError,
  ConnectionClosedError,
  DeadConnectionError,
  MaxRetriesPerRequestError,
  OfflineQueueDisabledError,
  WatchLostError,
} from "../errors";
import type { Reply } from "../protocol/resp-types";
import { callUser } from "../util/user-code";
import { ConnectWaiters } from "./connect-waiters";
import type { AbstractConnector } from "./connector";
import { Establishment } from "./establishment";
import { causeOf, dismiss, dismissLeftovers, isConnectionTrouble, isQuit, withoutRequests } from "./farewell";
import { refuseOrBequeath } from "./heir";
import { LinkEvents } from "./link-events";
import { connectionOptions, type LinkOptions, type LinkOwner, retryPolicyOf, serverOf } from "./link-options";
import { type LinkMode, type LinkStatus, modeRefusal } from "./link-state";
import { LinkWatch } from "./link-watch";
import { OfflineQueue } from "./offline-queue";
import { Outlet } from "./outlet";
import { type Leftovers, sortLeftovers } from "./resend";
import { restoreSubscriptions } from "./resubscribe";
import { retryDelay } from "./retry-policy";
import { relabel } from "./selected-db";
import { SESSION_FLAGS, Session } from "./session";
import { Unblocker } from "./unblocker";

/** Commands that need more than being passed on. */
const ATTENTION = SESSION_FLAGS | CommandFlag.Quit | CommandFlag.Monitor | CommandFlag.Blocking;

/** A connection that lives for so many of the delays that preceded it was worth its attempt. */
const LIFE_PER_DELAY = 5;

export class Link implements Dispatcher {
  status: LinkStatus = "wait";
  readonly subscriptions = new Subscriptions();
  readonly offline = new OfflineQueue();
  readonly session: Session;

  private readonly events: LinkEvents;
  private readonly outlet: Outlet;
  private readonly watch: LinkWatch;
  private readonly waiters = new ConnectWaiters();
  readonly unblocker: Unblocker;
  private establishment: Establishment | null = null;
  private readonly requeued: Command[] = [];
  private retryTimer: NodeJS.Timeout | undefined;
  private lastError: Error | undefined;
  /** Attempts since the link was last ready. */
  attempts = 0;
  /** What `retryStrategy` was told last, and the delay that it gave; kept while connections live shortly. */
  private times = 0;
  private lastDelayMs = 0;
  /** The present connection is left on purpose, for another one. */
  private isMovingOn = false;
  /** The connection, if it is ready, nothing waits to go before, and no command has to be looked at. */
  private direct: Connection | null = null;
  /** `disconnect()` was called. */
  isClosing = false;
  /** Database that the server has last agreed to. */
  private selectedDb: number;
  /** QUIT was answered: the server is about to close. */
  private hasQuit = false;

  constructor(
    readonly options: LinkOptions,
    readonly connector: AbstractConnector,
    private readonly owner: LinkOwner,
  ) {
    this.selectedDb = options.db ?? 0;
    this.session = new Session(this.selectedDb, (exec) => this.onExecSettled(exec, null));
    this.events = new LinkEvents(this, owner);
    this.watch = new LinkWatch(this, owner);
    this.unblocker = new Unblocker(this);
    this.outlet = new Outlet(
      (command) => this.unblocker.recall(command),
      (db) => owner.onSelect(db),
    );
  }

  get connection(): Connection | null {
    return this.outlet.connection;
  }

  // --- Dispatcher --------------------------------------------------------------------------

  dispatch(command: Command): void {
    if (this.direct === null || (command.spec.flags & ATTENTION) !== 0) {
      this.dispatchCarefully(command);
      return;
    }
    command.db = this.session.db;
    this.direct.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (this.direct === null || this.session.isConcerned(commands, flagsOf(commands) & ATTENTION)) {
      if (this.isLeaving) refuseOrBequeath(commands, () => this.closedError(), this.owner);
      else for (const command of commands) this.dispatchCarefully(command);
      return;
    }
    const { db } = this.session;
    if (db !== 0) for (const command of commands) command.db = db;
    this.direct.dispatchBatch(commands);
  }

  dispatchCalls(calls: PlainCalls): boolean {
    calls.db = this.session.db;
    return this.direct?.dispatchCalls(calls) === true;
  }

  // --- life --------------------------------------------------------------------------------

  /** Resolves when ready; rejects when the attempt ends otherwise (retrying may go on). */
  connect(): Promise<void> {
    const { status } = this;
    if (/^(connecting|connect|ready|monitoring)$/.test(status)) {
      return Promise.reject(new AlreadyConnectingError());
    }
    const outcome = this.waiters.add();
    this.isClosing = false;
    this.session.isQuitting = false;
    this.hasQuit = false;
    this.beginAttempt();
    return outcome;
  }

  /**
   * Writes what was issued before and half-closes the connection; with `isReconnect` a new one
   * follows and commands are kept.
   */
  disconnect(isReconnect = false): void {
    const { status } = this;
    if (status === "end") return;
    if (!isReconnect) this.isClosing = true;
    this.isMovingOn = isReconnect;
    const isIdle = status === "wait" || status === "reconnecting" || status === "close";
    if (status === "wait" && isReconnect) {
      this.setStatus("close");
      this.planRetry();
      return;
    }
    if (isIdle && isReconnect) return;
    if (isIdle) this.endIdle();
    else if (this.connection?.socket == null) this.abandonAttempt(isReconnect);
    else {
      this.establishment?.stop();
      // With another connection to come, what is unsent is left to that one.
      if (isReconnect) this.connection.end();
      else this.connection.finish();
      this.onModeChange();
    }
    callUser(() => this.connector.disconnect());
  }

  /** Closes the present connection at once with an error; retry and resend follow the options. */
  reset(error: Error): void {
    this.connection?.destroy(error);
    this.onModeChange();
  }

  /** True while commands are written as they come. */
  get isWritable(): boolean {
    return this.status === "ready" && this.outlet.isWritable && !this.session.isQuitting;
  }

  /** QUIT was issued, the client is closing, or it has ended. */
  get isLeaving(): boolean {
    return this.session.isQuitting || this.isClosing || this.status === "end";
  }

  get mode(): LinkMode {
    if (this.options.monitor) return "monitor";
    // Before the handshake has told the protocol, it is the one that was asked for.
    const isTold = this.outlet.isReady || this.options.protocol === 2;
    const isResp2 = isTold && this.connection?.shape.protocol === 2;
    return isResp2 && !this.subscriptions.isEmpty ? "subscriber" : "normal";
  }

  credentials(): ReturnType<LinkOwner["credentials"]> {
    return this.owner.credentials();
  }

  /** Where the server is, for messages. */
  get server(): string {
    return serverOf(this.options);
  }

  // --- called by LinkEvents ----------------------------------------------------------------

  onOpen(): void {
    this.setStatus("connect");
    this.outlet.open(this.selectedDb);
    void this.establishment?.introduce(this.selectedDb);
  }

  onNamedError(type: string, error: Error): void {
    this.lastError = error;
    if (this.isClosing && isConnectionTrouble(error)) return;
    this.owner.onNamedError(type, error);
  }

  /** The connector failed: no socket, no `close`, no retry of its own. */
  onUnreachable(error: Error): void {
    this.dropConnection();
    this.onNamedError("error", error);
    this.waiters.reject(error);
    this.finish();
    this.failAll(() => error, this.owner);
  }

  onEstablished(info: Record<string, string>): void {
    const connection = this.connection as Connection;
    if (!callUser(() => this.connector.check(info))) {
      this.disconnect(true);
      return;
    }
    connection.markReady();
    this.watch.start(connection);
    this.attempts = 0;
    this.setStatus("ready");
    if (this.selectedDb !== (this.options.db ?? 0)) this.owner.onSelect(this.selectedDb);
    if (this.options.monitor) this.outlet.request("monitor", []);
    this.sendWaiting(connection);
    this.waiters.resolve();
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
    if (this.outlet.isReady) this.outlet.send(command);
    else this.requeued.push(command);
  }

  /** A SELECT has failed: the database is what it was before, unless another one followed. */
  onSelectRefused(command: Command): void {
    if (this.session.db !== Number(command.args[0])) return;
    this.session.selected.select(command.db);
    this.outlet.setDb(command.db);
  }

  /** Whether the SELECTs of a transaction count is known: by the reply to EXEC, or null when it did not run. */
  onExecSettled(exec: Command, reply: Reply): void {
    const correction = this.session.selected.settle(exec, reply);
    this.outlet.settle(exec, reply);
    if (correction === null) return;
    const pending = [
      ...(this.connection?.queue.pending() ?? []),
      ...this.requeued,
      ...this.offline.pending(),
    ];
    relabel(pending, exec, correction);
  }

  /** The server has said that the database is selected: the next connection is ready with it only. */
  onSelected(db: number): void {
    this.selectedDb = db;
  }

  /** The server is about to close, or to print what it executes. */
  onLastAnswer(flags: number): void {
    if ((flags & CommandFlag.Quit) !== 0) {
      this.hasQuit = true;
      // Not every proxy closes after QUIT as servers do.
      this.connection?.end();
    } else if (this.options.monitor) this.setStatus("monitoring");
  }

  onModeChange(): void {
    const isOpen = this.isWritable && !this.isLeaving && !this.session.isDelicate && this.mode === "normal";
    this.direct = isOpen && this.offline.length === 0 ? this.connection : null;
  }

  onClose(): void {
    const { connection } = this;
    if (connection === null) return;
    this.dropConnection();
    const left = withoutRequests(connection.queue.takeAll());
    this.setStatus("close");
    if (this.isClosing || this.hasQuit || left.sent.some(isQuit)) {
      this.keepForResend(dismissLeftovers(left, this.owner, this.lastError), connection);
      this.waiters.reject(this.closedError());
      this.end();
      return;
    }
    this.keepForResend(left, connection);
    this.waiters.reject(this.closedError());
    if (!this.options.autoResubscribe) this.subscriptions.clear();
    this.judgeLife(connection.readyAtMs);
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
    this.isMovingOn = false;
    this.lastError = undefined;
    this.setStatus("connecting");
    const connection = new Connection(connectionOptions(this.options), this.events);
    this.outlet.connection = connection;
    this.establishment = new Establishment(connection, this.connector, this.options, this.events);
    this.establishment.start();
  }

  private endIdle(): void {
    clearTimeout(this.retryTimer);
    if (this.status === "wait") this.setStatus("close");
    this.end();
  }

  /** disconnect() before the connector came back with a socket. */
  private abandonAttempt(isReconnect: boolean): void {
    this.dropConnection();
    this.waiters.reject(new ConnectionClosedError());
    if (isReconnect) this.planRetry();
    else this.end();
  }

  private dropConnection(): void {
    this.establishment?.stop();
    this.establishment = null;
    this.watch.stop();
    this.unblocker.stop();
    this.outlet.connection = null;
    this.direct = null;
  }

  private dispatchCarefully(command: Command): void {
    const refusal = this.refusal(command);
    if (refusal !== null) {
      refuseOrBequeath([command], () => refusal, this.owner);
      return;
    }
    if (this.status === "wait") this.connect().catch(() => {});
    const waits = !this.isWritable && !(this.status === "connect" && this.outlet.mayBypass(command));
    if (waits && this.options.enableOfflineQueue === false) {
      this.session.loseMember(command);
      this.onModeChange();
      command.fail(new OfflineQueueDisabledError());
      return;
    }
    command.db = this.session.db;
    this.session.note(command);
    if (waits) this.offline.push(command);
    else this.outlet.send(command);
    this.onModeChange();
  }

  private refusal(command: Command): Error | null {
    if (this.isLeaving) return this.closedError();
    const { flags } = command.spec;
    const wrongMode = modeRefusal(this.mode, flags);
    if (wrongMode !== null || !this.session.mayRefuse) return wrongMode;
    const refusal = this.session.refusal(command);
    if (refusal instanceof WatchLostError && (flags & CommandFlag.Exec) !== 0) {
      this.session.noteRefused(command);
      this.outlet.discardInsteadOf(command);
    }
    return refusal;
  }

  /** On ready: subscriptions, then what a lost connection left, then what waited, then the database. */
  private sendWaiting(connection: Connection): void {
    if (!this.subscriptions.isEmpty) {
      this.outlet.select(this.session.db);
      restoreSubscriptions(connection, this.subscriptions, (error) => this.onNamedError("error", error));
    }
    this.offline.drain((command) => this.outlet.send(command));
    this.outlet.select(this.session.db);
    this.onModeChange();
  }

  private keepForResend(left: Leftovers, { protocolError, readyAtMs }: Connection): void {
    const rules = {
      policy: retryPolicyOf(this.options),
      maxLosses: this.options.maxLossesPerCommand ?? 3,
      cause: this.lastError,
      protocolError,
      livedMs: performance.now() - readyAtMs,
      mayStillRun: this.lastError instanceof DeadConnectionError && !this.lastError.isReachable,
      server: this.server,
      takeLate: () => (readyAtMs > 0 ? this.offline.takeAll() : []),
    };
    const again = sortLeftovers(left, rules);
    const isWhole = ({ batch }: Command): boolean => batch === null || !batch.isPartlyDone;
    this.offline.putBack([...this.requeued.splice(0), ...again.filter(isWhole)]);
    this.session.onLoss((flag) => this.offline.has(flag));
    dismiss(
      again.filter((command) => !isWhole(command)),
      this.owner,
      () => this.closedError(),
    );
  }

  /** A server that ends each connection soon after it is ready is not dialled again and again without a pause. */
  private judgeLife(readyAtMs: number): void {
    if (readyAtMs === 0) return;
    const livedMs = performance.now() - readyAtMs;
    if (this.isMovingOn || livedMs >= this.lastDelayMs * LIFE_PER_DELAY) this.times = 0;
  }

  private planRetry(): void {
    this.attempts++;
    let delayMs = retryDelay(this.options.retryStrategy, ++this.times);
    this.lastDelayMs = delayMs ?? 0;
    const limit = this.options.maxRetriesPerRequest;
    if (delayMs !== null && typeof limit === "number" && limit >= 0 && this.attempts % (limit + 1) === 0) {
      this.failAll(() => new MaxRetriesPerRequestError(limit, causeOf(this.lastError)));
    }
    // The caller of QUIT has been told that it is done.
    if (this.session.isQuitting && !this.offline.has(CommandFlag.Quit)) delayMs = null;
    if (delayMs === null) this.end();
    else {
      this.setStatus("reconnecting", delayMs);
      this.retryTimer = setTimeout(() => this.beginAttempt(), delayMs);
    }
  }

  /** Status `end`, so that an heir sends nothing back here; then everything that still waits is told. */
  private end(): void {
    this.session.clear();
    this.finish();
    this.failAll(() => this.closedError(), this.owner);
  }

  private finish(): void {
    this.attempts = 0;
    this.times = 0;
    callUser(() => this.connector.disconnect());
    this.setStatus("end");
  }

  private failAll(makeError: () => Error, heir: LinkOwner | null = null): void {
    dismiss([...this.requeued.splice(0), ...this.offline.takeAll()], heir, makeError);
  }

  private closedError(): ConnectionClosedError {
    return new ConnectionClosedError(causeOf(this.lastError));
  }
}
