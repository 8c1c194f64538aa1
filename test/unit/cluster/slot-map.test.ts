/** Who owns which slot: what a MOVED and a table change, which slots are held for it, and who hears of it. */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode, NodeClient } from "../../../src/cluster/cluster-node";
import type { NodeAddress } from "../../../src/cluster/node-address";
import { NodePool } from "../../../src/cluster/node-pool";
import type { RetryQueue } from "../../../src/cluster/retry-queue";
import { SlotMap } from "../../../src/cluster/slot-map";
import type { TopologyRange } from "../../../src/cluster/topology";
import { SLOT_COUNT } from "../../../src/command/slot";
import type { NatMap } from "../../../src/util/address-map";
import { fixedRuns } from "../../support/properties";
import { uncaughtDuring } from "../../support/uncaught";

const at = (port: number): NodeAddress => ({ host: "h", port });

describe("SlotMap", () => {
  let slots: SlotMap;
  let pool: NodePool;
  /** Slots that were held, with the port of the node whose commands they wait for. */
  let held: string[];
  let moved: number[];
  /** The port of the owner that each moved slot had. */
  let former: Map<number, number | null>;

  beforeEach(() => make());

  function make(natMap: NatMap | null | undefined = null): void {
    held = [];
    moved = [];
    former = new Map();
    pool = new NodePool(
      {
        makeClient: ({ address }) => {
          const link = { isLeaving: false, disconnect() {}, port: address.port };
          return { link, isIdle: true, handOn() {}, setReadOnly() {} } as unknown as NodeClient;
        },
        onClientOpened: () => {},
        onClientClosed: () => {},
        lifecycle: { onEmpty() {} },
      },
      true,
    );
    pool.isSealed = false;
    const retries = {
      hold: (slot: number, { link }: NodeClient) => {
        held.push(`${slot} for ${(link as unknown as { port: number }).port}, owned by ${ownerOf(slot)}`);
      },
      holdAll: (slots: readonly number[], { link }: NodeClient) => {
        for (const slot of slots) {
          held.push(`${slot} for ${(link as unknown as { port: number }).port}, owned by ${ownerOf(slot)}`);
        }
      },
    } as unknown as RetryQueue;
    const onSlotMoved = (slot: number, before: ClusterNode | null): void => {
      moved.push(slot);
      former.set(slot, before?.address.port ?? null);
    };
    slots = new SlotMap(natMap, { pool, retries, onSlotMoved });
  }

  function ownerOf(slot: number): number | null {
    return slots.ownerOf(slot)?.address.port ?? null;
  }

  function nodeAt(port: number): ClusterNode {
    return pool.at(at(port)) as ClusterNode;
  }

  const range = (from: number, to: number, master: number, ...replicas: number[]): TopologyRange => ({
    from,
    to,
    master: at(master),
    replicas: replicas.map(at),
  });

  it("follows an announcement once, and only from the announced source", () => {
    slots.adopt([range(0, 99, 1), range(100, 199, 2)]);
    moved = [];
    const announce = (seq: number, from: number, to: number, ...ranges: [number, number][]) =>
      slots.follow({ seq, moves: [{ source: at(from), target: at(to), ranges }] });
    announce(7, 1, 3, [10, 12], [150, 151]);
    expect([9, 10, 12, 13, 150].map(ownerOf)).to.deep.equal([1, 3, 3, 1, 2]);
    expect(moved).to.deep.equal([10, 11, 12]);
    // Meanwhile a table has moved one of them back, and other nodes repeat the announcement.
    slots.adopt([range(10, 10, 1)]);
    announce(7, 1, 3, [10, 12]);
    announce(6, 1, 3, [10, 12]);
    expect([10, 11].map(ownerOf)).to.deep.equal([1, 3]);
    announce(8, 2, 1, [11, 11], [100, 100]);
    expect([11, 100].map(ownerOf)).to.deep.equal([3, 1]);
  });

  it("knows no owner at first, and takes a table over with the roles of all nodes", () => {
    expect(slots.owners().size).to.equal(0);
    expect(slots.ownerOf(0)).to.equal(null);
    const { isChanged, moved: told } = slots.adopt([range(0, 9, 1, 2, 3), range(10, 10, 4)]);
    expect([isChanged, told, moved]).to.deep.equal([true, [...Array(11).keys()], [...Array(11).keys()]]);
    expect([ownerOf(0), ownerOf(9), ownerOf(10), ownerOf(11)]).to.deep.equal([1, 1, 4, null]);
    expect(pool.list("master").map(({ key }) => key)).to.deep.equal(["h:1", "h:4"]);
    expect(pool.list("slave").map(({ key }) => key)).to.deep.equal(["h:2", "h:3"]);
    expect(held, "nobody has had a command of them").to.deep.equal([]);
  });

  it("changes nothing with the same table again", () => {
    const table = [range(0, 9, 1, 2), range(10, 20, 3)];
    slots.adopt(table);
    moved = [];
    expect(slots.adopt(table)).to.deep.equal({ isChanged: false, moved: [] });
    expect([moved, held]).to.deep.equal([[], []]);
  });

  it("takes ranges with the same nodes for one shard, and another replica for a change without a move", () => {
    slots.adopt([range(0, 4, 1, 2), range(5, 9, 3), range(10, 14, 1, 2)]);
    expect(slots.shardOf(0)).to.equal(slots.shardOf(12));
    expect(slots.shardOf(0)).to.not.equal(slots.shardOf(5));
    moved = [];
    expect(slots.adopt([range(0, 4, 1, 4), range(5, 9, 3), range(10, 14, 1, 4)])).to.deep.equal({
      isChanged: true,
      moved: [],
    });
    expect([moved, held]).to.deep.equal([[], []]);
  });

  it("moves a slot to a master with the replicas that it is known to have", () => {
    slots.adopt([range(0, 100, 1), range(101, 200, 2, 3)]);
    slots.move(50, nodeAt(2));
    slots.move(51, nodeAt(9));
    expect([50, 51, 52, 16_383].map((slot) => slots.table[slot])).to.deep.equal([
      ["h:2", "h:3"],
      ["h:9"],
      ["h:1"],
      [],
    ]);
    expect([...slots.owners()].map(([{ key }, slot]) => [key, slot])).to.deep.equal([
      ["h:1", 0],
      ["h:2", 50],
      ["h:9", 51],
    ]);
  });

  it("makes its public table once, and anew after a change", () => {
    slots.adopt([range(0, 16_383, 1)]);
    const { table } = slots;
    expect(table).to.have.length(16_384);
    expect(slots.table).to.equal(table);
    slots.move(1, nodeAt(2));
    expect(slots.table).to.not.equal(table);
  });

  it("knows which slots are leaving their master, until they have another one", () => {
    slots.adopt([range(0, 100, 1)]);
    slots.noteLeaving(7, nodeAt(2));
    expect(slots.isLeaving(7), "as a node says that does not own it").to.equal(false);
    for (const slot of [7, 8]) slots.noteLeaving(slot, nodeAt(1));
    expect([6, 7, 8].map((slot) => slots.isLeaving(slot))).to.deep.equal([false, true, true]);
    slots.move(7, nodeAt(2));
    slots.adopt([range(0, 6, 1), range(8, 100, 2)]);
    expect([7, 8].map((slot) => slots.isLeaving(slot))).to.deep.equal([false, false]);
  });

  it("holds what a table takes from a node, for that node", () => {
    slots.adopt([range(0, 3, 1), range(4, 5, 2)]);
    moved = [];
    expect(slots.adopt([range(0, 1, 1), range(2, 5, 2)])).to.deep.equal({ isChanged: true, moved: [2, 3] });
    expect([moved, held]).to.deep.equal([
      [2, 3],
      ["2 for 1, owned by 2", "3 for 1, owned by 2"],
    ]);
  });

  it("holds what a table takes from a node that it does not name any more, before that is let go", () => {
    slots.adopt([range(0, 0, 1), range(1, 1, 2)]);
    slots.adopt([range(0, 1, 2)]);
    expect(held).to.deep.equal(["0 for 1, owned by 2"]);
    expect(pool.list().map(({ key }) => key)).to.deep.equal(["h:2"]);
  });

  it("is master of all it is named as, whether it is named as a replica before or behind", () => {
    slots.adopt([range(0, 0, 1, 2), range(1, 1, 2, 1)]);
    expect([nodeAt(1).role, nodeAt(2).role]).to.deep.equal(["master", "master"]);
  });

  it("moves one slot: it is held first, for the owner that it had, and told once it is done", () => {
    slots.adopt([range(0, 3, 1), range(4, 5, 2)]);
    moved = [];
    slots.move(3, nodeAt(2));
    expect([held, moved, ownerOf(3), ownerOf(2)]).to.deep.equal([["3 for 1, owned by 1"], [3], 2, 1]);
    slots.move(3, nodeAt(2));
    expect([held.length, moved.length]).to.deep.equal([1, 1]);
    slots.move(100, nodeAt(2));
    expect([held.length, moved, ownerOf(100)]).to.deep.equal([1, [3, 100], 2]);
  });

  it("learns the owner that a node has named, unless there are too many nodes", () => {
    slots.adopt([range(0, 3, 1)]);
    slots.learn({ kind: "ask", slot: 3, target: at(2) });
    slots.learn({ kind: "moved", slot: 3, target: null });
    expect([held, ownerOf(3)]).to.deep.equal([[], 1]);
    slots.learn({ kind: "moved", slot: 3, target: at(2) });
    expect([held, ownerOf(3)]).to.deep.equal([["3 for 1, owned by 1"], 2]);
    for (let port = 3; pool.at(at(port)) !== null; port++) {}
    slots.learn({ kind: "moved", slot: 2, target: at(60_000) });
    expect(ownerOf(2)).to.equal(1);
  });

  it("holds nothing for a node without a connection", () => {
    slots.adopt([range(0, 1, 1), range(2, 2, 2)]);
    nodeAt(1).client = null;
    slots.move(0, nodeAt(2));
    slots.adopt([range(0, 2, 2)]);
    expect([held, ownerOf(0), ownerOf(1)]).to.deep.equal([[], 2, 2]);
  });

  it("tells the former owner of a moved slot", () => {
    slots.adopt([range(0, 1, 1)]);
    expect(moved.map((slot) => former.get(slot))).to.deep.equal([null, null]);
    slots.move(0, nodeAt(2));
    slots.adopt([range(1, 1, 3)]);
    expect([0, 1].map((slot) => former.get(slot))).to.deep.equal([1, 1]);
  });

  it("holds every slot of a node whose connection is about to be replaced, to the last one", () => {
    slots.adopt([range(0, 1, 1), range(2, SLOT_COUNT - 2, 2), range(SLOT_COUNT - 1, SLOT_COUNT - 1, 1)]);
    slots.holdAllOf(nodeAt(1));
    expect(held).to.deep.equal([0, 1, SLOT_COUNT - 1].map((slot) => `${slot} for 1, owned by 1`));
  });

  it("knows nodes by where they are reached, and keeps the name that they were looked up under", () => {
    make({ "inside:1": { host: "outside", port: 11 } });
    const seed = pool.at({ host: "outside", port: 11, serverName: "seed.example" }) as ClusterNode;
    slots.adopt([{ from: 0, to: 0, master: { host: "inside", port: 1, zone: "eu" }, replicas: [] }]);
    expect(slots.ownerOf(0)).to.equal(seed);
    expect(seed.address).to.deep.equal({ host: "outside", port: 11, serverName: "seed.example", zone: "eu" });
    slots.adopt([
      { from: 0, to: 0, master: { host: "inside", port: 1, serverName: "told.example" }, replicas: [] },
    ]);
    expect(seed.address.serverName).to.equal("told.example");
    expect([seed.zone, seed.key]).to.deep.equal([undefined, "outside:11"]);
    expect(slots.nodeAt({ host: "inside", port: 1 })).to.equal(seed);
  });

  it("goes to the address that was named when the application cannot translate it", async () => {
    make(() => {
      throw new Error("no such host");
    });
    const uncaught = await uncaughtDuring(async () => {
      expect(slots.nodeAt(at(1))?.key).to.equal("h:1");
    });
    expect(uncaught).to.deep.equal(["no such host"]);
    for (const none of [null, undefined]) {
      make(none);
      expect(slots.nodeAt(at(1))?.key).to.equal("h:1");
    }
  });

  it("leaves out a shard whose master cannot be known, and a replica alone", () => {
    const known = new Map([1, 3].map((port) => [port, nodeAt(port)]));
    pool.at = ({ port }) => known.get(port) ?? null;
    slots.adopt([range(0, 0, 1, 9), range(1, 1, 9, 1), range(2, 2, 1, 3)]);
    expect([ownerOf(0), ownerOf(1), slots.table[0], slots.table[2]]).to.deep.equal([
      1,
      null,
      ["h:1"],
      ["h:1", "h:3"],
    ]);
    expect(slots.nodeAt(at(9))).to.equal(null);
  });

  it("holds each slot once for each owner that it loses, whatever tables and redirects say", () => {
    const port = fc.integer({ min: 1, max: 3 });
    const step = fc.oneof(
      fc.record({ slot: fc.nat(5), to: port }),
      fc.array(fc.record({ owner: port, replica: port }), { minLength: 6, maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        make();
        const truth: (number | null)[] = Array(6).fill(null);
        for (const one of steps) {
          held = [];
          moved = [];
          const wanted = Array.isArray(one) ? one.map(({ owner }) => owner) : truth.with(one.slot, one.to);
          const hasClient = truth.map((owner) => owner !== null && nodeAt(owner).client !== null);
          const lost = truth.flatMap((owner, slot) => (owner === wanted[slot] ? [] : [{ slot, owner }]));
          if (!Array.isArray(one)) slots.move(one.slot, nodeAt(one.to));
          else {
            const table = one.map(({ owner, replica }, slot) => range(slot, slot, owner, replica));
            expect(slots.adopt(table).moved).to.deep.equal(lost.map(({ slot }) => slot));
          }
          expect(moved).to.deep.equal(lost.map(({ slot }) => slot));
          expect(held.map((text) => text.split(",")[0])).to.have.members(
            lost.filter(({ slot }) => hasClient[slot]).map(({ slot, owner }) => `${slot} for ${owner}`),
          );
          truth.splice(0, 6, ...(wanted as (number | null)[]));
          expect(truth.map((_, slot) => ownerOf(slot))).to.deep.equal(truth);
        }
      }),
      fixedRuns(150),
    );
  });
});
