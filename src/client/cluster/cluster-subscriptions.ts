/**
 * The subscriptions of a cluster client. One reconciler keeps channels and patterns at any node; with the
 * option `shardedSubscribers` another one keeps shard channels at the masters of their slots. A feature may add its
 * own. Creates their connections, and reports their events to the client.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import type { NodePool } from "../../cluster/node-pool";
import type { SlotMap } from "../../cluster/slot-map";
import type { SlotOwners } from "../../cluster/slot-owners";
import type { SubscriberClient, SubscriberListener } from "../../cluster/subscriber-connection";
import { AnyNode, type Placement, SlotMasters } from "../../cluster/subscription-placement";
import { type ReconcilerDeps, SubscriptionReconciler } from "../../cluster/subscription-reconciler";
import type { Command } from "../../command/command";
import type { Dispatcher } from "../../command/dispatcher";
import type { SubscriptionKind } from "../../connection/subscriptions";
import type { Message } from "../../protocol/message";
import { debugLog } from "../../util/debug";
import type { ClusterOptions } from "../options/cluster-options";
import type { LinkSupervisor } from "../redis-events";
import type { ViewFactory } from "./node-views";

const debug = debugLog("subscriber");

export interface SubscriptionsDeps {
  readonly slots: SlotMap;
  readonly owners: SlotOwners;
  readonly pool: NodePool;
  readonly views: ViewFactory;
  /** `isActive`: false while the client is closing; then subscriptions are not restored. */
  readonly redirector: { readonly isActive: boolean };
  readonly refresher: { request(hint: null): void; askAtOnce(node: ClusterNode): void };
  readonly owner: {
    onNodeError(error: Error, key: string): void;
    onMessage(message: Message): void;
    onNameRefused(kind: SubscriptionKind, name: Buffer, error: Error): void;
    /** One of the public events of subscriptions. */
    emit(event: string, ...args: unknown[]): void;
  };
}

/** Receives the reports of subscriptions of the client itself. */
export type SubscriptionsHome = Pick<ReconcilerDeps, "onRefused" | "onSettled" | "onGap"> & {
  onMessage(message: Message, node: ClusterNode): void;
};

export class ClusterSubscriptions implements Dispatcher {
  private readonly classic: SubscriptionReconciler;
  private readonly sharded: SubscriptionReconciler | null;
  private readonly reconcilers: SubscriptionReconciler[] = [];
  /** Shard connections are opened before the first subscription. */
  private readonly isEager: boolean;
  private isStarted = false;

  constructor(
    private readonly maxRedirections: number,
    options: Pick<ClusterOptions, "shardedSubscribers" | "redisOptions">,
    private readonly deps: SubscriptionsDeps,
  ) {
    const placement = new AnyNode((instead) => this.choose(instead));
    this.classic = this.make(placement, this.depsFor("subscriber"));
    this.sharded = options.shardedSubscribers
      ? this.make(new SlotMasters(deps.slots), {
          ...this.depsFor("ssubscriber"),
          onConnectionOpened: () => deps.owner.emit("+subscriber"),
          onConnectionClosed: () => deps.owner.emit("-subscriber"),
          onSettled: () => deps.owner.emit("subscribersReady"),
        })
      : null;
    this.isEager = options.redisOptions?.lazyConnect === false;
  }

  dispatch(command: Command): void {
    const { lowerName } = command.spec;
    // Without channels the command has no slot, and the server reports the missing argument.
    const isShard = lowerName === "sunsubscribe" || (lowerName === "ssubscribe" && command.args.length > 0);
    if (isShard && this.sharded !== null) this.sharded.dispatch(command);
    else this.classic.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  isWanted(...name: Parameters<SubscriptionReconciler["isWanted"]>): boolean {
    return this.classic.isWanted(...name) || this.sharded?.isWanted(...name) === true;
  }

  /** Subscriptions of the client itself. Their connections have the kind in their name. */
  add(
    kind: string,
    placement: Placement,
    { onMessage, ...reports }: SubscriptionsHome,
  ): SubscriptionReconciler {
    const reconciler = this.make(placement, { ...this.depsFor(kind, onMessage), ...reports });
    if (this.isStarted) reconciler.start();
    return reconciler;
  }

  start(): void {
    this.isStarted = true;
    for (const reconciler of this.reconcilers) reconciler.start();
    this.openLines();
  }

  stop(isForGood: boolean): void {
    this.isStarted = false;
    for (const reconciler of this.reconcilers) reconciler.stop(isForGood);
  }

  /** Messages are being lost, and a new table would help. */
  get isInHurry(): boolean {
    return this.reconcilers.some(({ isInHurry }) => isInHurry);
  }

  onNodeGone(node: ClusterNode): void {
    this.classic.onNodeGone(node);
  }

  onTopology(): void {
    for (const reconciler of this.reconcilers) reconciler.onTopology();
    this.openLines();
  }

  private openLines(): void {
    if (this.isEager) this.sharded?.openTo(this.deps.slots.owners().keys());
  }

  private make(placement: Placement, deps: ReconcilerDeps): SubscriptionReconciler {
    const reconciler = new SubscriptionReconciler(placement, this.maxRedirections, deps);
    this.reconcilers.push(reconciler);
    return reconciler;
  }

  private depsFor(
    kind: string,
    onMessage: (message: Message, node: ClusterNode) => void = (message) =>
      this.deps.owner.onMessage(message),
  ): ReconcilerDeps {
    // The other modules are created later.
    const { deps } = this;
    return {
      open: (node, listener) => this.open(kind, node, listener, onMessage),
      onStale: () => deps.refresher.request(null),
      onSlotsLost: (node) => deps.refresher.askAtOnce(node),
      onMoved: (slot, target) => deps.owners.learn(slot, target),
      onConnectionOpened: () => {},
      onConnectionClosed: () => {},
      onRefused: (error, node, subscriptionKind, names) => {
        deps.owner.onNodeError(error, node.key);
        for (const name of names) deps.owner.onNameRefused(subscriptionKind, name, error);
      },
      onSettled: () => {},
      onGap: (gap) => deps.owner.emit("gap", gap),
    };
  }

  private open(
    kind: string,
    node: ClusterNode,
    listener: SubscriberListener,
    onMessage: (message: Message, node: ClusterNode) => void,
  ): SubscriberClient {
    const { owner, redirector, views } = this.deps;
    const supervisor: LinkSupervisor = {
      onStatus: (status) => {
        debug("the connection for subscriptions is now %s", status);
        if (status === "ready") listener.onReady();
        else if (status === "end") listener.onEnded();
      },
      onReplyError: (command, error) => listener.onReplyError(command, error),
      takeover: {
        takesOver: () => redirector.isActive,
        takeOver: (commands) => listener.onOrphans(commands),
        madeWhole: (commands) => commands,
      },
      onShardLost: (channel) => listener.onShardLost(channel),
      onNamedError: (type, error) => {
        if (type !== "error") return;
        owner.onNodeError(error, node.key);
        if (kind === "ssubscriber") owner.emit("nodeError", error, node.key);
      },
      onMessage: (message) => {
        if (listener.isCurrent) onMessage(message, node);
      },
    };
    return views.makeSubscriber(kind, node.address, supervisor);
  }

  private choose(instead: ClusterNode | null): ClusterNode | null {
    const known = this.deps.pool.list();
    const sound = known.filter((node) => !node.isDown && !node.isSuspect);
    const others = sound.filter((node) => node !== instead);
    const choice = [others, sound, known].find((nodes) => nodes.length > 0) ?? [];
    return choice[Math.floor(Math.random() * choice.length)] ?? null;
  }
}
