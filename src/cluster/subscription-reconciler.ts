/**
 * Keeps the subscriptions of a cluster client on the right nodes. It compares the wanted names with the
 * confirmed names on the live connections, one to each node, and makes up the difference; a `Placement` chooses
 * the nodes.
 *
 *   wanted = confirmed at its nodes | requested there | missing, and a pass is scheduled
 *
 * A pass follows every event that may have changed something, and a timer, because the server may move a slot
 * without notice to subscribers. A command is on a connection or waits. A connection that ends hands its
 * commands over, until the client is closed and ends the rest. A node that falls silent (frozen, or behind a
 * dead network) gets a PING; without a reply the client asks the other nodes for the table until it names a
 * successor.
 */

import { type Command, CommandState, Origin } from "../command/command";
import { LEGACY_SHAPE } from "../command/command-spec";
import { completionOf, ownCommand } from "../command/own-command";
import { SUBSCRIBING, type SubscriptionGap, SubscriptionKind } from "../connection/subscriptions";
import { ReplyError } from "../errors";
import type { Message } from "../protocol/message";
import { debugLog } from "../util/debug";
import { clockMs, jittered, startInterval, startTimer, stopInterval, stopTimer } from "../util/scheduling";
import { NoSubscriberError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import { parseRedirect, type Redirect } from "./redirect";
import {
  CHECK_MS,
  isOwn,
  keyOf,
  type SubscriberClient,
  SubscriberConnection,
  type SubscriberSupervisor,
} from "./subscriber-connection";
import type { Placement } from "./subscription-placement";
import { WantedSubscriptions } from "./wanted-subscriptions";

const debug = debugLog("subscriber");

export interface ReconcilerDeps {
  readonly slots: { learn(redirect: Redirect): void };
  /** `isActive`: false while the client is closing; then subscriptions are not restored. */
  readonly redirector: {
    readonly isActive: boolean;
    readonly options: { readonly maxRedirections: number };
  };
  readonly refresher: { request(hint: null): void; askAtOnce(node: ClusterNode): void };
}

export interface ReconcilerOwner {
  open(node: ClusterNode, supervisor: SubscriberSupervisor): SubscriberClient;
  onMessage(message: Message, node: ClusterNode): void;
  onNodeError(error: Error, node: ClusterNode): void;
  onConnectionOpened?(): void;
  onConnectionClosed?(): void;
  /** The server rejects a name, possibly one that it accepted before; the name is given up. */
  onRefused(error: Error, node: ClusterNode, kind: SubscriptionKind, name: Buffer): void;
  onSettled?(): void;
  onGap(gap: SubscriptionGap): void;
}

/**
 * The maximum number of passes without a pause while slots move. It limits the requests to nodes that
 * redirect subscribers to each other.
 */
const MOST_QUICK_LOOKS = 4;
const PAUSE_MS = 100;
/**
 * The mean time between the beginnings of two connection attempts to a node; a connection that lasted longer is
 * reconnected immediately. Messages published meanwhile are lost.
 */
const ATTEMPT_MS = 150;
/** Checks between two unrequested passes: one second. */
const CHECKS_UNTIL_LOOK = 2;
/** Longer than a failover with default settings: subscriptions still missing after it are no longer urgent. */
const HURRY_MS = 30_000;

export class SubscriptionReconciler {
  private readonly wanted = new WantedSubscriptions((kind, names) => this.onWanted(kind, names));
  private readonly connections = new Map<string, SubscriberConnection>();
  private readonly nextAttemptMs = new Map<string, number>();
  /** Commands whose connection was lost, or cannot be opened yet. */
  private waiting: Command[] = [];
  private quickLooks = 0;
  private timer: NodeJS.Timeout | undefined;
  private dueMs = 0;
  private ticker: NodeJS.Timeout | undefined;
  private checks = 0;
  private isUnsettled = false;

  constructor(
    private readonly placement: Placement,
    private readonly deps: ReconcilerDeps,
    private readonly owner: ReconcilerOwner,
  ) {}

  /** Between `start` and `stop`. */
  get isActive(): boolean {
    return this.ticker !== undefined;
  }

  /** Messages are being lost, and a new table would help: names are missing, or their nodes are silent. */
  get isInHurry(): boolean {
    const { missedSinceMs } = this.wanted;
    const isMissing = missedSinceMs !== null && clockMs() - missedSinceMs < HURRY_MS;
    const isQuiet = ({ isSilent, silentMs }: SubscriberConnection): boolean =>
      isSilent && silentMs < HURRY_MS;
    return this.isActive && (isMissing || [...this.connections.values()].some(isQuiet));
  }

  isWanted(kind: SubscriptionKind, name: Buffer): boolean {
    return this.wanted.names.has(kind, name);
  }

  dispatch(command: Command): void {
    if (!this.isActive) command.fail(new NoSubscriberError());
    else if (command.args.length === 0 && this.placement.isSpread) this.leaveAll(command);
    else {
      this.wanted.follow(command);
      // Keeps the order: waiting commands were issued earlier.
      if (this.waiting.length > 0) this.waiting.push(command);
      else this.send(command, true);
    }
  }

  /** The client itself wants a name. `onSettled` follows, or `onRefused`. */
  want(kind: SubscriptionKind, name: Buffer): void {
    this.wanted.names.add(kind, name);
    this.isUnsettled = true;
    this.book(0);
  }

  unwant(kind: SubscriptionKind, name: Buffer): void {
    this.wanted.forget(kind, [name]);
    this.book(0);
  }

  start(): void {
    this.isUnsettled = true;
    this.ticker ??= startInterval(() => this.check(), CHECK_MS).unref();
    this.look();
  }

  /** The cluster has lost its nodes or is closing. The wanted names are kept. */
  stop(isForGood: boolean): void {
    stopTimer(this.timer);
    stopInterval(this.ticker);
    this.timer = undefined;
    this.ticker = undefined;
    this.nextAttemptMs.clear();
    for (const connection of [...this.connections.values()]) this.drop(connection);
    // No connection for subscriptions will follow.
    if (isForGood) for (const command of this.waiting.splice(0)) command.fail(new NoSubscriberError());
  }

  openTo(nodes: Iterable<ClusterNode>): void {
    if (this.isActive) for (const node of nodes) this.connectionTo(node);
  }

  onTopology(): void {
    this.isUnsettled = true;
    this.look();
  }

  onNodeGone(node: ClusterNode): void {
    const connection = this.connections.get(node.key);
    if (connection !== undefined && !this.placement.isSpread) this.leave(connection);
  }

  private supervisorOf(connection: SubscriberConnection): SubscriberSupervisor {
    return {
      takeover: {
        takesOver: () => this.deps.redirector.isActive,
        takeOver: (commands) => this.onOrphans(commands),
        madeWhole: (commands) => commands,
      },
      onStatus: (status) => {
        debug("the connection for subscriptions is now %s", status);
        if (status === "end") this.onEnded(connection);
      },
      onNamedError: (type, error) => {
        if (type === "error") this.owner.onNodeError(error, connection.node);
      },
      onReplyError: (command, error) => this.onReplyError(connection, command, error),
      onShardLost: (channel) => this.onShardLost(connection, channel),
      // The connection that has taken its place may receive the same messages.
      onMessage: (message) => {
        if (this.isCurrent(connection)) this.owner.onMessage(message, connection.node);
      },
    };
  }

  private isCurrent(connection: SubscriberConnection): boolean {
    return this.connections.get(connection.node.key) === connection;
  }

  private onEnded(connection: SubscriberConnection): void {
    if (!this.isCurrent(connection)) return;
    this.forget(connection);
    this.deps.refresher.request(null);
    this.book(0);
  }

  private onOrphans(commands: readonly Command[]): void {
    for (const command of commands) {
      // The client's own commands end with their connection: another node might interpret them differently.
      if (isOwn(command)) command.fail(new NoSubscriberError());
      else this.waiting.push(command);
    }
    if (this.waiting.length > 0) this.book(0);
  }

  /** The server ended a subscription: its slot has moved. */
  private onShardLost(connection: SubscriberConnection, channel: Buffer): void {
    // As a replica the node would accept the subscription, and receive messages only once its new master knows it.
    connection.noteChange(SubscriptionKind.Shard, channel);
    if (!this.isCurrent(connection)) return;
    this.wanted.miss(SubscriptionKind.Shard, channel);
    if (!this.placement.isSpread) return;
    if (this.quickLooks < MOST_QUICK_LOOKS) this.deps.refresher.askAtOnce(connection.node);
    else this.deps.refresher.request(null);
    this.bookAfterMove();
  }

  private onReplyError(connection: SubscriberConnection, command: Command, error: Error): boolean {
    const redirect = parseRedirect(error.message, connection.node.address);
    if (redirect === null || !this.isActive) return false;
    if (!this.placement.isSpread) {
      if (redirect.kind !== "moved") return false;
      // Only this connection exists, and a retry changes nothing.
      command.fail(new TooManyRedirectionsError(error, [connection.node.key]));
      return true;
    }
    this.deps.slots.learn(redirect);
    this.deps.refresher.request(null);
    if (isOwn(command)) command.fail(error);
    else this.follow(connection, command, error);
    return true;
  }

  /** A command of the caller goes to the new owner, or waits until one is known. */
  private follow({ node }: SubscriberConnection, command: Command, error: Error): void {
    const trail = command.ensureExtra().ensureTrail();
    const { maxRedirections } = this.deps.redirector.options;
    trail.nodes.push(node.key);
    if (trail.count++ >= maxRedirections) command.fail(new TooManyRedirectionsError(error, trail.nodes));
    else if (this.placement.nodeFor(command) !== node) this.send(command, false);
    else {
      this.waiting.push(command);
      this.book(PAUSE_MS);
    }
  }

  /** @param isNew The command was just issued, and fails if no node is known. */
  private send(command: Command, isNew: boolean): void {
    const node = this.placement.nodeFor(command);
    const isUnknown = node instanceof Error;
    const connection = isUnknown ? null : this.connectionTo(node);
    if (connection !== null) connection.client.dispatch(command);
    else if (isUnknown && isNew) command.fail(node);
    else this.waiting.push(command);
    if (isUnknown && !isNew) this.book(PAUSE_MS);
  }

  /** Null while it is too early to connect to the node again; a pass is then scheduled. */
  private connectionTo(node: ClusterNode): SubscriberConnection | null {
    const known = this.connections.get(node.key);
    if (known !== undefined) return known;
    const waitMs = (this.nextAttemptMs.get(node.key) ?? 0) - clockMs();
    if (waitMs > 0) {
      this.book(waitMs);
      return null;
    }
    this.nextAttemptMs.set(node.key, clockMs() + jittered(ATTEMPT_MS));
    const connection = new SubscriberConnection(node, (made) =>
      this.owner.open(node, this.supervisorOf(made)),
    );
    this.connections.set(node.key, connection);
    this.owner.onConnectionOpened?.();
    connection.client.link.connect().catch(() => {});
    return connection;
  }

  private leave(connection: SubscriberConnection): void {
    this.drop(connection, true);
    this.book(0);
  }

  /** @param isAtOnce Move its commands to another connection now: this one will not answer them. */
  private drop(connection: SubscriberConnection, isAtOnce = false): void {
    this.forget(connection);
    const { link } = connection.client;
    const socket = isAtOnce ? link.connection : null;
    link.disconnect();
    socket?.destroy();
  }

  /** The connection is over: later confirmations on it do not count, and its confirmed names are missing. */
  private forget(connection: SubscriberConnection): void {
    this.connections.delete(connection.node.key);
    this.placement.leave?.(connection.node);
    const isGivenUp = connection.client.link.options.autoResubscribe === false;
    for (const kind of this.placement.kinds) {
      const names = connection.confirmed.names(kind);
      if (isGivenUp) this.wanted.forget(kind, names);
      for (const name of names) this.wanted.miss(kind, name, connection.heardAtMs);
    }
    this.owner.onConnectionClosed?.();
  }

  /** A SUBSCRIBE of the caller was confirmed, perhaps on a connection that is no longer used. */
  private onWanted(kind: SubscriptionKind, names: readonly Buffer[]): void {
    if (!this.isActive || names.every((name) => this.isHeld(kind, name))) return;
    this.isUnsettled = true;
    this.book(0);
  }

  private isHeld(kind: SubscriptionKind, name: Buffer): boolean {
    const nodes = this.placement.nodesOf(name);
    return nodes.length > 0 && this.lacking(nodes, kind, name).length === 0;
  }

  private lacking(nodes: readonly ClusterNode[], kind: SubscriptionKind, name: Buffer): ClusterNode[] {
    return nodes.filter(({ key }) => this.connections.get(key)?.confirmed.has(kind, name) !== true);
  }

  /** A moving slot is no failure: the pause does not grow. */
  private bookAfterMove(): void {
    this.book(this.quickLooks++ < MOST_QUICK_LOOKS ? 0 : PAUSE_MS);
  }

  private book(delayMs: number): void {
    if (!this.isActive) return;
    const dueMs = clockMs() + delayMs;
    if (this.timer !== undefined && this.dueMs <= dueMs) return;
    stopTimer(this.timer);
    this.dueMs = dueMs;
    this.timer = startTimer(() => {
      this.timer = undefined;
      this.look();
    }, delayMs);
  }

  /** Checks whether the nodes are alive, and runs a pass once a second. */
  private check(): void {
    for (const connection of [...this.connections.values()]) {
      connection.check();
      if (connection.isSilent) this.deps.refresher.request(null);
      if (connection.isForsaken && this.placement.isReplaceable?.(connection.node)) this.leave(connection);
    }
    if (++this.checks % CHECKS_UNTIL_LOOK === 0 && this.timer === undefined) this.look();
  }

  /** One pass: sends waiting commands, ends misplaced subscriptions, and requests missing ones. */
  private look(): void {
    if (!this.isActive) return;
    const { waiting } = this;
    this.waiting = [];
    for (const command of waiting) if (!command.isSettled) this.send(command, false);
    for (const connection of [...this.connections.values()]) {
      this.withdrawStrays(connection);
      this.leaveStrays(connection);
    }
    let isMissing = false;
    for (const kind of this.placement.kinds)
      for (const name of this.wanted.names.names(kind)) if (this.askFor(kind, name)) isMissing = true;
    if (isMissing) this.isUnsettled = true;
    else this.settle();
  }

  /**
   * Drops the client's own requests that wait for a connection to the wrong node. A former master that has
   * become a replica would accept them, and each message would arrive twice.
   */
  private withdrawStrays({ node, asked }: SubscriberConnection): void {
    for (const command of [...asked.values()]) {
      const [name] = command.args as [Buffer];
      const isMisplaced = !this.placement.nodesOf(name).includes(node);
      if (isMisplaced && command.state !== CommandState.Sent) command.fail(new NoSubscriberError());
    }
  }

  private leaveStrays(connection: SubscriberConnection): void {
    const { asked, client, confirmed, isSilent, node } = connection;
    for (const kind of this.placement.kinds) {
      for (const name of confirmed.names(kind)) {
        const isWanted = this.wanted.names.has(kind, name);
        if (!isWanted && this.wanted.isAsked(kind, name)) continue;
        const isInPlace = this.placement.nodesOf(name).includes(node);
        const mayStay = isInPlace || (connection.isRecent(kind, name) && !this.isHeld(kind, name));
        if (isWanted && mayStay) continue;
        this.wanted.miss(kind, name, connection.heardAtMs);
        confirmed.delete(kind, name);
        connection.changedAtMs.delete(keyOf(kind, name));
        client.dispatch(ownCommand(Origin.Resubscribe, SUBSCRIBING[kind].leave, [name]));
      }
    }
    const isIdle = (asked.size === 0 || isSilent) && confirmed.isEmpty;
    if (isIdle && !this.placement.isUsed(node)) this.drop(connection, isSilent);
  }

  /** Requests a name where it is missing. Returns false if no node lacks it. */
  private askFor(kind: SubscriptionKind, name: Buffer): boolean {
    const nodes = this.placement.nodesOf(name);
    const lacking = this.lacking(nodes, kind, name);
    if ((nodes.length > 0 && lacking.length === 0) || this.isLagging(nodes, kind, name)) return false;
    this.wanted.miss(kind, name);
    for (const node of lacking) {
      const connection = this.connectionTo(node);
      if (connection === null || connection.asked.has(keyOf(kind, name))) continue;
      // The node has just ended the subscription.
      if (connection.isRecent(kind, name)) this.book(PAUSE_MS);
      else this.ask(connection, kind, name);
    }
    return true;
  }

  /** The table names other nodes, although another one has just confirmed the subscription. */
  private isLagging(nodes: readonly ClusterNode[], kind: SubscriptionKind, name: Buffer): boolean {
    const isAsked = ({ key }: ClusterNode): boolean =>
      this.connections.get(key)?.asked.has(keyOf(kind, name)) === true;
    if (nodes.some(isAsked)) return false;
    return [...this.connections.values()].some(
      (one) => !nodes.includes(one.node) && one.confirmed.has(kind, name) && one.isRecent(kind, name),
    );
  }

  /** Sends one name per command, because a server that refuses one name refuses the whole command. */
  private ask(connection: SubscriberConnection, kind: SubscriptionKind, name: Buffer): void {
    const key = keyOf(kind, name);
    const completion = completionOf((error) => {
      connection.asked.delete(key);
      if (error === null) connection.noteChange(kind, name);
      if (this.isCurrent(connection) && this.isActive) this.onAnswered(connection.node, kind, name, error);
    });
    const command = ownCommand(Origin.Resubscribe, SUBSCRIBING[kind].enter, [name], completion);
    connection.asked.set(key, command);
    connection.client.dispatch(command);
  }

  private onAnswered(node: ClusterNode, kind: SubscriptionKind, name: Buffer, error: Error | null): void {
    if (error !== null && parseRedirect(error.message, node.address) !== null) {
      this.bookAfterMove();
      return;
    }
    if (error instanceof ReplyError || error instanceof TooManyRedirectionsError) {
      this.wanted.forget(kind, [name]);
      this.owner.onRefused(error, node, kind, name);
    } else if (error !== null) return;
    if (![...this.connections.values()].some(({ asked }) => asked.size > 0)) this.look();
  }

  /** Reports that every wanted name is subscribed, and which messages may have been missed. */
  private settle(): void {
    if (!this.isUnsettled) return;
    this.isUnsettled = false;
    this.quickLooks = 0;
    const gap = this.wanted.takeGap();
    if (gap !== null) this.owner.onGap(gap);
    this.owner.onSettled?.();
  }

  /** SUNSUBSCRIBE without channels ends all of them, on every node. */
  private leaveAll(command: Command): void {
    this.wanted.clear();
    const connections = [...this.connections.values()];
    let left = connections.length + 1;
    const onAnswered = (): void => {
      if (--left === 0) command.fulfil(0, LEGACY_SHAPE);
    };
    for (const { client } of connections) {
      client.dispatch(ownCommand(Origin.Resubscribe, command.spec.lowerName, [], completionOf(onAnswered)));
    }
    onAnswered();
  }
}
