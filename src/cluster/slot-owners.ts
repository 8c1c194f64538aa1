/**
 * The only module that changes slot owners: one slot by MOVED, many by a table. If the former owner still has
 * commands of a moved slot in flight, the slot is first held in the retry queue, so that commands for the new
 * owner do not overtake them.
 */

import { SLOT_COUNT } from "../command/slot";
import { type AddressMap, reachable } from "../util/address-map";
import { callUser } from "../util/user-code";
import { type ClusterNode, type NodeRole, Shard } from "./cluster-node";
import { type NodeAddress, nodeKey } from "./node-address";
import type { NodePool } from "./node-pool";
import type { RetryQueue } from "./retry-queue";
import type { SlotMap, SlotRange } from "./slot-map";
import type { TopologyRange } from "./topology";

/** The changes that a table has made. */
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

export class SlotOwners {
  /** The announcement that was followed last. */
  private followed = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly slots: SlotMap,
    private readonly pool: NodePool,
    private readonly retries: RetryQueue,
    private readonly settings: {
      readonly natMap: AddressMap;
      /** A slot has another owner; `before` is null for the first one. */
      onMoved(slot: number, before: ClusterNode | null): void;
    },
  ) {}

  /**
   * The node that another node has named; null if the pool is full. Used while replies are read, where an error
   * of the application must not unwind the stack.
   */
  nodeAt(address: NodeAddress): ClusterNode | null {
    return this.pool.at(this.mapped(address));
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
        for (let slot = from; slot <= to; slot++)
          if (this.slots.ownerOf(slot)?.key === key) this.move(slot, node);
      }
    }
  }

  private mapped(address: NodeAddress): NodeAddress {
    const { natMap } = this.settings;
    if (natMap === undefined || natMap === null) return address;
    return callUser(() => reachable(address, natMap)) ?? address;
  }

  /** One slot has another owner. */
  move(slot: number, target: ClusterNode): void {
    const owner = this.slots.ownerOf(slot);
    if (owner === target) return;
    if (owner?.client) this.retries.hold(slot, owner.client);
    this.slots.move(slot, target);
    this.settings.onMoved(slot, owner);
  }

  /** A node has named the new owner of a slot. */
  learn(slot: number, address: NodeAddress): void {
    const node = this.nodeAt(address);
    if (node !== null) this.move(slot, node);
  }

  /**
   * The connection of the node is about to be replaced: commands on the new connection wait for those in
   * flight.
   */
  holdAllOf(node: ClusterNode): void {
    const slots: number[] = [];
    for (let slot = 0; slot < SLOT_COUNT; slot++) if (this.slots.ownerOf(slot) === node) slots.push(slot);
    if (node.client !== null) this.retries.holdAll(slots, node.client);
  }

  /** Applies a node's description of the cluster. */
  adopt(ranges: readonly TopologyRange[]): Adoption {
    const members = new Map<ClusterNode, NodeRole>();
    const moved: number[] = [];
    const left = new Map<ClusterNode, number[]>();
    const isChanged = this.slots.assign(this.slotRanges(ranges, members), (slot, before) => {
      moved.push(slot);
      this.settings.onMoved(slot, before?.master ?? null);
      if (before === null) return;
      const slots = left.get(before.master);
      if (slots === undefined) left.set(before.master, [slot]);
      else slots.push(slot);
    });
    for (const [{ client }, slots] of left) if (client !== null) this.retries.holdAll(slots, client);
    this.pool.setMembers(members);
    return { isChanged, moved };
  }

  private slotRanges(ranges: readonly TopologyRange[], members: Map<ClusterNode, NodeRole>): SlotRange[] {
    const shards = new Map<string, Shard>();
    const slotRanges: SlotRange[] = [];
    for (const { from, to, master, replicas } of ranges) {
      const masterNode = this.member(members, master, "master");
      if (masterNode === null) continue;
      const replicaNodes = replicas
        .map((one) => this.member(members, one, "slave"))
        .filter((node) => node !== null);
      const made = new Shard(masterNode, replicaNodes);
      const name = made.keys.join(" ");
      const shard = shards.get(name) ?? made;
      shards.set(name, shard);
      slotRanges.push({ from, to, shard });
    }
    return slotRanges;
  }

  private member(
    members: Map<ClusterNode, NodeRole>,
    address: NodeAddress,
    role: NodeRole,
  ): ClusterNode | null {
    const node = this.pool.at(reachable(address, this.settings.natMap));
    if (node === null) return null;
    // A start node keeps the name under which it was resolved, which it may not announce itself.
    const serverName = address.serverName ?? node.address.serverName;
    node.address = { ...address, host: node.address.host, port: node.address.port, serverName };
    if (role === "master" || !members.has(node)) members.set(node, role);
    return node;
  }
}
