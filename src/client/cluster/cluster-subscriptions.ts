/**
 * The subscriptions of a cluster client. One reconciler keeps channels and patterns at any node. With the
 * option `shardedSubscribers`, another one keeps shard channels at the masters of their slots. Features may
 * add reconcilers. This module creates the connections, and reports their events to the client.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import { type NodePool, randomNode } from "../../cluster/node-pool";
import type { SlotMap } from "../../cluster/slot-map";
import { AnyNode, type Placement, SlotMasters } from "../../cluster/subscription-placement";
import {
  type ReconcilerDeps,
  type ReconcilerOwner,
  SubscriptionReconciler,
} from "../../cluster/subscription-reconciler";
import type { Command } from "../../command/command";
import type { SubscriptionKind } from "../../connection/subscriptions";
import type { Message } from "../../protocol/message";
import type { ClusterOptions } from "../options/cluster-options";
import type { ViewFactory } from "./node-views";

export interface SubscriptionsDeps extends ReconcilerDeps {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly views: ViewFactory;
  readonly owner: {
    onNodeError(error: Error, key: string): void;
    onMessage(message: Message): void;
    onNameRefused(kind: SubscriptionKind, name: Buffer, error: Error): void;
    emit(event: string, ...args: unknown[]): void;
  };
}

type SubscriptionReports = Omit<ReconcilerOwner, "open">;

export class ClusterSubscriptions {
  private readonly classic: SubscriptionReconciler;
  private readonly sharded: SubscriptionReconciler | null;
  private readonly reconcilers: SubscriptionReconciler[] = [];

  constructor(
    private readonly options: Pick<ClusterOptions, "shardedSubscribers" | "redisOptions">,
    private readonly deps: SubscriptionsDeps,
  ) {
    const { owner, slots } = deps;
    const reports: SubscriptionReports = {
      onMessage: (message) => owner.onMessage(message),
      onNodeError: (error, { key }) => owner.onNodeError(error, key),
      onRefused: (error, { key }, kind, name) => {
        owner.onNodeError(error, key);
        owner.onNameRefused(kind, name, error);
      },
      onGap: (gap) => owner.emit("gap", gap),
    };
    this.classic = this.add("subscriber", new AnyNode((instead) => this.choose(instead)), reports);
    const shardReports: SubscriptionReports = {
      ...reports,
      onNodeError: (error, { key }) => {
        owner.onNodeError(error, key);
        owner.emit("nodeError", error, key);
      },
      onConnectionOpened: () => owner.emit("+subscriber"),
      onConnectionClosed: () => owner.emit("-subscriber"),
      onSettled: () => owner.emit("subscribersReady"),
    };
    this.sharded = options.shardedSubscribers
      ? this.add("ssubscriber", new SlotMasters(slots), shardReports)
      : null;
  }

  dispatch(command: Command): void {
    const { lowerName } = command.spec;
    // Without channels the command has no slot, and the server reports the missing argument.
    const isShard = lowerName === "sunsubscribe" || (lowerName === "ssubscribe" && command.args.length > 0);
    if (isShard && this.sharded !== null) this.sharded.dispatch(command);
    else this.classic.dispatch(command);
  }

  isWanted(...name: Parameters<SubscriptionReconciler["isWanted"]>): boolean {
    return this.classic.isWanted(...name) || this.sharded?.isWanted(...name) === true;
  }

  /** Adds a reconciler. The names of its connections contain `kind`. */
  add(kind: string, placement: Placement, reports: SubscriptionReports): SubscriptionReconciler {
    const { deps } = this;
    const reconciler = new SubscriptionReconciler(placement, deps, {
      ...reports,
      open: ({ address }, supervisor) => deps.views.makeSubscriber(kind, address, supervisor),
    });
    if (this.reconcilers.some(({ isActive }) => isActive)) reconciler.start();
    this.reconcilers.push(reconciler);
    return reconciler;
  }

  start(): void {
    for (const reconciler of this.reconcilers) reconciler.start();
    this.openLines();
  }

  stop(isForGood: boolean): void {
    for (const reconciler of this.reconcilers) reconciler.stop(isForGood);
  }

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

  /** Connects before the first subscription. */
  private openLines(): void {
    if (this.options.redisOptions?.lazyConnect === false)
      this.sharded?.openTo(this.deps.slots.owners().keys());
  }

  private choose(instead: ClusterNode | null): ClusterNode | null {
    const known = this.deps.pool.list();
    const sound = known.filter((node) => !node.isDown && !node.isSuspect);
    const others = sound.filter((node) => node !== instead);
    return randomNode(others, sound, known);
  }
}
