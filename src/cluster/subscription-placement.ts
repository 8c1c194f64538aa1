/**
 * Where subscriptions of a cluster client have to be: channels and patterns at any one node, since a cluster hands classic
 * messages to all of them; shard channels at the master of their slot. Knows nothing of connections.
 */

import type { Command } from "../command/command";
import { commonSlotOf, MIXED_SLOTS, NO_SLOT, slotOfKey } from "../command/slot";
import { SubscriptionKind } from "../connection/subscriptions";
import { NoSubscriberError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { SlotMap } from "./slot-map";

export interface Placement {
  readonly kinds: readonly SubscriptionKind[];
  /** Each name has a node of its own. */
  readonly isSpread: boolean;
  /** The node of a name now; null if none is known. */
  nodeOf(name: Buffer): ClusterNode | null;
  /** The node that a command of the caller goes to, or why there is none. */
  nodeFor(command: Command): ClusterNode | Error;
  /** Names may come to this node: its connection is kept without any. */
  isUsed(node: ClusterNode): boolean;
  /** Another node would do as well. */
  isReplaceable(node: ClusterNode): boolean;
  /** The node was lost, has left or is silent: another one takes its place, if it is replaceable. */
  leave(node: ClusterNode): void;
}

/** All names are at one node. */
export class AnyNode implements Placement {
  readonly kinds = [SubscriptionKind.Channel, SubscriptionKind.Pattern, SubscriptionKind.Shard];
  readonly isSpread = false;
  private node: ClusterNode | null = null;
  private before: ClusterNode | null = null;

  /** @param choose A node; not the given one, if there is another. */
  constructor(private readonly choose: (instead: ClusterNode | null) => ClusterNode | null) {}

  nodeOf(): ClusterNode | null {
    this.node ??= this.choose(this.before);
    return this.node;
  }

  nodeFor(): ClusterNode | Error {
    return this.nodeOf() ?? new NoSubscriberError();
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

/** Each name is at the master of its slot. */
export class SlotMasters implements Placement {
  readonly kinds = [SubscriptionKind.Shard];
  readonly isSpread = true;

  constructor(private readonly slots: SlotMap) {}

  nodeOf(name: Buffer): ClusterNode | null {
    return this.slots.shardOf(slotOfKey(name))?.master ?? null;
  }

  nodeFor({ spec, args }: Command): ClusterNode | Error {
    const slot = commonSlotOf(spec, args);
    if (slot === MIXED_SLOTS || slot === NO_SLOT)
      return new NoSubscriberError("Possible CROSSSLOT error: All channels must hash to the same slot");
    return (
      this.slots.shardOf(slot)?.master ?? new NoSubscriberError(`No sharded subscriber for slot: ${slot}`)
    );
  }

  isUsed({ shard }: ClusterNode): boolean {
    return shard !== null;
  }

  isReplaceable(): boolean {
    return false;
  }

  leave(): void {}
}
