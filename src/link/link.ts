/**
 * The link of a client to one server. It outlives its connections and holds the public state. Commands go
 * directly to the ready connection, or wait in the offline queue. After a loss the unanswered ones are sent
 * again first, if `command/fate.ts` allows it. Each command settles: by its reply, by these rules, or with
 * "Connection is closed." when the link ends.
 *
 *   commands ---> Link ---- ready, nothing to inspect ---------> Connection
 *                   \-> Intake -> CurrentConnection ------------/
 *                              \-> OfflineQueue
 *   replies ----> LinkReplies
 *   disconnect, reconnect -> leaveConnection -,
 *   reset, a lost socket ---------------------+-> onClose -> LeftoverCommands -> OfflineQueue
 *                                                       \-> planRetry -> beginAttempt, or end
 *   beginAttempt -> Establishment -> onEstablished, or onRefused and a lost socket
 */

import { type Command, CommandState } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { causeOf } from "../command/ending-errors";
import { Connection, type ConnectionDeps } from "../connection/connection";
import { type Credentials, request, type ServerInfo } from "../connection/handshake";
import { Subscriptions } from "../connection/subscriptions";
import {
  AlreadyConnectingError,
  ConnectionClosedError,
  MaxRetriesPerRequestError,
  ReplyError,
} from "../errors";
import { callUser } from "../util/user-code";
import { type AbstractConnector, takesAnyServer } from "./connector";
import { CredentialRenewal, type ExpiringCredentials } from "./credentials";
import { CurrentConnection } from "./current-connection";
import { Establishment, explainTrouble, explainTurnedAway, isConnectionTrouble } from "./establishment";
import { Intake } from "./intake";
import { isQuit, LeftoverCommands } from "./leftovers";
import {
  type LinkDeps,
  type LinkMover,
  type LinkOptions,
  type QueuePosition,
  serverOf,
} from "./link-options";
import { isConnected, type LinkMode, type LinkStatus, moveLink } from "./link-state";
import { Liveness } from "./liveness";
import { ManagedFieldsets } from "./managed-fieldsets";
import { OfflineQueue } from "./offline-queue";
import { Reconnection } from "./reconnection";
import { LinkReplies } from "./replies";
import { SubscriptionGap } from "./resubscribe";
import { databasesFor } from "./selected-db";
import { SESSION_FLAGS, Session } from "./session";
import { TcpConnector } from "./tcp-connector";

const ATTENTION = SESSION_FLAGS | CommandFlag.Quit | CommandFlag.Monitor | CommandFlag.Blocking;

export type MoverMaker = (link: Link) => LinkMover;

/** Each part calls the link back through its own interface: closures would cost memory in idle clients. */
export class Link implements Dispatcher {
  readonly subscriptions = new Subscriptions(() => this.updateDirect());
  readonly offline = new OfflineQueue();
  readonly session: Session;
  readonly current: CurrentConnection;
  readonly fieldsets: ManagedFieldsets;
  private readonly reconnection: Reconnection;
  /** The current attempt to connect; its later events are ignored once it is stopped. */
  private establishment: Establishment | null = null;
  private readonly replies: LinkReplies;
  private readonly liveness: Liveness;
  private readonly renewal: CredentialRenewal;
  private readonly connectionDeps: ConnectionDeps;
  private readonly gap: SubscriptionGap;
  private readonly leftovers: LeftoverCommands;
  private readonly intake: Intake;
  /** Null: a connection ends only when it is lost. */
  private readonly mover: LinkMover | null;
  status: LinkStatus = "wait";
  /** The connection, if it is ready, no command waits before it, and no command needs inspection. */
  direct: Connection | null = null;
  isClosing = false;
  private lastArrivalBeforeMs = 0;
  hasBeenReady = false;

  constructor(
    readonly options: LinkOptions,
    readonly connector: AbstractConnector,
    private readonly deps: LinkDeps & { readonly makeMover?: MoverMaker | null },
  ) {
    const db = options.db ?? 0;
    this.session = new Session(db, (exec, selected) => this.onDecided(exec, selected));
    this.current = new CurrentConnection(this, deps, db);
    this.reconnection = new Reconnection(options, connector, deps);
    this.fieldsets = new ManagedFieldsets(options.himportFieldsets ?? [], this);
    this.replies = new LinkReplies(this, deps);
    this.liveness = new Liveness(this, deps);
    this.renewal = new CredentialRenewal(this, deps);
    this.gap = new SubscriptionGap(this.subscriptions, deps);
    this.leftovers = new LeftoverCommands(options, this.offline, deps);
    this.intake = new Intake(this, this.leftovers, deps);
    const { messages, tracer, counts } = deps;
    const { subscriptions, replies } = this;
    this.connectionDeps = { life: this, replies, subscriptions, messages, tracer, counts };
    this.mover = deps.makeMover?.(this) ?? null;
  }

  get connection(): Connection | null {
    return this.current.connection;
  }

  /** When the last bytes of the server arrived; 0: none yet. */
  get lastArrivalMs(): number {
    return this.connection?.lastArrivalMs || this.lastArrivalBeforeMs;
  }

  // --- Dispatcher --------------------------------------------------------------------------

  dispatch(command: Command): void {
    if (this.direct === null || (command.spec.flags & ATTENTION) !== 0) {
      this.intake.take(command);
      return;
    }
    command.db = this.session.selected.db;
    this.direct.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const connection = this.connectionFor(commands);
    if (connection === null) {
      this.intake.takeBatch(commands);
      return;
    }
    const { db } = this.session.selected;
    if (db !== 0) for (const command of commands) command.db = db;
    connection.dispatchBatch(commands);
  }

  /** The connection that takes these commands as they are; null if they wait or are inspected one by one. */
  connectionFor(commands: readonly Command[]): Connection | null {
    return this.session.isConcerned(commands, ATTENTION) ? null : this.direct;
  }

  // --- lifecycle ---------------------------------------------------------------------------

  /** Resolves when ready; rejects when the attempt ends otherwise (retries may continue). */
  connect(): Promise<void> {
    if (isConnected(this.status)) return Promise.reject(new AlreadyConnectingError());
    const outcome = this.reconnection.result();
    this.isClosing = false;
    this.session.isQuitting = false;
    this.beginAttempt();
    return outcome;
  }

  /** Writes the issued commands and half-closes. With `isReconnect` a new connection follows. */
  disconnect(isReconnect = false): void {
    this.leaveConnection(isReconnect, (connection) => connection.writeAllAndEnd());
  }

  /** @param end Ends an open connection. */
  private leaveConnection(isReconnect: boolean, end: (connection: Connection) => void): void {
    const { status } = this;
    if (status === "end") return;
    this.mover?.onLost();
    if (status === "connect") this.current.withdraw(new ConnectionClosedError());
    if (!isReconnect) this.isClosing = true;
    this.reconnection.isMovingOn = isReconnect;
    if (!isConnected(status)) {
      if (isReconnect && status !== "wait") return;
      this.reconnection.stop();
      if (status === "wait") this.setStatus("close");
      if (isReconnect) {
        this.planRetry();
        return;
      }
      this.end();
    } else if (this.connection?.socket == null) {
      // The connector has not returned a socket.
      this.dropConnection();
      this.reconnection.fail(() => new ConnectionClosedError());
      if (isReconnect) this.planRetry();
      else this.end();
    } else {
      this.stopAttempt();
      end(this.connection);
      this.updateDirect();
    }
    callUser(() => this.connector.disconnect());
  }

  /** Closes the current connection immediately with an error; reconnect and resend follow the options. */
  reset(error: Error): void {
    this.connection?.destroy(error);
    this.updateDirect();
  }

  get isWritable(): boolean {
    const isOpen = this.status === "ready" && this.connection?.isWritable === true;
    return isOpen && !this.session.isQuitting && this.mover?.isHolding !== true;
  }

  get isLeaving(): boolean {
    return this.session.isQuitting || this.isClosing || this.status === "end";
  }

  get mode(): LinkMode {
    if (this.options.monitor) return "monitor";
    // Before the handshake has determined the protocol, the configured one applies.
    const isTold = this.current.isReady || this.options.protocol === 2;
    const isResp2 = isTold && this.connection?.shape.protocol === 2;
    return isResp2 && !this.subscriptions.isEmpty ? "subscriber" : "normal";
  }

  get inFlight(): number {
    return (this.queue?.inFlight ?? this.current.early.length) + (this.mover?.unanswered ?? 0);
  }

  /** Undefined before a connection is ready: its queue contains only the handshake. */
  get queue(): Connection["queue"] | undefined {
    return this.status === "ready" ? this.connection?.queue : undefined;
  }

  get isIdle(): boolean {
    const length = (this.connection?.queue.length ?? 0) + (this.mover?.unanswered ?? 0);
    return this.offline.length + length === 0;
  }

  /** The position of a command of this link, for the error of a timeout. */
  positionOf({ state, extra }: Pick<Command, "extra"> & { readonly state: number }): QueuePosition {
    const { connection, server } = this;
    const isSent = state === CommandState.Sent && connection !== null && extra !== null;
    const ahead = isSent
      ? extra.place - connection.queue.answered
      : (connection?.queue.length ?? 0) + this.offline.length - 1;
    const bytesAhead = connection?.socket?.writableLength ?? 0;
    return { commandsAhead: Math.max(0, ahead), bytesAhead, server };
  }

  /** Emits an error under its name. Expected errors while the link is closing are not emitted. */
  report(type: string, error: Error): void {
    this.leftovers.cause = error;
    if (this.isClosing && isConnectionTrouble(error)) return;
    this.deps.listener.onNamedError(type, error);
  }

  get server(): string {
    return serverOf(this.options);
  }

  // --- called by its parts -----------------------------------------------------------------

  unanswered(): readonly Command[] {
    return [...(this.connection?.queue.pending() ?? []), ...this.offline.pending()];
  }

  /** Commands that are not written wait for the next connection. */
  reconnect(): void {
    this.leaveConnection(true, (connection) => connection.end());
  }

  onQuit(): void {
    this.isClosing = true;
    // Unlike servers, some proxies do not close the connection after QUIT.
    this.connection?.end();
  }

  onMonitoring(): void {
    if (this.options.monitor) this.setStatus("monitoring");
  }

  onNamedError(type: string, error: Error): void {
    // Connectors may choose another server for the next attempt, and clusters another node.
    const hasOthers = this.deps.takeover !== null || this.connector.constructor !== TcpConnector;
    if (!this.hasBeenReady) this.leftovers.failMistaken(error, hasOthers);
    this.report(type, error);
  }

  /** Whether commands go directly to the connection or are inspected one by one. */
  updateDirect(): void {
    this.direct = null;
    if (this.status !== "ready") return;
    const { session } = this;
    const isOpen = this.isWritable && !this.isLeaving && this.mode === "normal" && this.offline.length === 0;
    if (isOpen && !session.isDelicate && !session.isDbOpen) this.direct = this.connection;
    this.renewal.release();
    this.mover?.look();
  }

  get holdsCommands(): boolean {
    return this.current.isDeciding || this.mover?.isHolding === true;
  }

  /** A command that was dispatched but not sent when its connection was lost. */
  queueUnsent(command: Command): void {
    if (this.isLeaving) this.leftovers.turnAway([command]);
    else this.offline.push(command);
    this.updateDirect();
  }

  // --- called by its mover -----------------------------------------------------------------

  /** Its connection has a state that another one would lack, or is not ready. */
  get isBound(): boolean {
    if (this.intake.isInBatch) return true;
    return this.status !== "ready" || this.isLeaving || this.session.isBound || this.current.isDeciding;
  }

  get isRelaxed(): boolean {
    return this.mover?.isRelaxed === true;
  }

  /** Also creates the connection that will replace the current one. */
  makeConnection(): Connection {
    const { options, connectionDeps, mover } = this;
    return mover?.open(options, connectionDeps) ?? new Connection(options, connectionDeps);
  }

  /** Held commands are sent if the mover does not hold them any more. */
  resume(): void {
    if (this.current.isReady && !this.holdsCommands) this.intake.sendWaiting();
    this.updateDirect();
  }

  /** Later commands go to this connection, which has completed its handshake. */
  replaceConnection(connection: Connection, db: number, credentials: ExpiringCredentials): void {
    this.liveness.stop();
    this.current.drop();
    this.current.connection = connection;
    this.current.open(db);
    this.liveness.start(connection);
    this.renewal.start(credentials);
  }

  /** The unanswered commands of a replaced connection are sent again by the rules for a lost one. */
  takeBack(connection: Connection): void {
    const left = this.leftovers.leftBy(connection);
    this.leftovers.keep(this.isLeaving ? this.leftovers.endLeftovers(left) : left, connection);
    if (this.status === "end") this.leftovers.endWaiting();
    this.resume();
  }

  /** While maintenance runs, silence of the server proves nothing. */
  relax(isRelaxed: boolean): void {
    const { connection, options } = this;
    if (connection === null || this.status !== "ready") return;
    connection.limitSilence(isRelaxed ? 0 : (options.socketTimeout ?? 0));
    if (!isRelaxed) this.liveness.start(connection);
    else {
      this.liveness.stop();
      // Writes the commands that wait for the reply to a PING.
      connection.goOn();
    }
  }

  /** Closes the connection or the attempt with this error, and connects without a delay. */
  restart(error: Error): void {
    this.reconnection.isDialledAtOnce = true;
    if (this.status === "reconnecting") {
      this.report("error", error);
      this.beginAttempt();
    } else this.reset(error);
  }

  // --- the connection ----------------------------------------------------------------------

  onOpen(): void {
    this.setStatus("connect");
    const { current } = this;
    current.open(current.agreed);
    void this.establishment?.introduce(databasesFor(this.unanswered(), current.agreed));
  }

  onConnectionError(error: Error): void {
    // An unrequested error reply before the handshake.
    if (error instanceof ReplyError) this.onTurnedAway(error);
    else {
      const explained = explainTrouble(error, this.connection, this.options.tls);
      this.current.onTrouble(explained);
      this.onNamedError("error", explained);
    }
  }

  /** The connector failed. Without a socket, no `close` event follows, and so no retry. */
  onUnreachable(error: Error): void {
    this.dropConnection();
    this.report("error", error);
    this.reconnection.fail(() => error);
    this.becomeEnded();
    this.leftovers.endWaiting(() => error);
  }

  get hasFailedAttempt(): boolean {
    return this.reconnection.attempts > (this.hasBeenReady ? 1 : 0);
  }

  onEstablished(info: ServerInfo, credentials: ExpiringCredentials): void {
    const connection = this.connection as Connection;
    const { connector, establishment } = this;
    if (!takesAnyServer(connector) && !callUser(() => connector.check(info.fields))) {
      this.reconnect();
      return;
    }
    // The check may have closed the client.
    if (this.establishment !== establishment) return;
    this.establishment = null;
    connection.markReady();
    this.current.early = [];
    this.hasBeenReady = true;
    this.deps.counts.opened++;
    this.liveness.start(connection);
    this.setStatus("ready");
    if (this.current.agreed !== (this.options.db ?? 0)) this.deps.listener.onSelect(this.current.agreed);
    if (this.options.monitor) this.current.request("monitor", []);
    this.mover?.onEstablished(connection);
    this.sendWaiting(connection);
    this.reconnection.succeed();
    this.replies.onArrival(info.fields["role"]);
    if (this.current.isReady) this.renewal.start(credentials);
  }

  /** An attempt failed. Commands wait, or fail with the reason if the server refused the client. */
  onRefused(error: Error, isTransient: boolean): void {
    this.current.withdraw(error);
    if (!isTransient) this.leftovers.failWaiting(() => error);
    this.report("error", error);
    this.reconnect();
  }

  onTurnedAway(error: Error): void {
    this.onRefused(error, explainTurnedAway(error));
  }

  onClose(): void {
    const { connection } = this;
    this.renewal.stop();
    if (connection === null) return;
    this.lastArrivalBeforeMs = connection.lastArrivalMs || this.lastArrivalBeforeMs;
    this.dropConnection();
    this.current.early = [];
    const left = this.leftovers.leftBy(connection);
    this.setStatus("close");
    const isLast = this.isClosing || left.sent.some(isQuit);
    if (connection.readyAtMs > 0 && !isLast) this.deps.counts.lost++;
    this.leftovers.keep(isLast ? this.leftovers.endLeftovers(left) : left, connection);
    this.session.onLoss((flag) => this.offline.has(flag));
    this.reconnection.fail(() => this.leftovers.closedError());
    if (this.status !== "close") {
      // User code that received an outcome has ended the link or connected it again.
      if (this.status === "end") this.leftovers.endWaiting();
      return;
    }
    if (isLast) {
      this.end();
      return;
    }
    if (!this.options.autoResubscribe) this.subscriptions.clear();
    this.gap.begin(this.lastArrivalBeforeMs);
    this.reconnection.judgeLife(connection.readyAtMs);
    this.planRetry();
  }

  /** Null when AUTH cannot be sent now. */
  authenticate({ username, password }: Credentials): Promise<Error | null> | null {
    const { connection, session, mode } = this;
    if (connection === null || !this.current.isReady) return null;
    if (mode !== "normal" || session.isInTransaction) return null;
    const args = username ? [username, password ?? ""] : [password ?? ""];
    return request(connection, "auth", args).then(({ error }) => error);
  }

  private onDecided(exec: Command, db: number | null): void {
    this.current.onDecided(exec, db);
    this.resume();
  }

  private setStatus(status: LinkStatus, argument?: unknown): void {
    this.status = moveLink(this.status, status);
    this.updateDirect();
    this.deps.listener.onStatus(status, argument);
  }

  private beginAttempt(): void {
    this.leftovers.cause = undefined;
    this.deps.counts.attempts++;
    this.setStatus("connecting");
    const connection = this.makeConnection();
    this.current.connection = connection;
    this.reconnection.stop();
    this.establishment = new Establishment(connection, this.reconnection, this);
    this.establishment.start();
  }

  private stopAttempt(): void {
    this.establishment?.stop();
    this.establishment = null;
  }

  private dropConnection(): void {
    this.stopAttempt();
    this.mover?.onLost();
    this.liveness.stop();
    this.current.drop();
    this.direct = null;
  }

  /** Sends, in this order: subscriptions, commands of a lost connection, waiting commands, the SELECT. */
  private sendWaiting(connection: Connection): void {
    // Written together, because some commands may have been given up, and others depend on them.
    connection.writesAtTaskEnd = true;
    if (!this.subscriptions.isEmpty) {
      this.current.select(this.session.selected.db);
      this.gap.restore(connection, (error) => this.report("error", error));
    }
    this.intake.sendWaiting();
    connection.writesAtTaskEnd = false;
    this.updateDirect();
  }

  private planRetry(): void {
    const { status } = this;
    const { delayMs, exhausted } = this.reconnection.plan();
    if (exhausted !== null) {
      const options = causeOf(this.leftovers.cause);
      this.leftovers.failWaiting(() => new MaxRetriesPerRequestError(exhausted, options));
    }
    // The retry strategy, or user code that received an outcome, has ended the link or connected it again.
    if (this.status !== status) return;
    // The caller of QUIT has already received its result.
    const hasLeft = this.session.isQuitting && !this.offline.has(CommandFlag.Quit);
    if (delayMs === null || hasLeft) this.end();
    else {
      this.setStatus("reconnecting", delayMs);
      this.reconnection.wait(delayMs, () => this.beginAttempt());
    }
  }

  /** The state becomes `end` first, so that a takeover sends no command back here. */
  private end(): void {
    this.session.clear();
    this.becomeEnded();
    this.leftovers.endWaiting();
  }

  private becomeEnded(): void {
    this.reconnection.reset();
    this.mover?.stop();
    this.gap.end(this.leftovers.closedError());
    callUser(() => this.connector.disconnect());
    // A listener of the error may have ended it already.
    if (this.status !== "end") this.setStatus("end");
  }
}
