/**
 * Keeps the subscriptions of a cluster client where they have to be. It holds what is wanted against what is confirmed on
 * the connections that live, one to each node, and makes up for the difference; a `Placement` says which node that is.
 *
 *   wanted = confirmed at its node | asked for there | missing, and a look is booked
 *
 * A look comes with every event that may have changed something, and with a timer, because a slot may move without a word
 * to subscribers. A command is on a connection or waits; a connection that ends hands over what it has, until the client
 * is closed and ends the rest. A node that falls silent (frozen, or behind a dead network) is asked for a sign of life;
 * without one the other nodes are asked for the table until it names a successor.
 */

import type { Command } from "../command/command";
import { LEGACY_SHAPE } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { IGNORED } from "../command/promise-completion";
import { SubscriptionKind } from "../connection/subscriptions";
import { ReplyError } from "../errors";
import { clockMs, startInterval, startTimer, stopInterval, stopTimer } from "../util/scheduling";
import { NoSubscriberError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { NodeAddress } from "./node-address";
import { parseRedirect, RedirectKind } from "./redirect";
import {
  CHECK_MS,
  type ConnectionHome,
  failForGood,
  isOwn,
  keyOf,
  type NameKey,
  ownCommand,
  Resubscription,
  type SubscriberClient,
  SubscriberConnection,
  type SubscriberListener,
} from "./subscriber-connection";
import type { Placement } from "./subscription-placement";
import { type SubscriptionGap, WantedSubscriptions } from "./wanted-subscriptions";

export interface ReconcilerDeps {
  open(node: ClusterNode, listener: SubscriberListener): SubscriberClient;
  /** The slot map may be out of date. */
  onStale(): void;
  /** A node has lost slots and knows to whom. */
  onSlotsLost(node: ClusterNode): void;
  /** A slot has a new master, as a node has said. */
  onMoved(slot: number, target: NodeAddress): void;
  onConnectionOpened(node: ClusterNode): void;
  onConnectionClosed(node: ClusterNode): void;
  /** The server will not have subscriptions that it had before; they are given up. */
  onRefused(error: Error, node: ClusterNode): void;
  /** All that is wanted is subscribed. */
  onSettled(): void;
  onGap(gap: SubscriptionGap): void;
}

/** The commands of each kind. */
const WORDS = {
  [SubscriptionKind.Channel]: { enter: "subscribe", leave: "unsubscribe" },
  [SubscriptionKind.Pattern]: { enter: "psubscribe", leave: "punsubscribe" },
  [SubscriptionKind.Shard]: { enter: "ssubscribe", leave: "sunsubscribe" },
} as const;

/** Looks without a pause while slots move; nodes that send each other's subscribers to and fro get no more. */
const MOST_QUICK_LOOKS = 4;
const MOVING_PAUSE_MS = 100;
/** A node is dialled at most once in this time: at once after a connection that was ready and has lasted longer. */
const FIRST_PAUSE_MS = 100;
/** The longest pause before a node is dialled again that could not be reached; what is published meanwhile is lost. */
const LONGEST_PAUSE_MS = 500;
/** Checks from one look to the next that nothing has asked for: one second. */
const CHECKS_UNTIL_LOOK = 2;
/** A node that has ended a subscription is not asked for it again so soon, whatever tables say: as a replica it would
 * take it, and be sent messages only once its new master knows it. */
const LEFT_MS = 1000;
/** Longer than a failover with default settings takes: who still misses subscriptions then is in no hurry any more. */
const HURRY_MS = 30_000;

/** The tries to reach a node. */
interface Pause {
  readonly failures: number;
  readonly untilMs: number;
}

export class SubscriptionReconciler implements Dispatcher, ConnectionHome {
  private readonly wanted = new WantedSubscriptions((kind, names) => this.onWanted(kind, names));
  private readonly connections = new Map<string, SubscriberConnection>();
  private readonly pauses = new Map<string, Pause>();
  /** By name: the node that has ended the subscription, and when it may be asked again. */
  private readonly left = new Map<NameKey, { node: ClusterNode; untilMs: number }>();
  /** Commands whose connection was lost, or cannot be made yet. */
  private waiting: Command[] = [];
  private quickLooks = 0;
  private timer: NodeJS.Timeout | undefined;
  private dueMs = 0;
  private ticker: NodeJS.Timeout | undefined;
  private checks = 0;
  private isActive = false;
  /** Something was missing at the last look. */
  private isUnsettled = false;
  /** Since when names are missing or their nodes silent; null: all is well. */
  private illSinceMs: number | null = null;

  constructor(
    private readonly placement: Placement,
    private readonly maxRedirections: number,
    private readonly deps: ReconcilerDeps,
  ) {}

  /** Messages are being lost, and a new table would help. */
  get isInHurry(): boolean {
    return this.isActive && this.illSinceMs !== null && clockMs() - this.illSinceMs < HURRY_MS;
  }

  dispatch(command: Command): void {
    if (!this.isActive) command.fail(new NoSubscriberError());
    else if (command.args.length === 0 && this.placement.isSpread) this.leaveAll(command);
    else {
      this.wanted.follow(command);
      // In order: what waits was issued before.
      if (this.waiting.length > 0) this.waiting.push(command);
      else this.send(command, true);
    }
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  /** The cluster is ready. */
  start(): void {
    this.isActive = true;
    this.isUnsettled = true;
    this.ticker ??= startInterval(() => this.check(), CHECK_MS).unref();
    this.look();
  }

  /** The cluster has lost its nodes or is closing. What is wanted is remembered. */
  stop(isForGood: boolean): void {
    this.isActive = false;
    this.illSinceMs = null;
    stopTimer(this.timer);
    stopInterval(this.ticker);
    this.timer = undefined;
    this.ticker = undefined;
    this.pauses.clear();
    for (const connection of [...this.connections.values()]) {
      this.placement.leave(connection.node);
      this.drop(connection);
    }
    if (isForGood) failForGood(this.waiting.splice(0));
  }

  /** Connects before there is anything to subscribe. */
  openTo(nodes: Iterable<ClusterNode>): void {
    if (this.isActive) for (const node of nodes) this.connectionTo(node);
  }

  /** The slot map is new. */
  onTopology(): void {
    if (!this.isActive) return;
    this.isUnsettled = true;
    this.look();
  }

  /** A node is no longer part of the cluster, or cannot be reached. */
  onNodeGone(node: ClusterNode): void {
    const connection = this.connections.get(node.key);
    if (connection !== undefined && !this.placement.isSpread) this.leave(connection);
  }

  // --- called by connections ---------------------------------------------------------------

  isCurrent(connection: SubscriberConnection): boolean {
    return this.connections.get(connection.node.key) === connection;
  }

  onConnectionEnded(connection: SubscriberConnection): void {
    if (!this.isCurrent(connection)) return;
    const { node, wasReady, openedAtMs } = connection;
    this.forget(connection);
    if (!this.isActive) return;
    const failures = wasReady ? 0 : (this.pauses.get(node.key)?.failures ?? 0) + 1;
    const pauseMs = wasReady ? openedAtMs + FIRST_PAUSE_MS - clockMs() : pauseAfter(failures);
    this.pauses.set(node.key, { failures, untilMs: clockMs() + pauseMs });
    this.placement.leave(node);
    this.deps.onStale();
    this.book(0);
  }

  onOrphans(commands: readonly Command[]): void {
    for (const command of commands) {
      // The client's own commands are over with their connection: at another node they might mean something else.
      if (isOwn(command)) command.fail(new NoSubscriberError());
      else this.waiting.push(command);
    }
    if (this.waiting.length > 0) this.book(0);
  }

  /** The server ended a subscription by itself: its slot has moved. */
  onShardLost(connection: SubscriberConnection, channel: Buffer): void {
    const key = keyOf(SubscriptionKind.Shard, channel);
    connection.confirmedAtMs.delete(key);
    if (!this.isCurrent(connection)) return;
    this.wanted.miss(SubscriptionKind.Shard, channel);
    if (!this.placement.isSpread) return;
    this.left.set(key, { node: connection.node, untilMs: clockMs() + LEFT_MS });
    if (this.quickLooks < MOST_QUICK_LOOKS) this.deps.onSlotsLost(connection.node);
    else this.deps.onStale();
    this.bookAfterMove();
  }

  onReplyError(connection: SubscriberConnection, command: Command, error: Error): boolean {
    const redirect = parseRedirect(error.message, connection.node.address);
    if (redirect === null || !this.isActive) return false;
    if (!this.placement.isSpread) {
      if (redirect.kind !== RedirectKind.Moved) return false;
      // There is only this connection, and asking again changes nothing.
      command.fail(new TooManyRedirectionsError(error, [connection.node.key]));
      return true;
    }
    if (redirect.kind === RedirectKind.Moved && redirect.target !== null) {
      this.deps.onMoved(redirect.slot, redirect.target);
    }
    this.deps.onStale();
    if (isOwn(command)) command.fail(error);
    else this.follow(connection, command, error);
    return true;
  }

  // --- inside ------------------------------------------------------------------------------

  /** A command of the caller goes to the new owner, or waits until one is known. */
  private follow({ node }: SubscriberConnection, command: Command, error: Error): void {
    const trail = command.ensureExtra().ensureTrail();
    trail.nodes.push(node.key);
    if (trail.count++ >= this.maxRedirections) command.fail(new TooManyRedirectionsError(error, trail.nodes));
    else if (this.placement.nodeFor(command) !== node) this.send(command, false);
    else {
      this.waiting.push(command);
      this.book(MOVING_PAUSE_MS);
    }
  }

  /** @param isNew It was issued just now, and fails where no node is known. */
  private send(command: Command, isNew: boolean): void {
    const node = this.placement.nodeFor(command);
    const connection = node instanceof Error ? null : this.connectionTo(node);
    if (connection !== null) connection.client.dispatch(command);
    else if (node instanceof Error && isNew) command.fail(node);
    else {
      this.waiting.push(command);
      if (node instanceof Error) this.book(MOVING_PAUSE_MS);
    }
  }

  /** Null while it is too early to dial the node again; a look is booked then. */
  private connectionTo(node: ClusterNode): SubscriberConnection | null {
    const known = this.connections.get(node.key);
    if (known !== undefined) return known;
    const waitMs = (this.pauses.get(node.key)?.untilMs ?? 0) - clockMs();
    if (waitMs > 0) {
      this.book(waitMs);
      return null;
    }
    const connection = new SubscriberConnection(node, this, (at, listener) => this.deps.open(at, listener));
    this.connections.set(node.key, connection);
    this.deps.onConnectionOpened(node);
    connection.client.link.connect().catch(() => {});
    return connection;
  }

  private leave(connection: SubscriberConnection): void {
    this.placement.leave(connection.node);
    this.drop(connection, true);
    this.book(0);
  }

  /** @param isAtOnce Commands under way there go on elsewhere: nobody answers them here. */
  private drop(connection: SubscriberConnection, isAtOnce = false): void {
    this.forget(connection);
    const { link } = connection.client;
    const socket = isAtOnce ? link.connection : null;
    link.disconnect();
    socket?.destroy();
  }

  /** The connection is over: what is confirmed there late counts no more, and what was is missing. */
  private forget(connection: SubscriberConnection): void {
    this.connections.delete(connection.node.key);
    const isGivenUp = connection.client.link.options.autoResubscribe === false;
    for (const kind of this.placement.kinds) {
      const names = connection.names(kind);
      if (isGivenUp) this.wanted.refuse(kind, names);
      for (const name of names) this.wanted.miss(kind, name, connection.heardAtMs);
    }
    this.deps.onConnectionClosed(connection.node);
  }

  /** A SUBSCRIBE of the caller was confirmed, perhaps on a connection that is no longer used. */
  private onWanted(kind: SubscriptionKind, names: readonly Buffer[]): void {
    if (!this.isActive || names.every((name) => this.isHeld(kind, name))) return;
    this.isUnsettled = true;
    this.book(0);
  }

  private isHeld(kind: SubscriptionKind, name: Buffer): boolean {
    const node = this.placement.nodeOf(name);
    return node !== null && this.connections.get(node.key)?.has(kind, name) === true;
  }

  /** Slots that move are no failures: the pause does not grow. */
  private bookAfterMove(): void {
    this.book(this.quickLooks++ < MOST_QUICK_LOOKS ? 0 : MOVING_PAUSE_MS);
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

  /** Listens whether the nodes are heard, and looks once a second. */
  private check(): void {
    let isSilent = false;
    for (const connection of [...this.connections.values()]) {
      connection.check();
      if (connection.isSilent) isSilent = true;
      if (connection.isForsaken && this.placement.isReplaceable(connection.node)) this.leave(connection);
    }
    if (isSilent) {
      this.illSinceMs ??= clockMs();
      this.deps.onStale();
    }
    if (++this.checks % CHECKS_UNTIL_LOOK === 0 && this.timer === undefined) this.look();
  }

  /** Sends what waited, ends what is subscribed in the wrong place, and asks for what is missing. */
  private look(): void {
    if (!this.isActive) return;
    const { waiting } = this;
    this.waiting = [];
    for (const command of waiting) if (!command.isSettled) this.send(command, false);
    for (const connection of [...this.connections.values()]) this.leaveStrays(connection);
    let missing = 0;
    for (const kind of this.placement.kinds) missing += this.askForMissing(kind);
    const isSilent = [...this.connections.values()].some((one) => one.isSilent);
    if (missing === 0 && !isSilent) this.illSinceMs = null;
    else this.illSinceMs ??= clockMs();
    if (missing > 0) this.isUnsettled = true;
    else this.settle();
  }

  /** Ends subscriptions at a node that is not theirs any more, and those that nobody wants any more. */
  private leaveStrays(connection: SubscriberConnection): void {
    for (const kind of this.placement.kinds) {
      for (const name of connection.names(kind)) {
        const isWanted = this.wanted.names.has(kind, name);
        if (!isWanted && this.wanted.isAsked(kind, name)) continue;
        const isInPlace = this.placement.nodeOf(name) === connection.node;
        const mayStay = isInPlace || (connection.isRecent(kind, name) && !this.isHeld(kind, name));
        if (isWanted && mayStay) continue;
        this.wanted.miss(kind, name, connection.heardAtMs);
        connection.client.link.subscriptions.delete(kind, name);
        connection.confirmedAtMs.delete(keyOf(kind, name));
        connection.client.dispatch(ownCommand(WORDS[kind].leave, [name], IGNORED));
      }
    }
    const { asked, isSilent, node, client } = connection;
    const isIdle = (asked.size === 0 || isSilent) && client.link.subscriptions.isEmpty;
    if (isIdle && !this.placement.isUsed(node)) this.drop(connection, isSilent);
  }

  /** The number of names of a kind that are not confirmed where they have to be. */
  private askForMissing(kind: SubscriptionKind): number {
    let missing = 0;
    const questions = new Map<SubscriberConnection, Buffer[]>();
    for (const name of this.wanted.names.names(kind)) {
      if (this.isHeld(kind, name) || this.isLagging(kind, name)) continue;
      missing++;
      this.wanted.miss(kind, name);
      const connection = this.connectionFor(kind, name);
      if (connection === null || connection.asked.has(keyOf(kind, name))) continue;
      const names = questions.get(connection);
      // Shard channels may live in different slots.
      if (kind === SubscriptionKind.Shard) this.ask(connection, kind, [name]);
      else if (names === undefined) questions.set(connection, [name]);
      else names.push(name);
    }
    for (const [connection, names] of questions) this.ask(connection, kind, names);
    return missing;
  }

  /** The table says that the slot is elsewhere, and a node has confirmed the subscription just now. */
  private isLagging(kind: SubscriptionKind, name: Buffer): boolean {
    const node = this.placement.nodeOf(name);
    if (node !== null && this.connections.get(node.key)?.asked.has(keyOf(kind, name))) return false;
    for (const connection of this.connections.values()) {
      if (connection.has(kind, name) && connection.isRecent(kind, name)) return true;
    }
    return false;
  }

  /** The connection on which a name is asked for; null while that would be too early. */
  private connectionFor(kind: SubscriptionKind, name: Buffer): SubscriberConnection | null {
    const node = this.placement.nodeOf(name);
    if (node === null) return null;
    const key = keyOf(kind, name);
    const left = this.left.get(key);
    if (left?.node === node && clockMs() < left.untilMs) {
      this.book(MOVING_PAUSE_MS);
      return null;
    }
    this.left.delete(key);
    return this.connectionTo(node);
  }

  private ask(connection: SubscriberConnection, kind: SubscriptionKind, names: Buffer[]): void {
    for (const name of names) connection.asked.add(keyOf(kind, name));
    const completion = new Resubscription((error) => {
      for (const name of names) {
        connection.asked.delete(keyOf(kind, name));
        if (error === null) connection.confirmedAtMs.set(keyOf(kind, name), clockMs());
      }
      if (this.isCurrent(connection) && this.isActive) this.onAnswered(connection, kind, names, error);
    });
    connection.client.dispatch(ownCommand(WORDS[kind].enter, names, completion));
  }

  private onAnswered(
    connection: SubscriberConnection,
    kind: SubscriptionKind,
    names: readonly Buffer[],
    error: Error | null,
  ): void {
    const { node } = connection;
    if (error !== null && parseRedirect(error.message, node.address) !== null) {
      this.bookAfterMove();
      return;
    }
    if (error instanceof ReplyError || error instanceof TooManyRedirectionsError) {
      this.wanted.refuse(kind, names);
      this.deps.onRefused(error, node);
    } else if (error !== null) return;
    if (![...this.connections.values()].some(({ asked }) => asked.size > 0)) this.look();
  }

  /** Tells that all that is wanted is subscribed, and what may have been missed until now. */
  private settle(): void {
    if (!this.isUnsettled) return;
    this.isUnsettled = false;
    this.quickLooks = 0;
    const gap = this.wanted.takeGap();
    if (gap !== null) this.deps.onGap(gap);
    this.deps.onSettled();
  }

  /** SUNSUBSCRIBE without channels ends all of them, wherever they are. */
  private leaveAll(command: Command): void {
    this.wanted.clear();
    const connections = [...this.connections.values()];
    let left = connections.length;
    const finish = (): void => command.fulfil(0, LEGACY_SHAPE);
    if (left === 0) finish();
    const onAnswered = (): void => {
      if (--left === 0) finish();
    };
    for (const { client } of connections) {
      client.dispatch(ownCommand(command.spec.lowerName, [], new Resubscription(onAnswered)));
    }
  }
}

/** The pause after so many failures to reach a node, with a quarter of jitter either way. */
function pauseAfter(failures: number): number {
  const delayMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
  return delayMs * (0.75 + Math.random() * 0.5);
}
