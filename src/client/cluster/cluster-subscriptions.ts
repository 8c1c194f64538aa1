/**
 * Joins the subscriber modules of a cluster client: which of them a command goes to, how their
 * connections are made, and what the client hears of them.
 */

import { TooManyRedirectionsError } from "../../cluster/cluster-errors";
import type { ClusterNode } from "../../cluster/cluster-node";
import {
  ClusterSubscriber,
  type SubscriberPort,
  type SubscriberWatcher,
} from "../../cluster/cluster-subscriber";
import type { NodePool } from "../../cluster/node-pool";
import { ShardedSubscribers } from "../../cluster/sharded-subscribers";
import type { SlotMap } from "../../cluster/slot-map";
import type { SlotOwners } from "../../cluster/slot-owners";
import type { Command } from "../../command/command";
import type { Dispatcher } from "../../command/dispatcher";
import type { Message } from "../events";
import type { ClusterOptions } from "../options/cluster-options";
import { type FaceFactory, supervise } from "./cluster-faces";

export interface SubscriptionsOwner {
  readonly slots: SlotMap;
  readonly owners: SlotOwners;
  readonly pool: NodePool;
  readonly faces: FaceFactory;
  /** False while the client is being closed: then nothing is subscribed again. */
  isActive(): boolean;
  onStale(): void;
  /** A node has lost slots and knows to whom. */
  onSlotsLost(node: ClusterNode): void;
  onNodeError(error: Error, key: string): void;
  onMessage(message: Message): void;
  /** One of the public events of subscriptions. */
  emit(event: string, ...args: unknown[]): void;
}

export class ClusterSubscriptions implements Dispatcher {
  private readonly classic: ClusterSubscriber;
  private readonly sharded: ShardedSubscribers | null;
  /** Shard lines are opened before anybody subscribes. */
  private readonly isEager: boolean;

  constructor(
    options: ClusterOptions,
    private readonly owner: SubscriptionsOwner,
  ) {
    this.classic = this.makeClassic();
    this.sharded = options.shardedSubscribers ? this.makeSharded(options.maxRedirections ?? 16) : null;
    this.isEager = options.redisOptions?.lazyConnect === false;
  }

  dispatch(command: Command): void {
    const { lowerName } = command.spec;
    // Without channels there is no slot, and it is for a server to say what is missing.
    const isShard = lowerName === "sunsubscribe" || (lowerName === "ssubscribe" && command.args.length > 0);
    if (isShard && this.sharded !== null) this.sharded.dispatch(command);
    else this.classic.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  start(): void {
    this.classic.start();
    this.sharded?.start();
    this.openLines();
  }

  stop(isForGood: boolean): void {
    this.classic.stop(isForGood);
    this.sharded?.stop(isForGood);
  }

  onNodeGone(node: ClusterNode): void {
    this.classic.onNodeGone(node);
  }

  onTopology(): void {
    this.sharded?.onTopology();
    this.openLines();
  }

  private openLines(): void {
    if (this.isEager) this.sharded?.openTo(this.owner.slots.owners().keys());
  }

  private makeClassic(): ClusterSubscriber {
    const { owner } = this;
    return new ClusterSubscriber({
      open: (node, watcher) => this.open("subscriber", node, watcher),
      choose: (instead) => this.choose(instead),
      onMisplaced: (command, error, node) => {
        if (!error.message.startsWith("MOVED ")) return false;
        // Without sharded subscribers there is only this connection, and asking again changes nothing.
        command.fail(new TooManyRedirectionsError(error, [node.key]));
        return true;
      },
      onRefused: (error, node) => owner.onNodeError(error, node.key),
      onGap: (gap) => owner.emit("gap", gap),
    });
  }

  private makeSharded(maxRedirections: number): ShardedSubscribers {
    const { owner } = this;
    return new ShardedSubscribers(owner.slots, maxRedirections, {
      open: (node, watcher) => this.open("ssubscriber", node, watcher),
      onStale: () => owner.onStale(),
      onSlotsLost: (node) => owner.onSlotsLost(node),
      onMoved: (slot, target) => {
        const node = owner.owners.nodeAt(target);
        if (node !== null) owner.owners.move(slot, node);
      },
      onLineOpened: () => owner.emit("+subscriber"),
      onLineClosed: () => owner.emit("-subscriber"),
      onSettled: () => owner.emit("subscribersReady"),
      onGap: (gap) => owner.emit("gap", gap),
    });
  }

  private open(kind: string, node: ClusterNode, watcher: SubscriberWatcher): SubscriberPort {
    const { owner } = this;
    const supervisor = supervise(watcher, {
      isActive: () => owner.isActive(),
      onNamedError: (type, error) => {
        if (type !== "error") return;
        owner.onNodeError(error, node.key);
        if (kind === "ssubscriber") owner.emit("nodeError", error, node.key);
      },
      onMessage: (message) => owner.onMessage(message),
    });
    return owner.faces.makeSubscriber(kind, node.address, supervisor);
  }

  private choose(instead: ClusterNode | null): ClusterNode | null {
    const known = this.owner.pool.list();
    const sound = known.filter((node) => !node.isDown && !node.isSuspect);
    const others = sound.filter((node) => node !== instead);
    const choice = [others, sound, known].find((nodes) => nodes.length > 0) ?? [];
    return choice[Math.floor(Math.random() * choice.length)] ?? null;
  }
}
