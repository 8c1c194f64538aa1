/**
 * Carries out the plan of one link: follows the notices of its server, opens the next connection beside the
 * current one, and switches when the current one has received its last reply. New commands wait until then,
 * so their order is kept and none is sent twice. Only blocking commands stay on the old connection, which
 * closes after their replies or at the end of its time. The mover never changes the configured address.
 */

import { isIP } from "node:net";
import { Connection, type ConnectionDeps, type ConnectionOptions } from "../connection/connection";
import { serverFor } from "../connection/flush-encoder";
import { request } from "../connection/handshake";
import type { MessageListener } from "../connection/push-router";
import { ConnectionClosedError } from "../errors";
import type { Link } from "../link/link";
import type { LinkDeps, LinkMover } from "../link/link-options";
import { withServerName } from "../link/socket-options";
import { TcpConnector } from "../link/tcp-connector";
import { type ConnectionContext, connectionChannel } from "../observability/work-channels";
import type { Message } from "../protocol/message";
import type { Reply } from "../protocol/resp-types";
import { atTurnEnd, clockMs, nextTick, startTimer, stopTimer } from "../util/scheduling";
import {
  becomeCurrent,
  becomeNext,
  ChangeableLife,
  Ear,
  type NoticeHearer,
  type RoleDeps,
} from "./connection-roles";
import { isDrained, isHeldUp, lastOwed } from "./drained";
import { askForNotices } from "./notice-request";
import { type Address, type Notice, readNotice } from "./notices";
import { Overlap } from "./overlap";
import {
  type Decision,
  decide,
  isRelaxed,
  type MaintenanceEvent,
  type Move,
  NO_MAINTENANCE,
  wakeAtMs,
} from "./plan";
import { Successor, type SuccessorOwner } from "./successor";

/** A maintenance event. */
export interface MaintenanceReport {
  /**
   * `notice`: the server announced it. `moved`: commands use the new connection. `failed`: the new server
   * could not be reached, and another attempt follows. `over`: time limits apply again.
   */
  readonly state: "notice" | "moved" | "failed" | "over";
  readonly notice?: Notice | undefined;
  readonly error?: Error | undefined;
}

export interface MoverOwner {
  /** Whether the server is asked to announce maintenance, and whether it must. */
  readonly wantsNotices: boolean;
  readonly isRequired: boolean;
  onReport(report: MaintenanceReport): void;
  /** Slots have moved to other nodes of the cluster. */
  onSlotsMoved(notice: Notice): void;
  /** The link has ended. */
  onEnd(): void;
}

/** In ms: the interval between checks whether an old connection still waits for replies. */
const CHECK_MS = 20;

export class Mover implements LinkMover, SuccessorOwner, NoticeHearer {
  isHolding = false;
  private state = NO_MAINTENANCE;
  private successor: Successor | null = null;
  private context: ConnectionContext | null = null;
  private readonly roles = new WeakMap<Connection, RoleDeps>();
  private readonly retired = new Set<Connection>();
  private overlap: Overlap | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly link: Link,
    private readonly deps: Pick<LinkDeps, "credentials" | "counts" | "tracer" | "messages">,
    private readonly owner: MoverOwner,
  ) {}

  // --- LinkMover -----------------------------------------------------------------------------

  open(options: ConnectionOptions, deps: ConnectionDeps): Connection {
    const ear = deps.messages && new Ear(this, deps.messages);
    const role: RoleDeps = { ...deps, life: new ChangeableLife(deps.life), messages: ear };
    const connection = new Connection(options, role);
    if (ear !== null) ear.connection = connection;
    this.roles.set(connection, role);
    return connection;
  }

  onEstablished(connection: Connection): void {
    this.askForNotices(connection);
    if (this.isRelaxed) this.link.relax(true);
  }

  onLost(): void {
    this.handle({ kind: "connection lost" });
  }

  look(): void {
    const { successor, link } = this;
    if (this.isHolding || successor === null || this.state.move?.status !== "ready" || link.isBound) return;
    this.isHolding = true;
    link.resume();
    if (this.overlap !== null) this.awaitMessages();
    atTurnEnd(() => this.awaitDrain(successor));
  }

  stop(): void {
    this.onLost();
    this.state = NO_MAINTENANCE;
    stopTimer(this.timer);
    for (const connection of this.retired) connection.end();
    this.owner.onEnd();
  }

  /** The connector now connects to another server. */
  move(): void {
    if (this.state.move === null) this.handle({ kind: "move" });
  }

  get isRelaxed(): boolean {
    return isRelaxed(this.state);
  }

  get unanswered(): number {
    let sum = 0;
    for (const { queue } of this.retired) sum += queue.length;
    return sum;
  }

  // --- called for notices ----------------------------------------------------------------------

  onPush(message: readonly Reply[]): void {
    const notice = readNotice(message);
    if (notice === null) return;
    const { seen } = this.state;
    this.handle({ kind: "notice", notice });
    if (this.state.seen !== seen) this.owner.onReport({ state: "notice", notice });
  }

  onMessage(connection: Connection | null, message: Message, listener: MessageListener): void {
    const { overlap } = this;
    if (connection !== null && this.retired.has(connection)) return;
    if (overlap === null) listener.onMessage(message);
    else overlap.take(connection, message);
    if (overlap?.isOver === true) this.overlap = null;
  }

  // --- SuccessorOwner --------------------------------------------------------------------------

  onHandshake({ connection }: Successor): void {
    this.askForNotices(connection);
    const { messages } = this.deps;
    if (!this.link.subscriptions.isEmpty && messages !== null)
      this.overlap = new Overlap(messages, connection, clockMs);
  }

  onReady(): void {
    this.overlap?.begin();
    this.handle({ kind: "ready" });
    this.look();
  }

  onFailed(error: Error): void {
    this.drop(error);
    this.owner.onReport({ state: "failed", error });
    this.handle({ kind: "dial failed" });
  }

  // --- private ---------------------------------------------------------------------------------

  private handle(event: MaintenanceEvent): void {
    const wasRelaxed = this.isRelaxed;
    const [state, decisions] = decide(this.state, event, clockMs());
    this.state = state;
    for (const decision of decisions) this.carryOut(decision);
    if (this.isRelaxed !== wasRelaxed) this.link.relax(this.isRelaxed);
    if (wasRelaxed && !this.isRelaxed) this.owner.onReport({ state: "over" });
    stopTimer(this.timer);
    const delayMs = wakeAtMs(this.state) - clockMs();
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.timer = startTimer(() => this.handle({ kind: "time" }), Math.max(1, Math.ceil(delayMs)));
    this.timer.unref();
  }

  private carryOut(decision: Decision): void {
    if (decision.does === "dial") this.dial(decision.address);
    else if (decision.does === "move slots") this.owner.onSlotsMoved(decision.notice);
    else {
      this.successor?.abandon();
      this.drop(new ConnectionClosedError());
    }
  }

  private dial(address: Address | null): void {
    const { link, deps } = this;
    deps.counts.attempts++;
    if (connectionChannel.isHeard) {
      const { serverAddress, serverPort } = serverFor(deps.tracer);
      this.context = connectionChannel.begin({
        operation: "move",
        epoch: deps.counts.attempts - 1,
        serverAddress: address?.host ?? serverAddress,
        serverPort: address?.port ?? serverPort,
      });
    }
    const connection = link.makeConnection();
    const connector = address === null ? link.connector : this.connectorTo(address);
    this.successor = new Successor(connection, link, this);
    becomeNext(this.roleOf(connection), this.successor);
    this.successor.start(connector, deps);
  }

  /** If the server names an IP address, its certificate contains the configured name. */
  private connectorTo(address: Address): Link["connector"] {
    const { options } = this.link;
    const servername = isIP(address.host) ? options.host : address.host;
    const { disconnectTimeout, localAddress } = options;
    const tls = withServerName(options.tls, servername);
    return new TcpConnector({ ...address, family: 0, localAddress, tls, disconnectTimeout });
  }

  /** The next connection is lost, or is not needed. */
  private drop(error: Error): void {
    this.successor = null;
    this.overlap = null;
    this.endContext(error);
    this.release();
  }

  private release(): void {
    if (!this.isHolding) return;
    this.isHolding = false;
    this.link.resume();
  }

  private endContext(error?: Error): void {
    const { context } = this;
    this.context = null;
    if (context !== null) connectionChannel.settle(context, error);
  }

  private askForNotices(connection: Connection): void {
    if (!this.owner.wantsNotices || connection.shape.protocol !== 3) return;
    askForNotices(connection, this.link, this.owner.isRequired);
  }

  // --- the change ------------------------------------------------------------------------------

  /** The reply to PING follows all messages that were published before the new connection subscribed. */
  private awaitMessages(): void {
    const { connection: old } = this.link;
    if (old !== null && !isHeldUp(old.queue)) void request(old, "ping", []);
  }

  /**
   * Held commands wait for the change, so it follows the last reply immediately. A command that has settled
   * earlier, for example by its time limit, may still have no reply: then the checks at intervals detect the
   * end.
   */
  private awaitDrain(successor: Successor): void {
    const { connection: old } = this.link;
    const onSettled = (): void => nextTick(() => this.changeIfDrained(successor));
    if (old !== null) lastOwed(old.queue)?.ensureExtra().addHook({ onSettled });
    this.checkDrain(successor);
  }

  private checkDrain(successor: Successor): void {
    if (!this.changeIfDrained(successor)) startTimer(() => this.checkDrain(successor), CHECK_MS);
  }

  /** Returns false while the change waits. */
  private changeIfDrained(successor: Successor): boolean {
    const { move } = this.state;
    const { connection: old } = this.link;
    if (!this.isHolding || this.successor !== successor || move === null || old === null) return true;
    const isLate = clockMs() >= move.endMs;
    if (!isLate && !isDrained(old.queue)) return false;
    this.changeOver(old, successor, isLate);
    return true;
  }

  private changeOver(old: Connection, successor: Successor, isLate: boolean): void {
    const { link } = this;
    if (!successor.isUpToDate) {
      successor.abandon();
      this.onFailed(new ConnectionClosedError());
      return;
    }
    const { move } = this.state;
    successor.finish();
    this.successor = null;
    this.retire(old, (move as Move).endMs);
    becomeCurrent(this.roleOf(successor.connection), link);
    link.replaceConnection(successor.connection, successor.db, successor.credentials);
    this.deps.counts.opened++;
    this.endContext();
    this.overlap?.change();
    this.owner.onReport({ state: "moved" });
    this.handle({ kind: "changed over" });
    if (this.isRelaxed) link.relax(true);
    // The commands of the old connection are queued before the held ones.
    if (isLate) this.close(old);
    this.release();
  }

  /** The old connection stays open for the replies to its blocking commands, until `endMs` at the latest. */
  private retire(connection: Connection, endMs: number): void {
    this.retired.add(connection);
    const onClose = (): void => {
      if (this.retired.delete(connection)) this.link.takeBack(connection);
    };
    this.roleOf(connection).life.target = { onOpen() {}, onClose };
    this.watchRetired(connection, endMs);
  }

  private watchRetired(connection: Connection, endMs: number): void {
    if (!this.retired.has(connection)) return;
    if (connection.queue.length === 0) connection.end();
    else if (clockMs() >= endMs) this.close(connection);
    else startTimer(() => this.watchRetired(connection, endMs), CHECK_MS).unref();
  }

  private close(connection: Connection): void {
    connection.destroy();
    if (this.retired.delete(connection)) this.link.takeBack(connection);
  }

  private roleOf(connection: Connection): RoleDeps {
    return this.roles.get(connection) as RoleDeps;
  }
}
