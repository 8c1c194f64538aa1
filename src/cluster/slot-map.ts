/**
 * The shard that serves each slot. A shard is a master with its replicas; slots point to shards. MOVED changes
 * one slot, a table many. If the former owner still has commands of a moved slot in flight, the slot is held in
 * the retry queue, so that commands for the new owner do not overtake them.
 */

import { SLOT_COUNT } from "../command/slot";
import { type NatMap, reachable } from "../util/address-map";
import { callUser } from "../util/user-code";
import { type ClusterNode, type NodeRole, Shard } from "./cluster-node";
import { type NodeAddress, nodeKey } from "./node-address";
import type { NodePool } from "./node-pool";
import type { Redirect } from "./redirect";
import type { RetryQueue } from "./retry-queue";
import type { TopologyRange } from "./topology";

type Members = Map<ClusterNode, NodeRole>;

export interface Adoption {
  readonly isChanged: boolean;
  /** Slots with a new owner. */
  readonly moved: readonly number[];
}

/** A node has announced slots that have other owners. */
export interface AnnouncedMoves {
  /** Grows with each announcement of the cluster. */
  readonly seq: number;
  readonly moves: readonly {
    readonly source: NodeAddress;
    readonly target: NodeAddress;
    readonly ranges: readonly (readonly [from: number, to: number])[];
  }[];
}

export interface SlotMapDeps {
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  /** A slot has another owner; `before` is null for the first one. */
  onSlotMoved(slot: number, before: ClusterNode | null): void;
}

export class SlotMap {
  private readonly shards: (Shard | null)[] = new Array<Shard | null>(SLOT_COUNT).fill(null);
  private names: string[][] | null = null;
  /** Slots whose keys are moving to another node. A replica reports keys that have moved as missing. */
  private readonly leaving = new Set<number>();
  /** The sequence number of the last announcement that was applied. */
  private followed = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly natMap: NatMap | null | undefined,
    private readonly deps: SlotMapDeps,
  ) {}

  shardOf(slot: number): Shard | null {
    return this.shards[slot] as Shard | null;
  }

  ownerOf(slot: number): ClusterNode | null {
    return this.shardOf(slot)?.master ?? null;
  }

  /** Every master, with one of its slots. */
  owners(): Map<ClusterNode, number> {
    const owners = new Map<ClusterNode, number>();
    this.shards.forEach((shard, slot) => {
      if (shard === null || shard === this.shards[slot - 1] || owners.has(shard.master)) return;
      owners.set(shard.master, slot);
    });
    return owners;
  }

  /** The public view: for each slot the names of its nodes, master first. */
  get table(): string[][] {
    this.names ??= this.shards.map((shard) => shard?.keys ?? []);
    return this.names;
  }

  /** A master replied ASK: the slot counts as leaving until it has another master. */
  noteLeaving(slot: number, master: ClusterNode): void {
    if (this.ownerOf(slot) === master) this.leaving.add(slot);
  }

  isLeaving(slot: number): boolean {
    return this.leaving.has(slot);
  }

  /**
   * The node that another node has named; null if the pool is full. Used while replies are read, where an error
   * of the application must not unwind the stack.
   */
  nodeAt(address: NodeAddress): ClusterNode | null {
    return this.deps.pool.at(this.mapped(address));
  }

  move(slot: number, target: ClusterNode): void {
    const owner = this.ownerOf(slot);
    if (owner === target) return;
    if (owner?.client) this.deps.retries.hold(slot, owner.client);
    target.shard ??= new Shard(target, []);
    this.shards[slot] = target.shard;
    this.names = null;
    this.leaving.delete(slot);
    this.deps.onSlotMoved(slot, owner);
  }

  /** A node may have named the new owner of a slot. */
  learn({ kind, slot, target }: Redirect): void {
    const node = kind === "moved" && target !== null ? this.nodeAt(target) : null;
    if (node !== null) this.move(slot, node);
  }

  /** Several nodes announce the same, and a table may be newer, so a slot moves only from the announced source. */
  follow({ seq, moves }: AnnouncedMoves): void {
    if (seq <= this.followed) return;
    this.followed = seq;
    for (const { source, target, ranges } of moves) {
      const key = nodeKey(this.mapped(source));
      const node = this.nodeAt(target);
      if (node === null) continue;
      for (const [from, to] of ranges) {
        for (let slot = from; slot <= to; slot++) if (this.ownerOf(slot)?.key === key) this.move(slot, node);
      }
    }
  }

  /** The connection of the node is about to be replaced: commands on the new connection wait for those in flight. */
  holdAllOf(node: ClusterNode): void {
    const slots: number[] = [];
    for (let slot = 0; slot < SLOT_COUNT; slot++) if (this.ownerOf(slot) === node) slots.push(slot);
    if (node.client !== null) this.deps.retries.holdAll(slots, node.client);
  }

  /** Applies a node's description of the cluster. Slots that it does not mention keep their owner. */
  adopt(ranges: readonly TopologyRange[]): Adoption {
    const members: Members = new Map();
    const moved: number[] = [];
    const left = new Map<ClusterNode, number[]>();
    let isChanged = false;
    for (const [{ from, to }, shard] of this.shardsIn(ranges, members)) {
      for (let slot = from; slot <= to; slot++) {
        const before = this.shards[slot] as Shard | null;
        this.shards[slot] = shard;
        if (before !== null && (before === shard || before.isSameAs(shard))) continue;
        isChanged = true;
        if (before?.master === shard.master) continue;
        moved.push(slot);
        this.leaving.delete(slot);
        this.deps.onSlotMoved(slot, before?.master ?? null);
        if (before === null) continue;
        const slots = left.get(before.master);
        if (slots === undefined) left.set(before.master, [slot]);
        else slots.push(slot);
      }
      shard.master.shard = shard;
    }
    this.names = null;
    for (const [{ client }, slots] of left) if (client !== null) this.deps.retries.holdAll(slots, client);
    this.deps.pool.setMembers(members);
    return { isChanged, moved };
  }

  private mapped(address: NodeAddress): NodeAddress {
    return callUser(() => reachable(address, this.natMap)) ?? address;
  }

  /** The shard of each range. Ranges with the same nodes have one shard. */
  private shardsIn(ranges: readonly TopologyRange[], members: Members): [TopologyRange, Shard][] {
    const shards = new Map<string, Shard>();
    const found: [TopologyRange, Shard][] = [];
    for (const range of ranges) {
      const master = this.member(members, range.master, "master");
      if (master === null) continue;
      const replicas = range.replicas.map((one) => this.member(members, one, "slave"));
      const made = new Shard(
        master,
        replicas.filter((node) => node !== null),
      );
      const name = made.keys.join(" ");
      const shard = shards.get(name) ?? made;
      shards.set(name, shard);
      found.push([range, shard]);
    }
    return found;
  }

  private member(members: Members, address: NodeAddress, role: NodeRole): ClusterNode | null {
    const node = this.deps.pool.at(reachable(address, this.natMap));
    if (node === null) return null;
    // A start node keeps the name under which it was resolved, which it may not announce itself.
    const serverName = address.serverName ?? node.address.serverName;
    node.address = { ...address, host: node.address.host, port: node.address.port, serverName };
    if (role === "master" || !members.has(node)) members.set(node, role);
    return node;
  }
}
