/**
 * The keys of a cluster's cache by their slot: in each slot a list that runs through the nodes themselves,
 * so that a key costs no further object. A slot that changes hands is dropped with what it has, whatever
 * else the cache holds.
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
