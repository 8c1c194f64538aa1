/**
 * Connections for SSUBSCRIBE: one to each master that has channels. A shard channel lives on the
 * node that serves its slot, so subscriptions follow their slots: what is wanted is held against
 * what is confirmed on the connections that live, and the difference is made up for.
 *
 *   wanted = confirmed at the owner of its slot | asked for there | missing, and a look is booked
 *
 * A look comes with every event that may have changed something, and with a timer, because a slot
 * may move without a word to subscribers. A command is on a connection or waits; a connection
 * that ends hands over what it has, until the client is closed and ends the rest.
 */

import type { Command } from "../command/command";
import { LEGACY_SHAPE } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { IGNORED } from "../command/promise-completion";
import { commonSlotOf, MIXED_SLOTS, NO_SLOT, slotOfKey } from "../command/slot";
import { SubscriptionKind } from "../connection/subscriptions";
import { clockMs, startInterval, startTimer, stopInterval, stopTimer } from "../util/scheduling";
import { NoSubscriberError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { NodeAddress } from "./node-address";
import { parseRedirect, RedirectKind } from "./redirect";
import type { SlotMap } from "./slot-map";
import {
  failForGood,
  isOwn,
  LOOK_MS,
  ownCommand,
  Resubscription,
  SHORT_LIFE_MS,
  type SubscriberClient,
  type SubscriberListener,
  subscriberDelayMs,
} from "./subscriber-connection";
import { type SubscriptionGap, WantedSubscriptions } from "./wanted-subscriptions";

export interface ShardedDeps {
  open(node: ClusterNode, listener: SubscriberListener): SubscriberClient;
  /** The slot map is out of date. */
  onStale(): void;
  /** A node has lost slots and knows to whom. */
  onSlotsLost(node: ClusterNode): void;
  /** A slot has a new master, as a node has said. */
  onMoved(slot: number, target: NodeAddress): void;
  onConnectionOpened(node: ClusterNode): void;
  onConnectionClosed(node: ClusterNode): void;
  /** All that is wanted is subscribed. */
  onSettled(): void;
  onGap(gap: SubscriptionGap): void;
}

const SHARD = SubscriptionKind.Shard;
/** Looks without a pause while slots move; nodes that send each other's subscribers to and fro get no more. */
const MOST_QUICK_LOOKS = 4;
const MOVING_PAUSE_MS = 100;
/** A confirmed subscription is not given up for a table that may be older than the confirmation. */
const TABLE_LAG_MS = 1000;

/** A node that has ended a subscription is not asked for it again so soon, whatever tables say: as a replica it would
 * take it, and be sent messages only once its new master knows it. */
const LEFT_MS = 1000;

/** A name by the text of its bytes. */
type NameKey = string;

const keyOf = (name: Buffer): NameKey => name.toString("latin1");

class ShardConnection implements SubscriberListener {
  readonly client: SubscriberClient;
  /** Asked for by the client itself and not answered. */
  readonly asked = new Set<NameKey>();
  /** When the client's own SSUBSCRIBE was confirmed. */
  readonly confirmedAtMs = new Map<NameKey, number>();
  private readyAtMs: number | null = null;

  constructor(
    readonly node: ClusterNode,
    private readonly home: ShardedSubscribers,
    open: (node: ClusterNode, listener: SubscriberListener) => SubscriberClient,
  ) {
    this.client = open(node, this);
  }

  /** It has worked for a while. */
  get hasLasted(): boolean {
    return this.readyAtMs !== null && clockMs() - this.readyAtMs >= SHORT_LIFE_MS;
  }

  get isCurrent(): boolean {
    return this.home.isCurrent(this);
  }

  has(name: Buffer): boolean {
    return this.client.link.subscriptions.has(SHARD, name);
  }

  names(): Buffer[] {
    return this.client.link.subscriptions.names(SHARD);
  }

  onReady(): void {
    this.readyAtMs = clockMs();
  }

  onEnded(): void {
    this.home.onConnectionEnded(this);
  }

  onOrphans(commands: readonly Command[]): void {
    this.home.onOrphans(commands);
  }

  onReplyError(command: Command, error: Error): boolean {
    return this.home.onReplyError(this, command, error);
  }

  onShardLost(channel: Buffer): void {
    this.home.onShardLost(this, channel);
  }
}

export class ShardedSubscribers implements Dispatcher {
  private readonly wanted = new WantedSubscriptions((command) => this.onWanted(command));
  private readonly connections = new Map<string, ShardConnection>();
  /** By name: the node that has ended the subscription, and when it may be asked again. */
  private readonly left = new Map<NameKey, { node: ClusterNode; untilMs: number }>();
  /** Commands whose connection was lost. */
  private waiting: Command[] = [];
  private failures = 0;
  private quickLooks = 0;
  private timer: NodeJS.Timeout | undefined;
  private ticker: NodeJS.Timeout | undefined;
  private isActive = false;
  /** Something was missing at the last look. */
  private isUnsettled = false;

  constructor(
    private readonly slots: SlotMap,
    private readonly maxRedirections: number,
    private readonly deps: ShardedDeps,
  ) {}

  dispatch(command: Command): void {
    if (!this.isActive) command.fail(new NoSubscriberError());
    else if (command.args.length === 0) this.leaveAll(command);
    else {
      this.wanted.follow(command);
      this.send(command);
    }
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  /** The cluster is ready. */
  start(): void {
    this.isActive = true;
    this.isUnsettled = true;
    this.ticker ??= startInterval(() => this.timer ?? this.look(), LOOK_MS).unref();
    this.look();
  }

  /** The cluster has lost its nodes or is closing. What is wanted is remembered. */
  stop(isForGood: boolean): void {
    this.isActive = false;
    stopTimer(this.timer);
    stopInterval(this.ticker);
    this.timer = undefined;
    this.ticker = undefined;
    for (const connection of [...this.connections.values()]) this.drop(connection);
    if (!isForGood) return;
    failForGood(this.waiting.splice(0));
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

  // --- called by connections ---------------------------------------------------------------

  isCurrent(connection: ShardConnection): boolean {
    return this.connections.get(connection.node.key) === connection;
  }

  onConnectionEnded(connection: ShardConnection): void {
    if (!this.isCurrent(connection)) return;
    this.forget(connection);
    if (!this.isActive) return;
    this.failures = connection.hasLasted ? 0 : this.failures + 1;
    this.deps.onStale();
    this.bookAfterFailure();
  }

  onOrphans(commands: readonly Command[]): void {
    for (const command of commands) {
      // The client's own commands are over with their connection: at another node they might mean something else.
      if (isOwn(command)) command.fail(new NoSubscriberError());
      else this.waiting.push(command);
    }
    if (this.isActive && this.waiting.length > 0) this.bookAfterFailure();
  }

  /** The server ended a subscription by itself: its slot has moved. */
  onShardLost(connection: ShardConnection, channel: Buffer): void {
    connection.confirmedAtMs.delete(keyOf(channel));
    if (!this.isCurrent(connection)) return;
    this.wanted.miss(SHARD, channel);
    this.left.set(keyOf(channel), { node: connection.node, untilMs: clockMs() + LEFT_MS });
    if (this.quickLooks < MOST_QUICK_LOOKS) this.deps.onSlotsLost(connection.node);
    else this.deps.onStale();
    this.bookAfterMove();
  }

  onReplyError(connection: ShardConnection, command: Command, error: Error): boolean {
    const redirect = parseRedirect(error.message, connection.node.address);
    if (redirect === null || !this.isActive) return false;
    if (redirect.kind === RedirectKind.Moved && redirect.target !== null) {
      this.deps.onMoved(redirect.slot, redirect.target);
    }
    this.deps.onStale();
    if (isOwn(command)) {
      command.fail(error);
      return true;
    }
    const trail = command.ensureExtra().ensureTrail();
    trail.nodes.push(connection.node.key);
    if (trail.count++ >= this.maxRedirections) {
      command.fail(new TooManyRedirectionsError(error, trail.nodes));
      return true;
    }
    if (this.ownerOf(command.args[0] as string | Buffer) !== connection.node) this.send(command);
    else {
      this.waiting.push(command);
      this.book(MOVING_PAUSE_MS);
    }
    return true;
  }

  // --- inside ------------------------------------------------------------------------------

  private send(command: Command): void {
    const slot = commonSlotOf(command.spec, command.args);
    if (slot === MIXED_SLOTS || slot === NO_SLOT) {
      command.fail(
        new NoSubscriberError("Possible CROSSSLOT error: All channels must hash to the same slot"),
      );
      return;
    }
    const node = this.slots.shardOf(slot)?.master;
    if (node === undefined) command.fail(new NoSubscriberError(`No sharded subscriber for slot: ${slot}`));
    else this.connectionTo(node).client.dispatch(command);
  }

  private connectionTo(node: ClusterNode): ShardConnection {
    const known = this.connections.get(node.key);
    if (known !== undefined) return known;
    const connection = new ShardConnection(node, this, (at, listener) => this.deps.open(at, listener));
    this.connections.set(node.key, connection);
    this.deps.onConnectionOpened(node);
    connection.client.link.connect().catch(() => {});
    return connection;
  }

  private ownerOf(channel: string | Buffer): ClusterNode | null {
    return this.slots.shardOf(slotOfKey(channel))?.master ?? null;
  }

  private drop(connection: ShardConnection): void {
    this.forget(connection);
    connection.client.link.disconnect();
  }

  /** The connection is over: what is confirmed there late counts no more, and what was is missing. */
  private forget(connection: ShardConnection): void {
    this.connections.delete(connection.node.key);
    for (const name of connection.names()) this.wanted.miss(SHARD, name);
    this.deps.onConnectionClosed(connection.node);
  }

  /** A SSUBSCRIBE of the caller was confirmed, perhaps on a connection that is no longer used. */
  private onWanted(command: Command): void {
    const isHeld = command.args.every((name) => this.isHeld(Buffer.from(name as string)));
    if (isHeld || !this.isActive) return;
    this.isUnsettled = true;
    this.book(0);
  }

  private isHeld(name: Buffer): boolean {
    const owner = this.ownerOf(name);
    return owner !== null && this.connections.get(owner.key)?.has(name) === true;
  }

  private bookAfterFailure(): void {
    this.book(subscriberDelayMs(this.failures));
  }

  /** Slots that move are no failures: the pause does not grow. */
  private bookAfterMove(): void {
    this.book(this.quickLooks++ < MOST_QUICK_LOOKS ? 0 : MOVING_PAUSE_MS);
  }

  private book(delayMs: number): void {
    if (this.timer !== undefined || !this.isActive) return;
    this.timer = startTimer(() => {
      this.timer = undefined;
      this.look();
    }, delayMs);
  }

  /** Sends what waited, ends what is subscribed in the wrong place, and asks for what is missing. */
  private look(): void {
    if (!this.isActive) return;
    const { waiting } = this;
    this.waiting = [];
    for (const command of waiting) if (!command.isSettled) this.send(command);
    for (const connection of [...this.connections.values()]) this.leaveStrays(connection);
    let missing = 0;
    for (const name of this.wanted.names.names(SHARD))
      if (!this.isHeld(name) && !this.isLagging(name)) {
        missing++;
        this.askFor(name);
      }
    if (missing > 0) this.isUnsettled = true;
    else this.settle();
  }

  /** Ends subscriptions at a node that no longer serves their slot, and those that nobody wants any more. */
  private leaveStrays(connection: ShardConnection): void {
    for (const name of connection.names()) {
      const isWanted = this.wanted.names.has(SHARD, name);
      if (!isWanted && this.wanted.isAsked(SHARD, name)) continue;
      const isInPlace = this.ownerOf(name) === connection.node;
      if (isWanted && (isInPlace || (isRecent(connection, name) && !this.isHeld(name)))) continue;
      this.wanted.miss(SHARD, name);
      connection.client.link.subscriptions.delete(SHARD, name);
      connection.confirmedAtMs.delete(keyOf(name));
      connection.client.dispatch(ownCommand("sunsubscribe", [name], IGNORED));
    }
    const isIdle = connection.asked.size === 0 && connection.client.link.subscriptions.isEmpty;
    if (isIdle && connection.node.shard === null) this.drop(connection);
  }

  /** The table says that the slot is elsewhere, and a node has confirmed the subscription just now. */
  private isLagging(name: Buffer): boolean {
    const owner = this.ownerOf(name);
    if (owner !== null && this.connections.get(owner.key)?.asked.has(keyOf(name))) return false;
    for (const connection of this.connections.values()) {
      if (connection.has(name) && isRecent(connection, name)) return true;
    }
    return false;
  }

  private askFor(name: Buffer): void {
    this.wanted.miss(SHARD, name);
    const owner = this.ownerOf(name);
    if (owner === null) return;
    const key = keyOf(name);
    const left = this.left.get(key);
    if (left?.node === owner && clockMs() < left.untilMs) {
      this.book(MOVING_PAUSE_MS);
      return;
    }
    this.left.delete(key);
    const connection = this.connectionTo(owner);
    if (connection.asked.has(key)) return;
    connection.asked.add(key);
    const completion = new Resubscription((error) => this.onAnswered(connection, key, error));
    connection.client.dispatch(ownCommand("ssubscribe", [name], completion));
  }

  private onAnswered(connection: ShardConnection, key: NameKey, error: Error | null): void {
    connection.asked.delete(key);
    if (error === null) connection.confirmedAtMs.set(key, clockMs());
    if (!this.isCurrent(connection) || !this.isActive) return;
    const isMove = error !== null && parseRedirect(error.message, connection.node.address) !== null;
    if (isMove) this.bookAfterMove();
    else if (error !== null) {
      this.failures++;
      this.bookAfterFailure();
    } else if (![...this.connections.values()].some(({ asked }) => asked.size > 0)) this.look();
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

function isRecent(connection: ShardConnection, name: Buffer): boolean {
  const atMs = connection.confirmedAtMs.get(keyOf(name));
  return atMs !== undefined && clockMs() - atMs < TABLE_LAG_MS;
}
