/**
 * The shard that serves each slot. A shard is a master with its replicas; slots point to shards. A refresh
 * replaces the whole map, MOVED one slot. Knows no connections.
 */

import { SLOT_COUNT } from "../command/slot";
import { type ClusterNode, Shard } from "./cluster-node";

/** Slots `from` to `to`, both included, belong to a shard. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
  readonly shard: Shard;
}

export class SlotMap {
  private readonly shards: (Shard | null)[] = new Array<Shard | null>(SLOT_COUNT).fill(null);
  private names: string[][] | null = null;
  /** Slots whose keys are moving to another node: a replica does not know that it misses those that have moved. */
  private readonly leaving = new Set<number>();

  shardOf(slot: number): Shard | null {
    return this.shards[slot] as Shard | null;
  }

  ownerOf(slot: number): ClusterNode | null {
    return this.shardOf(slot)?.master ?? null;
  }

  /**
   * Applies a new table. Slots that it does not mention keep their owner. Returns true if anything has changed;
   * `onMoved` receives each slot with a new master, and its previous shard.
   */
  assign(ranges: readonly SlotRange[], onMoved: (slot: number, before: Shard | null) => void): boolean {
    let isChanged = false;
    for (const { from, to, shard } of ranges) {
      for (let slot = from; slot <= to; slot++) {
        const before = this.shards[slot] as Shard | null;
        this.shards[slot] = shard;
        if (before !== null && (before === shard || before.isSameAs(shard))) continue;
        isChanged = true;
        if (before?.master === shard.master) continue;
        this.leaving.delete(slot);
        onMoved(slot, before);
      }
      shard.master.shard = shard;
    }
    this.names = null;
    return isChanged;
  }

  /** MOVED: one slot has another master. */
  move(slot: number, master: ClusterNode): void {
    if (this.shards[slot]?.master === master) return;
    master.shard ??= new Shard(master, []);
    this.shards[slot] = master.shard;
    this.leaving.delete(slot);
    this.names = null;
  }

  /** ASK from a master: the state of the slot until it has another master. */
  noteLeaving(slot: number, master: ClusterNode): void {
    if (this.ownerOf(slot) === master) this.leaving.add(slot);
  }

  isLeaving(slot: number): boolean {
    return this.leaving.has(slot);
  }

  /** Every master, with one of its slots. */
  owners(): Map<ClusterNode, number> {
    const owners = new Map<ClusterNode, number>();
    let last: Shard | null = null;
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const shard = this.shards[slot] as Shard | null;
      if (shard === last || shard === null) continue;
      last = shard;
      if (!owners.has(shard.master)) owners.set(shard.master, slot);
    }
    return owners;
  }

  /** The public view: for each slot the names of its nodes, master first. */
  get table(): string[][] {
    this.names ??= this.shards.map((shard) => shard?.keys ?? []);
    return this.names;
  }
}
