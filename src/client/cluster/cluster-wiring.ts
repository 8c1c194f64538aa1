/**
 * Builds and connects the modules of one cluster client. Each module uses the others only through interfaces
 * that it declares; they are implemented here.
 */

import type { ClusterNode, NodeClient } from "../../cluster/cluster-node";
import { type DiscoveryOptions, findSeeds, type Seed, type StartNode } from "../../cluster/discovery";
import { type ClusterStatus, Lifecycle } from "../../cluster/lifecycle";
import { NodePool } from "../../cluster/node-pool";
import { NodeSupervisor } from "../../cluster/node-supervisor";
import { makeReadPreference, type ReadPreference, type RecentWrites } from "../../cluster/read-preference";
import { Redirector } from "../../cluster/redirector";
import { type Informant, Refresher } from "../../cluster/refresher";
import { RetryQueue } from "../../cluster/retry-queue";
import { ClusterRouter } from "../../cluster/router";
import { SlotMap } from "../../cluster/slot-map";
import { SlotOwners } from "../../cluster/slot-owners";
import type { Message } from "../../protocol/message";
import { INSPECT } from "../../util/inspect";
import type { Caching } from "../caching";
import type { ClusterOptions } from "../options/cluster-options";
import type { Redis } from "../redis";
import { announce, FanOut } from "../whole-cluster/fan-out";
import { ClusterSubscriptions } from "./cluster-subscriptions";
import { NodeCounts, NodeView, ViewFactory } from "./node-views";

/** Receives the events below for the client. */
export interface WiringOwner {
  startNodes(): StartNode[];
  onStatus(status: ClusterStatus): void;
  onError(error: Error): void;
  onNodeError(error: Error, key: string): void;
  onNodeAdded(redis: Redis): void;
  onNodeGone(redis: Redis): void;
  onRefreshed(): void;
  /** Any other public event. */
  emit(event: string, ...args: unknown[]): void;
  onMessage(message: Message): void;
  retryDelay(attempts: number, reason: Error | undefined): unknown;
}

export class ClusterWiring {
  readonly slots = new SlotMap();
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly owners: SlotOwners;
  readonly router: ClusterRouter;
  readonly redirector: Redirector;
  readonly refresher: Refresher;
  readonly lifecycle: Lifecycle;
  readonly subscriptions: ClusterSubscriptions;
  private readonly views: ViewFactory;
  /** Null: every read goes to the master, and no call may choose. */
  readonly reads: ReadPreference | null;
  /** Null without a cache. */
  readonly onRedirected: ((slot: number) => void) | null;
  /** The counts of the connections of former nodes. */
  private readonly gone = new NodeCounts();

  constructor(
    private readonly options: ClusterOptions,
    readonly owner: WiringOwner,
    caching: Caching | null,
    writes: RecentWrites | null,
  ) {
    this.onRedirected = caching === null ? null : (slot) => caching.onSlotMoved(slot);
    this.views = new ViewFactory(options, caching);
    this.reads = makeReadPreference(options, writes, (node) => this.openView(node));
    this.pool = this.makePool();
    this.retries = new RetryQueue(this);
    this.owners = new SlotOwners(this.slots, this.pool, this.retries, {
      natMap: options.natMap,
      onMoved: this.onRedirected,
    });
    this.subscriptions = this.makeSubscriptions();
    this.router = this.makeRouter();
    this.redirector = this.makeRedirector();
    this.refresher = this.makeRefresher();
    this.lifecycle = this.makeLifecycle();
  }

  /** The counts of the connections of all nodes, including former ones. */
  get counts(): NodeCounts {
    const sum = new NodeCounts();
    sum.add(this.gone);
    for (const client of this.pool.allClients()) sum.addNode(client);
    return sum;
  }

  /** Hides the addresses and options of all nodes from logs: scan streams of a cluster hold this object. */
  [INSPECT](): string {
    return "ClusterWiring {}";
  }

  viewOf(node: ClusterNode): Redis | null {
    return node.client instanceof NodeView ? node.client.redis : null;
  }

  /** The view of a node, created if its last connection was lost. */
  openView(node: ClusterNode): Redis {
    return (this.pool.clientOf(node) as NodeView).redis;
  }

  /** The number of nodes that share the last batch. */
  get nodesOfLast(): number {
    return this.router.lastNodes.length;
  }

  quit(): Promise<"OK"> {
    return this.lifecycle.quit((client) => (client instanceof NodeView ? client.leave() : Promise.resolve()));
  }

  // --- modules -------------------------------------------------------------------------------

  private makePool(): NodePool {
    const { owner } = this;
    return new NodePool(
      {
        makeClient: (node) => this.makeClient(node),
        onClientOpened: (_node, client) => owner.onNodeAdded((client as NodeView).redis),
        onClientClosed: (node, client) => {
          this.gone.addNode(client);
          owner.onNodeGone((client as NodeView).redis);
          this.subscriptions.onNodeGone(node);
          if (this.lifecycle.status === "ready") this.refresher.request(null);
        },
        onEmpty: () => this.lifecycle.onEmpty(),
      },
      this.options.enableOfflineQueue !== false,
    );
  }

  private makeRouter(): ClusterRouter {
    const { slots, pool, retries, subscriptions, options } = this;
    return new ClusterRouter({
      slots,
      pool,
      retries,
      subscriber: subscriptions,
      fanOut: options.followCommandTips ? this.makeFanOut() : null,
      announce: (command) => announce(command, slots),
      reads: this.reads,
      gatekeeper: { admit: (commands) => this.lifecycle.admit(commands) },
      retryDelayMs: options.retryDelayOnFailover || 100,
      onUncovered: () => this.refresher.request(null),
      onUnreachable: (node, commands) => this.redirector.onUnreachable(node, commands),
    });
  }

  private makeFanOut(): FanOut {
    return new FanOut({ owners: () => this.slots.owners(), all: () => this.pool.list() });
  }

  private makeRedirector(): Redirector {
    const { options } = this;
    const numbers = {
      maxRedirections: options.maxRedirections ?? 16,
      retryDelayOnMoved: options.retryDelayOnMoved ?? 0,
      retryDelayOnFailover: options.retryDelayOnFailover ?? 100,
      retryDelayOnClusterDown: options.retryDelayOnClusterDown ?? 100,
      retryDelayOnTryAgain: options.retryDelayOnTryAgain ?? 100,
    };
    return new Redirector(numbers, this);
  }

  private makeRefresher(): Refresher {
    const { options, pool } = this;
    const settings = {
      slotsRefreshTimeout: options.slotsRefreshTimeout ?? 1000,
      slotsRefreshInterval: options.slotsRefreshInterval,
      prefersShards: options.availabilityZone !== undefined,
      usesTls: () => this.views.usesTls,
    };
    const isAwaited = (node: ClusterNode): boolean => (node.client?.link.offline.length ?? 0) > 0;
    const hasWaiting = (): boolean =>
      this.retries.hasDelayed || pool.hasSuspect || pool.lost().some(isAwaited);
    const isInHurry = (): boolean => this.subscriptions.isInHurry;
    return new Refresher(settings, pool, {
      apply: (ranges) => {
        const { isChanged, moved } = this.owners.adopt(ranges);
        this.owner.onRefreshed();
        this.subscriptions.onTopology();
        this.redirector.onNewOwners(moved);
        return isChanged;
      },
      onNodeError: (error, key) => this.owner.onNodeError(error, key),
      openSeeds: () => this.openSeeds(),
      get hasWaiting() {
        return hasWaiting();
      },
      get isInHurry() {
        return isInHurry();
      },
      get hasLost() {
        return pool.lost().length > 0;
      },
    });
  }

  private makeLifecycle(): Lifecycle {
    const { options, owner, pool, retries, router, redirector, refresher } = this;
    const settings = {
      enableOfflineQueue: options.enableOfflineQueue !== false,
      enableReadyCheck: options.enableReadyCheck !== false,
    };
    return new Lifecycle(
      settings,
      { pool, retries, router, redirector, refresher },
      {
        findSeeds: () => this.findSeeds(),
        useSeeds: (seeds) => this.useSeeds(seeds),
        onStatus: (status) => owner.onStatus(status),
        onError: (error) => owner.onError(error),
        retryDelay: (attempts, reason) => owner.retryDelay(attempts, reason),
        onOpen: () => this.subscriptions.start(),
        onClosed: (isForGood) => this.subscriptions.stop(isForGood),
      },
    );
  }

  private makeSubscriptions(): ClusterSubscriptions {
    const { owner, slots, owners, pool, views } = this;
    return new ClusterSubscriptions(this.options, {
      slots,
      owners,
      pool,
      views,
      isActive: () => this.redirector.isActive,
      onStale: () => this.refresher.request(null),
      onSlotsLost: (node) => this.refresher.askAtOnce(node),
      onNodeError: (error, key) => owner.onNodeError(error, key),
      onMessage: (message) => owner.onMessage(message),
      emit: (event, ...args) => owner.emit(event, ...args),
    });
  }

  // --- nodes -------------------------------------------------------------------------------

  private makeClient(node: ClusterNode): NodeClient {
    const supervisor = new NodeSupervisor(node, this);
    supervisor.client = this.views.makeNode(node.address, node.role === "slave", supervisor);
    return supervisor.client;
  }

  // --- topology ----------------------------------------------------------------------------

  private findSeeds(): Promise<Seed[]> {
    return findSeeds(this.owner.startNodes(), this.options as DiscoveryOptions);
  }

  private useSeeds(seeds: readonly Seed[]): void {
    this.views.useSeeds(seeds);
    this.pool.beginWith(seeds.map(({ address }) => address));
  }

  private async openSeeds(): Promise<Informant[]> {
    const seeds = await this.findSeeds();
    return seeds.map(({ address }) => ({
      address,
      client: this.views.makeRefresher(address, {}),
    }));
  }
}
