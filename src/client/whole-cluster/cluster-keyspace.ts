/**
 * Keyspace notifications of a whole cluster. Each server only reports changes of its own keys. Therefore the
 * client subscribes at every master, and follows failovers and moved slots. It reports a gap if a master had
 * no subscription for a while.
 */

import { EventEmitter } from "node:events";
import { NoSubscriberError } from "../../cluster/cluster-errors";
import type { ClusterNode } from "../../cluster/cluster-node";
import type { SlotMap } from "../../cluster/slot-map";
import type { Placement } from "../../cluster/subscription-placement";
import type { SubscriptionReconciler } from "../../cluster/subscription-reconciler";
import { type SubscriptionGap, SubscriptionKind } from "../../connection/subscriptions";
import { ConnectionClosedError } from "../../errors";
import type {
  KeyspaceEvents,
  KeyspaceEventsOptions,
  KeyspaceSource,
  NotifySetting,
} from "../../streaming/keyspace-events";
import type { MessagesKind } from "../../streaming/messages";
import { startInterval, stopInterval } from "../../util/scheduling";
import type { ClusterWiring } from "../cluster/cluster-wiring";
import { emitMessage, emitRefusal } from "../events";
import type { ClusterOptions } from "../options/cluster-options";
import { messageReaders } from "../streaming/streams";

/** The cluster client of the readers. */
export interface NotifiedCluster extends EventEmitter {
  readonly options: ClusterOptions;
}

/** A name that is not confirmed by every master yet. */
interface Fresh {
  readonly name: string;
  resolve(): void;
  reject(error: Error): void;
}

/** Interval of refreshes, because a server does not report that another one has taken over its slots. */
const REFRESH_MS = 1000;

const keyspaces = new WeakMap<ClusterWiring, ClusterKeyspace>();

export function openClusterKeyspaceEvents(
  cluster: NotifiedCluster,
  wiring: ClusterWiring,
  untilReady: () => Promise<unknown>,
  options: KeyspaceEventsOptions | undefined,
): KeyspaceEvents {
  let keyspace = keyspaces.get(wiring);
  if (keyspace === undefined) {
    keyspace = new ClusterKeyspace(cluster, wiring, untilReady);
    keyspaces.set(wiring, keyspace);
  }
  return messageReaders.get().openKeyspaceReader(keyspace, options);
}

/** Places each name at every master. Commands of the program do not use these connections. */
class EveryMaster implements Placement {
  readonly kinds = [SubscriptionKind.Channel, SubscriptionKind.Pattern];
  readonly isSpread = true;

  constructor(private readonly slots: SlotMap) {}

  nodesOf(): readonly ClusterNode[] {
    return [...this.slots.owners().keys()];
  }

  nodeFor(): ClusterNode | Error {
    return new NoSubscriberError();
  }

  isUsed(): boolean {
    return false;
  }
}

class ClusterKeyspace implements KeyspaceSource {
  readonly events = new EventEmitter();
  private readonly reconciler: SubscriptionReconciler;
  private fresh: Fresh[] = [];
  /** The subscribed names. */
  private count = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly cluster: NotifiedCluster,
    private readonly wiring: ClusterWiring,
    private readonly untilReady: () => Promise<unknown>,
  ) {
    this.reconciler = wiring.subscriptions.add("keyspace", new EveryMaster(wiring.slots), {
      onMessage: (message, { shard }) => {
        // A master that has become a replica would repeat the notifications of its new master.
        if (shard !== null) emitMessage(this.events, message);
      },
      onNodeError: (error, { key }) => wiring.owner.onNodeError(error, key),
      onGap: (gap) => this.onGap(gap),
      onSettled: () => this.onSettled(),
      onRefused: (error, _node, kind, name) => this.onRefused(error, kind, name),
    });
    cluster.on("end", () => this.end());
  }

  get isResubscribing(): boolean {
    return this.cluster.options.redisOptions?.autoResubscribe !== false;
  }

  get keyPrefix(): string {
    return String(this.cluster.options.keyPrefix ?? "");
  }

  get db(): number {
    return this.cluster.options.redisOptions?.db ?? 0;
  }

  async settings(): Promise<readonly NotifySetting[]> {
    await this.untilReady();
    const nodes = [...this.wiring.slots.owners().keys()];
    return Promise.all(
      nodes.map(async (node) => ({
        server: node.key,
        flags: await messageReaders.get().readFlags(this.wiring.openView(node)),
      })),
    );
  }

  nameOf(_kind: MessagesKind, name: string): string {
    return name;
  }

  /** The program cannot subscribe at every master. */
  isSubscribed(): boolean {
    return false;
  }

  subscribe(kind: MessagesKind, name: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.fresh.push({ name, resolve, reject });
      this.reconciler.want(kind, Buffer.from(name));
      if (this.count++ > 0) return;
      this.timer = startInterval(() => this.wiring.refresher.request(null), REFRESH_MS).unref();
    });
  }

  unsubscribe(kind: MessagesKind, name: string): Promise<void> {
    this.reconciler.unwant(kind, Buffer.from(name));
    if (--this.count === 0) stopInterval(this.timer);
    return Promise.resolve();
  }

  private onSettled(): void {
    const { fresh } = this;
    this.fresh = [];
    for (const { resolve } of fresh) resolve();
  }

  /** A new name has no subscriptions yet. This is not a gap. */
  private onGap(gap: SubscriptionGap): void {
    const isOld = (name: string): boolean => !this.fresh.some((one) => one.name === name);
    const { channels, patterns } = gap;
    this.events.emit("gap", { ...gap, channels: channels.filter(isOld), patterns: patterns.filter(isOld) });
  }

  /** A server refuses a name. The error concerns only this name, because each name has its own command. */
  private onRefused(error: Error, kind: SubscriptionKind, refused: Buffer): void {
    const name = String(refused);
    const { fresh } = this;
    this.fresh = fresh.filter((one) => one.name !== name);
    for (const one of fresh) if (one.name === name) one.reject(error);
    emitRefusal(this.events, kind, refused, error);
  }

  /** The client has ended. */
  private end(): void {
    const { fresh } = this;
    this.fresh = [];
    for (const { reject } of fresh) reject(new ConnectionClosedError());
    this.events.emit("end");
  }
}
