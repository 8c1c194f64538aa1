import { expect } from "chai";
import { ClusterNode, Shard } from "../../../src/cluster/cluster-node";
import { SlotMap } from "../../../src/cluster/slot-map";

const node = (port: number): ClusterNode => new ClusterNode({ host: "h", port });
const ignore = (): void => {};

describe("slot map", () => {
  it("points slots to shards and tells what changed", () => {
    const map = new SlotMap();
    const [a, b, c] = [node(1), node(2), node(3)] as [ClusterNode, ClusterNode, ClusterNode];
    expect(map.owners().size).to.equal(0);
    const first = new Shard(a, [b]);
    expect(map.assign([{ from: 0, to: 16_383, shard: first }], ignore)).to.equal(true);
    expect(map.assign([{ from: 0, to: 16_383, shard: new Shard(a, [b]) }], ignore)).to.equal(false);
    const moved: number[] = [];
    const isChanged = map.assign([{ from: 5, to: 6, shard: new Shard(c, []) }], (slot) => moved.push(slot));
    expect(isChanged).to.equal(true);
    expect(moved).to.deep.equal([5, 6]);
    expect([4, 5, 6, 7].map((slot) => map.shardOf(slot)?.master.key)).to.deep.equal([
      "h:1",
      "h:3",
      "h:3",
      "h:1",
    ]);
    // Another replica is a change, but no move.
    expect(map.assign([{ from: 0, to: 4, shard: new Shard(a, []) }], (slot) => moved.push(slot))).to.equal(
      true,
    );
    expect(moved).to.have.length(2);
  });

  it("moves one slot, with the replicas that its new master is known to have", () => {
    const map = new SlotMap();
    const [a, b, c] = [node(1), node(2), node(3)] as [ClusterNode, ClusterNode, ClusterNode];
    map.assign(
      [
        { from: 0, to: 100, shard: new Shard(a, []) },
        { from: 101, to: 200, shard: new Shard(b, [c]) },
      ],
      ignore,
    );
    map.move(50, b);
    expect(map.table[50]).to.deep.equal(["h:2", "h:3"]);
    expect(map.table[51]).to.deep.equal(["h:1"]);
    expect(map.table[16_383]).to.deep.equal([]);
    const unknown = node(9);
    map.move(51, unknown);
    expect(map.table[51]).to.deep.equal(["h:9"]);
    expect([...map.owners().keys()].map(({ key }) => key)).to.have.members(["h:1", "h:2", "h:9"]);
  });

  it("makes its public table once, and anew after a change", () => {
    const map = new SlotMap();
    map.assign([{ from: 0, to: 16_383, shard: new Shard(node(1), []) }], ignore);
    const table = map.table;
    expect(table).to.have.length(16_384);
    expect(map.table).to.equal(table);
    map.move(1, node(2));
    expect(map.table).to.not.equal(table);
  });

  it("knows which slots are leaving their master, until they have another one", () => {
    const map = new SlotMap();
    const [a, b] = [node(1), node(2)] as [ClusterNode, ClusterNode];
    map.assign([{ from: 0, to: 100, shard: new Shard(a, []) }], ignore);
    map.noteLeaving(7, b);
    expect(map.isLeaving(7), "as a node says that does not own it").to.equal(false);
    map.noteLeaving(7, a);
    expect([6, 7, 8].map((slot) => map.isLeaving(slot))).to.deep.equal([false, true, false]);
    map.move(7, b);
    expect(map.isLeaving(7)).to.equal(false);
  });
});
