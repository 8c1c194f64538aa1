/**
 * The keys of a cluster's cache by slot. Each slot has a list that runs through the nodes themselves, so a key
 * costs no further object. Dropping a moved slot takes time in proportion to its own keys, not to the size of
 * the cache.
 */

import { slotOfKey } from "../command/slot";

/** An item of a list. */
export interface Linked<Node> {
  readonly key: string;
  nextOfSlot: Node | null;
  beforeOfSlot: Node | null;
}

export class SlotLists<Node extends Linked<Node>> {
  private readonly heads = new Map<number, Node>();

  first(slot: number): Node | null {
    return this.heads.get(slot) ?? null;
  }

  add(node: Node): void {
    const slot = slotOfKey(node.key);
    const head = this.first(slot);
    node.nextOfSlot = head;
    if (head !== null) head.beforeOfSlot = node;
    this.heads.set(slot, node);
  }

  delete(node: Node): void {
    const { nextOfSlot, beforeOfSlot } = node;
    if (nextOfSlot !== null) nextOfSlot.beforeOfSlot = beforeOfSlot;
    if (beforeOfSlot !== null) beforeOfSlot.nextOfSlot = nextOfSlot;
    else if (nextOfSlot !== null) this.heads.set(slotOfKey(node.key), nextOfSlot);
    else this.heads.delete(slotOfKey(node.key));
    node.nextOfSlot = null;
    node.beforeOfSlot = null;
  }
}
