/** The lists of keys by slot, against a plain map of arrays. */

import { expect } from "chai";
import fc from "fast-check";
import { type Linked, SlotLists } from "../../../src/caching/slot-lists";
import { slotOfKey } from "../../../src/command/slot";
import { fixedRuns } from "../../support/properties";

interface Node extends Linked<Node> {}

/** Keys of three slots. */
const KEYS = ["{a}1", "{a}2", "{a}3", "{b}1", "{b}2", "{c}1"];

function listed(lists: SlotLists<Node>, slot: number): string[] {
  const keys: string[] = [];
  let before: Node | null = null;
  for (let node = lists.first(slot); node !== null; node = node.nextOfSlot) {
    expect(node.beforeOfSlot, "the way back").to.equal(before);
    keys.push(node.key);
    before = node;
  }
  return keys;
}

describe("SlotLists", () => {
  it("has in each slot what was added and not deleted, the youngest first", () => {
    const steps = fc.array(fc.nat({ max: KEYS.length - 1 }), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (indexes) => {
        const lists = new SlotLists<Node>();
        const nodes = new Map<string, Node>();
        for (const index of indexes) {
          const key = KEYS[index] as string;
          const node = nodes.get(key);
          if (node === undefined) {
            const made: Node = { key, nextOfSlot: null, beforeOfSlot: null };
            nodes.set(key, made);
            lists.add(made);
          } else {
            nodes.delete(key);
            lists.delete(node);
            expect([node.nextOfSlot, node.beforeOfSlot]).to.deep.equal([null, null]);
          }
          for (const one of KEYS) {
            const slot = slotOfKey(one);
            const expected = [...nodes.keys()].filter((other) => slotOfKey(other) === slot).reverse();
            expect(listed(lists, slot)).to.deep.equal(expected);
          }
        }
      }),
      fixedRuns(300),
    );
  });
});
