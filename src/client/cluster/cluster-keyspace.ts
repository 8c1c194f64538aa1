/**
 * Keyspace notifications of a whole cluster. Each server notifies of its own keys only, so the names are subscribed at
 * every master, and follow failovers and moved slots. A gap is told when a master had no subscription for a while.
 */

import { EventEmitter } from "node:events";
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
import { emitMessage } from "../events";
import type { ClusterOptions } from "../options/cluster-options";
import { readers } from "../streams";
import type { ClusterWiring } from "./cluster-wiring";

/** The cluster client of the readers. */
export interface NotifiedCluster extends EventEmitter {
  readonly options: ClusterOptions;
}

/** A name that is not confirmed by every master yet. */
interface Fresh {
  readonly kind: SubscriptionKind;
  readonly name: Buffer;
  resolve(): void;
  reject(error: Error): void;
}

/** No server tells its subscribers that another one has taken over its slots, so the table is asked for. */
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
  return readers().openKeyspaceReader(keyspace, options);
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
    this.reconciler = wiring.subscriptions.atEveryMaster({
      onMessage: (message) => emitMessage(this.events, message),
      onGap: (gap) => this.onGap(gap),
      onSettled: () => this.onSettled(),
      onRefused: (error) => this.end(error),
    });
    cluster.on("end", () => this.end(null));
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
        flags: await readers().readFlags(this.wiring.openView(node)),
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
      const one: Fresh = { kind: kindOf(kind), name: Buffer.from(name), resolve, reject };
      this.fresh.push(one);
      this.reconciler.want(one.kind, one.name);
      if (this.count++ > 0) return;
      this.timer = startInterval(() => this.wiring.refresher.request(null), REFRESH_MS).unref();
    });
  }

  unsubscribe(kind: MessagesKind, name: string): Promise<void> {
    this.reconciler.unwant(kindOf(kind), Buffer.from(name));
    if (--this.count === 0) stopInterval(this.timer);
    return Promise.resolve();
  }

  private onSettled(): void {
    const { fresh } = this;
    this.fresh = [];
    for (const { resolve } of fresh) resolve();
  }

  /** A name is missing everywhere while it is new, which is no gap. */
  private onGap(gap: SubscriptionGap): void {
    const isOld = (kind: SubscriptionKind, name: string): boolean =>
      !this.fresh.some((one) => one.kind === kind && one.name.toString() === name);
    this.events.emit("gap", {
      ...gap,
      channels: gap.channels.filter((name) => isOld(SubscriptionKind.Channel, name)),
      patterns: gap.patterns.filter((name) => isOld(SubscriptionKind.Pattern, name)),
    });
  }

  /** A server refuses a subscription, or the client has ended. */
  private end(error: Error | null): void {
    const { fresh } = this;
    this.fresh = [];
    for (const { reject } of fresh) reject(error ?? new ConnectionClosedError());
    this.events.emit("end", error);
  }
}

function kindOf(kind: MessagesKind): SubscriptionKind {
  return kind === "pattern" ? SubscriptionKind.Pattern : SubscriptionKind.Channel;
}
