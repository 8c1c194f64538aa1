/**
 * Builds and joins the modules of one cluster client: each hears from the others only through
 * the interfaces it declares, and this is where they are met. It also takes over tables: which nodes
 * and shards there are, and what waits for the former owner of a slot.
 */

import type { ClusterNode, NodePort } from "../../cluster/cluster-node";
import { CommandGuide } from "../../cluster/command-guide";
import { type DiscoveryOptions, findSeeds, type Seed, type StartNode } from "../../cluster/discovery";
import { FanOut } from "../../cluster/fan-out";
import { type ClusterStatus, Lifecycle } from "../../cluster/lifecycle";
import { type NodeAddress, nodeKey } from "../../cluster/node-address";
import { NodePool } from "../../cluster/node-pool";
import { ChosenReads, type ReadPreference, RoleReads } from "../../cluster/read-preference";
import { Redirector } from "../../cluster/redirector";
import { Refresher } from "../../cluster/refresher";
import { RetryQueue } from "../../cluster/retry-queue";
import { ClusterRouter } from "../../cluster/router";
import { Shard, SlotMap, type SlotRange } from "../../cluster/slot-map";
import type { TopologyRange } from "../../cluster/topology";
import { WatchKeeper } from "../../cluster/watch-keeper";
import type { Command } from "../../command/command";
import { INSPECT } from "../../observability/redact";
import { callUser } from "../../util/user-code";
import type { Message } from "../events";
import type { ClusterOptions, ReadScaling } from "../options/cluster-options";
import type { NatMap } from "../options/sentinel-options";
import type { Redis } from "../redis";
import type { LinkSupervisor } from "../redis-events";
import { FaceFactory, NodeCounts, NodeFace } from "./cluster-faces";
import { ClusterSubscriptions } from "./cluster-subscriptions";

/** What the client does with what happens below. */
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
  readonly router: ClusterRouter;
  readonly redirector: Redirector;
  readonly refresher: Refresher;
  readonly lifecycle: Lifecycle;
  readonly subscriptions: ClusterSubscriptions;
  readonly watches = new WatchKeeper();
  private readonly faces: FaceFactory;
  /** What the connections of nodes did that have left. */
  private readonly gone = new NodeCounts();

  constructor(
    private readonly options: ClusterOptions,
    private readonly owner: WiringOwner,
  ) {
    this.faces = new FaceFactory(options);
    this.pool = this.makePool();
    this.retries = new RetryQueue((commands) => {
      this.pool.forgetDown();
      this.router.sendAgain(commands);
    });
    this.subscriptions = this.makeSubscriptions();
    this.router = this.makeRouter();
    this.redirector = this.makeRedirector();
    this.refresher = this.makeRefresher();
    this.lifecycle = this.makeLifecycle();
  }

  /** What the connections of all nodes have done, those that have left included. */
  get counts(): NodeCounts {
    const sum = new NodeCounts();
    sum.add(this.gone);
    for (const port of this.pool.allPorts()) sum.addNode(port);
    return sum;
  }

  /** Behind it are the addresses and options of all nodes: scan streams of a cluster hold it. */
  [INSPECT](): string {
    return "ClusterWiring {}";
  }

  faceOf(node: ClusterNode): Redis | null {
    return node.port instanceof NodeFace ? node.port.redis : null;
  }

  /** The face of a node, made if its last connection was lost. */
  openFace(node: ClusterNode): Redis {
    return (this.pool.portOf(node) as NodeFace).redis;
  }

  quit(): Promise<"OK"> {
    return this.lifecycle.quit((port) => (port instanceof NodeFace ? port.leave() : Promise.resolve()));
  }

  // --- modules -------------------------------------------------------------------------------

  private makePool(): NodePool {
    const { owner } = this;
    return new NodePool(
      {
        makePort: (node) => this.makePort(node),
        onPortOpened: (_node, port) => owner.onNodeAdded((port as NodeFace).redis),
        onPortClosed: (node, port) => {
          this.gone.addNode(port);
          owner.onNodeGone((port as NodeFace).redis);
          this.subscriptions.onNodeGone(node);
          if (this.lifecycle.status === "ready") this.refresher.request(null);
        },
        onEmpty: () => this.lifecycle.onEmpty(),
      },
      this.options.enableOfflineQueue !== false,
    );
  }

  private makeRouter(): ClusterRouter {
    const { slots, pool, retries, watches, subscriptions, options } = this;
    return new ClusterRouter({
      slots,
      pool,
      retries,
      watches,
      subscriber: subscriptions,
      fanOut: options.followCommandTips ? this.makeFanOut() : null,
      reads: this.makeReads(options.scaleReads),
      guide: new CommandGuide(pool),
      gatekeeper: {
        admit: (commands) => this.lifecycle.admit(commands),
        keep: (commands) => this.lifecycle.keep(commands),
      },
      retryDelayMs: options.retryDelayOnFailover || 100,
      onUncovered: () => this.refresher.request(null),
      onUnreachable: (node: ClusterNode, command: Command): void =>
        this.redirector.onUnreachable(node, command),
    });
  }

  private makeFanOut(): FanOut {
    return new FanOut({ owners: () => this.slots.owners(), all: () => this.pool.list() });
  }

  private makeReads(scaleReads: ClusterOptions["scaleReads"]): ReadPreference | null {
    if (scaleReads === "all" || scaleReads === "slave") {
      return new RoleReads(scaleReads, this.options.availabilityZone);
    }
    if (typeof scaleReads !== "function") return null;
    return new ChosenReads((nodes, command) => this.chooseByFunction(scaleReads, nodes, command));
  }

  private makeRedirector(): Redirector {
    const { slots, pool, retries, router, options } = this;
    const numbers = {
      maxRedirections: options.maxRedirections ?? 16,
      retryDelayOnMoved: options.retryDelayOnMoved ?? 0,
      retryDelayOnFailover: options.retryDelayOnFailover ?? 100,
      retryDelayOnClusterDown: options.retryDelayOnClusterDown ?? 100,
      retryDelayOnTryAgain: options.retryDelayOnTryAgain ?? 100,
    };
    return new Redirector(numbers, {
      slots,
      pool,
      retries,
      router,
      translate: (address) => this.translateCarefully(address),
      onStale: (hint) => this.refresher.request(hint),
    });
  }

  private makeRefresher(): Refresher {
    const { options, pool } = this;
    const settings = {
      slotsRefreshTimeout: options.slotsRefreshTimeout ?? 1000,
      slotsRefreshInterval: options.slotsRefreshInterval,
      prefersShards: options.availabilityZone !== undefined,
      usesTls: () => this.faces.usesTls,
    };
    const isAwaited = (node: ClusterNode): boolean => (node.port?.link.offline.length ?? 0) > 0;
    const isAnxious = (): boolean => this.retries.size > 0 || pool.hasSuspect || pool.lost().some(isAwaited);
    return new Refresher(settings, pool, {
      apply: (ranges) => this.apply(ranges),
      onNodeError: (error, key) => this.owner.onNodeError(error, key),
      openSeeds: () => this.openSeeds(),
      get isAnxious() {
        return isAnxious();
      },
      get hasLost() {
        return pool.lost().length > 0;
      },
    });
  }

  private makeLifecycle(): Lifecycle {
    const { options, owner, pool, retries, router, redirector, refresher, watches } = this;
    const settings = {
      enableOfflineQueue: options.enableOfflineQueue !== false,
      enableReadyCheck: options.enableReadyCheck !== false,
    };
    return new Lifecycle(
      settings,
      { pool, retries, router, redirector, refresher, watches },
      {
        findSeeds: () => this.findSeeds(),
        plant: (seeds) => this.plant(seeds),
        onStatus: (status) => owner.onStatus(status),
        onError: (error) => owner.onError(error),
        retryDelay: (attempts, reason) => owner.retryDelay(attempts, reason),
        onOpen: () => this.subscriptions.start(),
        onClosed: (isForGood) => this.subscriptions.stop(isForGood),
      },
    );
  }

  private makeSubscriptions(): ClusterSubscriptions {
    const { owner, slots, pool, faces } = this;
    return new ClusterSubscriptions(this.options, {
      slots,
      pool,
      faces,
      isActive: () => this.redirector.isActive,
      onStale: () => this.refresher.request(null),
      onSlotsLost: (node) => this.refresher.askAtOnce(node),
      translate: (address) => this.translateCarefully(address),
      onNodeError: (error, key) => owner.onNodeError(error, key),
      onMessage: (message) => owner.onMessage(message),
      emit: (event, ...args) => owner.emit(event, ...args),
    });
  }

  // --- nodes -------------------------------------------------------------------------------

  private makePort(node: ClusterNode): NodePort {
    let face: NodeFace | null = null;
    let wasReady = false;
    const supervisor: LinkSupervisor = {
      onStatus: (status) => {
        if (status === "ready") {
          wasReady = true;
          if (node.port === face) this.pool.regain(node);
        }
        if (status === "reconnecting" && face !== null && node.port === face) this.onLost(node, face);
        if (status !== "end" || face === null) return;
        if (!wasReady && node.port === face) node.isDown = true;
        this.pool.onEnded(face);
      },
      onNamedError: (type, error) => this.onNodeError(node.key, type, error),
      onReplyError: (command, error) => this.redirector.onReplyError(node, command, error),
      takeover: {
        takesOver: (command) => this.redirector.takesOver(command),
        takeOver: (commands, error) => this.redirector.takeOver(node, commands, error),
      },
    };
    face = this.faces.makeNode(node.address, node.role === "slave", supervisor);
    return face;
  }

  /** The connection of a node was lost or could not be made, and is dialled again: perhaps another one takes over. */
  private onLost(node: ClusterNode, face: NodeFace): void {
    if (this.pool.lose(node)) this.redirector.onLeft(node, face.link.offline.takeAll());
    this.refresher.request(null);
  }

  private onNodeError(key: string, type: string, error: Error): void {
    if (type === "error") this.owner.onNodeError(error, key);
    else if (type === "busy") this.onBusy(key);
  }

  /** A node owes answers and is silent: perhaps another one has taken over. */
  private onBusy(key: string): void {
    const node = this.pool.get(key);
    if (node === undefined) return;
    node.suspect();
    this.refresher.request(null);
  }

  private chooseByFunction(
    choose: ReadScaling,
    nodes: readonly ClusterNode[],
    command: Command,
  ): ClusterNode | readonly ClusterNode[] | null {
    const faces = nodes.map((node) => this.openFace(node));
    const nodeOf = (face: unknown): ClusterNode | null => nodes[faces.indexOf(face as Redis)] ?? null;
    const chosen = choose(faces, command);
    if (!Array.isArray(chosen)) return nodeOf(chosen);
    return chosen.map(nodeOf).filter((node) => node !== null);
  }

  // --- topology ----------------------------------------------------------------------------

  private findSeeds(): Promise<Seed[]> {
    return findSeeds(this.owner.startNodes(), this.options as DiscoveryOptions);
  }

  private plant(seeds: readonly Seed[]): void {
    this.faces.useStartOptions(new Map(seeds.map(({ address, options }) => [nodeKey(address), options])));
    for (const { address } of seeds) {
      const node = this.pool.at(address);
      if (node !== null) this.pool.portOf(node);
    }
  }

  private async openSeeds(): Promise<{ address: NodeAddress; port: NodePort }[]> {
    const seeds = await this.findSeeds();
    return seeds.map(({ address }) => ({
      address,
      port: this.faces.makeRefresher(address, {}),
    }));
  }

  /** For use while replies are read, which an error of the application must not unwind. */
  private translateCarefully(address: NodeAddress): NodeAddress {
    return callUser(() => translate(address, this.options.natMap)) ?? address;
  }

  /** Takes over what a node said about the cluster; true if the owner of a slot has changed. */
  private apply(ranges: readonly TopologyRange[]): boolean {
    const members = new Map<ClusterNode, "master" | "slave">();
    const shards = new Map<string, Shard>();
    const nodeAt = (address: NodeAddress, role: "master" | "slave"): ClusterNode | null => {
      const node = this.pool.at(translate(address, this.options.natMap));
      if (node === null) return null;
      // A start node is known by the name it was looked up under, which it may not announce itself.
      const serverName = address.serverName ?? node.address.serverName;
      node.address = { ...address, host: node.address.host, port: node.address.port, serverName };
      if (role === "master" || !members.has(node)) members.set(node, role);
      return node;
    };
    const slotRanges: SlotRange[] = [];
    for (const { from, to, master, replicas } of ranges) {
      const masterNode = nodeAt(master, "master");
      if (masterNode === null) continue;
      const replicaNodes = replicas.map((one) => nodeAt(one, "slave")).filter((node) => node !== null);
      const made = new Shard(masterNode, replicaNodes);
      const name = made.keys.join(" ");
      const shard = shards.get(name) ?? made;
      shards.set(name, shard);
      slotRanges.push({ from, to, shard });
    }
    const moved: number[] = [];
    const isChanged = this.slots.assign(slotRanges, (slot, before) => {
      moved.push(slot);
      if (before !== null) this.keepOrder(slot, before);
    });
    this.pool.setMembers(members);
    this.owner.onRefreshed();
    this.subscriptions.onTopology();
    for (const node of this.pool.lost()) this.redirector.onLostOwner(node);
    this.retries.onNews(moved);
    return isChanged;
  }

  /** What the old owner of a slot was sent is answered before the new one gets more. */
  private keepOrder(slot: number, before: Shard): void {
    const last = before.master.port?.lastGiven() ?? null;
    if (last !== null && this.router.isOpen) this.retries.keepOrder(slot, last);
  }
}

/** The address under which a node can be reached from here. */
function translate(address: NodeAddress, natMap: NatMap | undefined): NodeAddress {
  if (natMap === undefined || natMap === null) return address;
  const key = nodeKey(address);
  const mapped = typeof natMap === "function" ? natMap(key) : Object.hasOwn(natMap, key) ? natMap[key] : null;
  return mapped ? { ...address, host: String(mapped.host), port: Number(mapped.port) } : address;
}
