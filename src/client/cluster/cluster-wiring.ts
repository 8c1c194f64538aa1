/**
 * Builds and connects the modules of one cluster client. Each module declares the members that it needs as an
 * interface, and receives this object, which implements all of these interfaces.
 */

import type { ClusterNode, NodeClient } from "../../cluster/cluster-node";
import { type DiscoveryOptions, findSeeds, type Seed, type StartNode } from "../../cluster/discovery";
import { type ClusterStatus, Lifecycle } from "../../cluster/lifecycle";
import { NodePool, type RoleFilter } from "../../cluster/node-pool";
import { NodeSupervisor } from "../../cluster/node-supervisor";
import { Redirector } from "../../cluster/redirector";
import { type Informant, Refresher } from "../../cluster/refresher";
import { RetryQueue } from "../../cluster/retry-queue";
import { ClusterRouter } from "../../cluster/router";
import { SlotMap } from "../../cluster/slot-map";
import { ConnectionCounts } from "../../connection/connection-counts";
import type { Message } from "../../protocol/message";
import { INSPECT } from "../../util/inspect";
import type { Caching } from "../caching";
import type { ResolvedClusterOptions } from "../options/cluster-options";
import type { Redis } from "../redis";
import { makeReadPreference, type ReadPreference, type RecentWrites } from "../replicas/read-preference";
import { FanOut } from "../whole-cluster/fan-out";
import { ClusterSubscriptions, type SubscriptionsDeps } from "./cluster-subscriptions";
import { countsOf, ViewFactory, viewOf } from "./node-views";

export interface WiringOwner {
  startNodes(): StartNode[];
  onStatus(status: ClusterStatus): void;
  onError(error: Error): void;
  onNodeError(error: Error, key: string): void;
  onNode(event: "+node" | "-node", redis: Redis): void;
  onRefreshed(): void;
  emit(event: string, ...args: unknown[]): void;
  onMessage(message: Message): void;
  onNameRefused: SubscriptionsDeps["owner"]["onNameRefused"];
  retryDelay(attempts: number, reason: Error | undefined): unknown;
}

export class ClusterWiring {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly router: ClusterRouter;
  readonly redirector: Redirector;
  readonly refresher: Refresher;
  readonly lifecycle: Lifecycle;
  readonly subscriptions: ClusterSubscriptions;
  readonly views: ViewFactory;
  /** Null: masters serve all reads, and a call cannot choose a replica. */
  readonly reads: ReadPreference | null;
  /** Null without a cache. */
  readonly onRedirected: ((slot: number) => void) | null;
  readonly followsTips: boolean;
  readonly fanOut = new FanOut({ owners: () => this.slots.owners(), all: () => this.pool.list() });
  /** The counts of the connections of former nodes. */
  private readonly gone = new ConnectionCounts();

  constructor(
    private readonly options: ResolvedClusterOptions,
    readonly owner: WiringOwner,
    caching: Caching | null,
    private readonly writes: RecentWrites | null,
  ) {
    this.onRedirected = caching === null ? null : (slot) => caching.cache.onSlotMoved(slot);
    this.views = new ViewFactory(options, caching);
    this.reads = makeReadPreference(options, writes, (node) => this.openView(node));
    this.pool = new NodePool(this, options.enableOfflineQueue !== false);
    this.followsTips = options.followCommandTips === true;
    this.retries = new RetryQueue(this);
    this.slots = new SlotMap(options.natMap, this);
    this.subscriptions = new ClusterSubscriptions(options, this);
    this.router = new ClusterRouter(this);
    this.redirector = new Redirector(options, this);
    this.refresher = new Refresher(options, this);
    this.lifecycle = new Lifecycle(options, this);
  }

  get counts(): ConnectionCounts {
    const sum = new ConnectionCounts();
    sum.add(this.gone);
    for (const client of this.pool.allClients()) sum.add(countsOf(client));
    return sum;
  }

  /** Hides the addresses and options of all nodes from logs: scan streams of a cluster hold this object. */
  [INSPECT](): string {
    return "ClusterWiring {}";
  }

  viewsOf(role: RoleFilter): Redis[] {
    return this.pool.list(role).map(({ client }) => viewOf(client).redis);
  }

  /** The view of a node, created if its last connection was lost. */
  openView(node: ClusterNode): Redis {
    return viewOf(this.pool.clientOf(node)).redis;
  }

  makeClient(node: ClusterNode): NodeClient {
    const supervisor = new NodeSupervisor(node, this);
    supervisor.client = this.views.makeNode(node.address, node.role === "slave", supervisor);
    return supervisor.client;
  }

  onClientOpened(client: NodeClient): void {
    this.owner.onNode("+node", viewOf(client).redis);
  }

  onClientClosed(node: ClusterNode, client: NodeClient): void {
    this.gone.add(countsOf(client));
    this.owner.onNode("-node", viewOf(client).redis);
    this.subscriptions.onNodeGone(node);
    if (this.lifecycle.status === "ready") this.refresher.request(null);
  }

  /** Applies a node's description of the cluster; returns true if it differs from the known one. */
  adopt(ranges: Parameters<SlotMap["adopt"]>[0]): boolean {
    const { isChanged, moved } = this.slots.adopt(ranges);
    this.owner.onRefreshed();
    this.subscriptions.onTopology();
    this.redirector.onNewOwners(moved);
    return isChanged;
  }

  onSlotMoved(slot: number, before: ClusterNode | null): void {
    this.onRedirected?.(slot);
    if (before !== null) this.writes?.noteMoved(slot);
  }

  findSeeds(): Promise<Seed[]> {
    return findSeeds(this.owner.startNodes(), this.options as DiscoveryOptions);
  }

  useSeeds(seeds: readonly Seed[]): void {
    this.views.useSeeds(seeds);
    this.pool.beginWith(seeds.map(({ address }) => address));
  }

  async openSeeds(): Promise<Informant[]> {
    const seeds = await this.findSeeds();
    return seeds.map(({ address }) => ({ address, client: this.views.makeRefresher(address) }));
  }
}
