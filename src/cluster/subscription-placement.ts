/**
 * Decides the nodes for each subscription of a cluster client: channels and patterns at any one node, because a
 * cluster delivers classic messages to all nodes; shard channels at the master of their slot. Knows no connections.
 */

import type { Command } from "../command/command";
import { commonSlotOf, MIXED_SLOTS, NO_SLOT, slotOfKey } from "../command/slot";
import { SubscriptionKind } from "../connection/subscriptions";
import { NoSubscriberError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { SlotMap } from "./slot-map";

export interface Placement {
  readonly kinds: readonly SubscriptionKind[];
  /** Each name has its own node. */
  readonly isSpread: boolean;
  /** The current nodes for a name; none if unknown. */
  nodesOf(name: Buffer): readonly ClusterNode[];
  /** The node for a command of the caller, or the reason why it has none. */
  nodeFor(command: Command): ClusterNode | Error;
  /** Names may be placed on this node: its connection stays open without subscriptions. */
  isUsed(node: ClusterNode): boolean;
  /** Another node would do as well. Absent if each name has its own node. */
  isReplaceable?(node: ClusterNode): boolean;
  /** The node was lost or removed, or is silent: another node takes its place if it is replaceable. */
  leave?(node: ClusterNode): void;
}

export class AnyNode implements Placement {
  readonly kinds = [SubscriptionKind.Channel, SubscriptionKind.Pattern, SubscriptionKind.Shard];
  readonly isSpread = false;
  private node: ClusterNode | null = null;
  private before: ClusterNode | null = null;

  /** @param choose Returns a node, preferably not the given one. */
  constructor(private readonly choose: (instead: ClusterNode | null) => ClusterNode | null) {}

  nodesOf(): readonly ClusterNode[] {
    this.node ??= this.choose(this.before);
    return this.node === null ? [] : [this.node];
  }

  nodeFor(): ClusterNode | Error {
    return this.nodesOf()[0] ?? new NoSubscriberError();
  }

  isUsed(node: ClusterNode): boolean {
    return node === this.node;
  }

  isReplaceable(node: ClusterNode): boolean {
    const other = this.choose(node);
    return other !== null && other !== node;
  }

  leave(node: ClusterNode): void {
    if (node !== this.node) return;
    this.node = null;
    this.before = node;
  }
}

export class SlotMasters implements Placement {
  readonly kinds = [SubscriptionKind.Shard];
  readonly isSpread = true;

  constructor(private readonly slots: SlotMap) {}

  nodesOf(name: Buffer): readonly ClusterNode[] {
    const master = this.slots.ownerOf(slotOfKey(name));
    return master === null ? [] : [master];
  }

  nodeFor({ spec, args }: Command): ClusterNode | Error {
    const slot = commonSlotOf(spec, args);
    if (slot === MIXED_SLOTS || slot === NO_SLOT)
      return new NoSubscriberError("Possible CROSSSLOT error: All channels must hash to the same slot");
    return this.slots.ownerOf(slot) ?? new NoSubscriberError(`No sharded subscriber for slot: ${slot}`);
  }

  isUsed({ shard }: ClusterNode): boolean {
    return shard !== null;
  }
}
