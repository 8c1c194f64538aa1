/**
 * Joins the subscriber modules of a cluster client: which of them a command goes to, how their
 * connections are made, and what the client hears of them.
 */

import { TooManyRedirectionsError } from "../../cluster/cluster-errors";
import type { ClusterNode } from "../../cluster/cluster-node";
import { ClusterSubscriber } from "../../cluster/cluster-subscriber";
import type { NodePool } from "../../cluster/node-pool";
import { ShardedSubscribers } from "../../cluster/sharded-subscribers";
import type { SlotMap } from "../../cluster/slot-map";
import type { SlotOwners } from "../../cluster/slot-owners";
import type { SubscriberClient, SubscriberListener } from "../../cluster/subscriber-connection";
import type { Command } from "../../command/command";
import type { Dispatcher } from "../../command/dispatcher";
import type { Message } from "../../protocol/message";
import type { ClusterOptions } from "../options/cluster-options";
import { supervise, type ViewFactory } from "./node-views";

export interface SubscriptionsDeps {
  readonly slots: SlotMap;
  readonly owners: SlotOwners;
  readonly pool: NodePool;
  readonly views: ViewFactory;
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
  /** Shard connections are opened before anybody subscribes. */
  private readonly isEager: boolean;

  constructor(
    options: ClusterOptions,
    private readonly deps: SubscriptionsDeps,
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
    if (this.isEager) this.sharded?.openTo(this.deps.slots.owners().keys());
  }

  private makeClassic(): ClusterSubscriber {
    const { deps } = this;
    return new ClusterSubscriber({
      open: (node, listener) => this.open("subscriber", node, listener),
      choose: (instead) => this.choose(instead),
      onMisplaced: (command, error, node) => {
        if (!error.message.startsWith("MOVED ")) return false;
        // Without sharded subscribers there is only this connection, and asking again changes nothing.
        command.fail(new TooManyRedirectionsError(error, [node.key]));
        return true;
      },
      onRefused: (error, node) => deps.onNodeError(error, node.key),
      onGap: (gap) => deps.emit("gap", gap),
    });
  }

  private makeSharded(maxRedirections: number): ShardedSubscribers {
    const { deps } = this;
    return new ShardedSubscribers(deps.slots, maxRedirections, {
      open: (node, listener) => this.open("ssubscriber", node, listener),
      onStale: () => deps.onStale(),
      onSlotsLost: (node) => deps.onSlotsLost(node),
      onMoved: (slot, target) => {
        const node = deps.owners.nodeAt(target);
        if (node !== null) deps.owners.move(slot, node);
      },
      onConnectionOpened: () => deps.emit("+subscriber"),
      onConnectionClosed: () => deps.emit("-subscriber"),
      onSettled: () => deps.emit("subscribersReady"),
      onGap: (gap) => deps.emit("gap", gap),
    });
  }

  private open(kind: string, node: ClusterNode, listener: SubscriberListener): SubscriberClient {
    const { deps } = this;
    const supervisor = supervise(listener, {
      isActive: () => deps.isActive(),
      onNamedError: (type, error) => {
        if (type !== "error") return;
        deps.onNodeError(error, node.key);
        if (kind === "ssubscriber") deps.emit("nodeError", error, node.key);
      },
      onMessage: (message) => {
        if (listener.isCurrent) deps.onMessage(message);
      },
    });
    return deps.views.makeSubscriber(kind, node.address, supervisor);
  }

  private choose(instead: ClusterNode | null): ClusterNode | null {
    const known = this.deps.pool.list();
    const sound = known.filter((node) => !node.isDown && !node.isSuspect);
    const others = sound.filter((node) => node !== instead);
    const choice = [others, sound, known].find((nodes) => nodes.length > 0) ?? [];
    return choice[Math.floor(Math.random() * choice.length)] ?? null;
  }
}
