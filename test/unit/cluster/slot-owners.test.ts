/** Who owns which slot: what a MOVED and a table change, which slots are held for it, and who hears of it. */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode, NodeClient } from "../../../src/cluster/cluster-node";
import type { NodeAddress } from "../../../src/cluster/node-address";
import { NodePool } from "../../../src/cluster/node-pool";
import type { RetryQueue } from "../../../src/cluster/retry-queue";
import { SlotMap } from "../../../src/cluster/slot-map";
import { SlotOwners } from "../../../src/cluster/slot-owners";
import type { TopologyRange } from "../../../src/cluster/topology";
import { SLOT_COUNT } from "../../../src/command/slot";
import type { AddressMap } from "../../../src/util/address-map";
import { fixedRuns } from "../../support/properties";
import { uncaughtDuring } from "../../support/uncaught";

const at = (port: number): NodeAddress => ({ host: "h", port });

describe("SlotOwners", () => {
  let slots: SlotMap;
  let pool: NodePool;
  let owners: SlotOwners;
  /** Slots that were held, with the port of the node whose commands they wait for. */
  let held: string[];
  let moved: number[];
  /** The port of the owner that each moved slot had. */
  let former: Map<number, number | null>;

  beforeEach(() => make());

  function make(natMap: AddressMap = null): void {
    held = [];
    moved = [];
    former = new Map();
    slots = new SlotMap();
    pool = new NodePool(
      {
        makeClient: ({ address }) => {
          const link = { isLeaving: false, disconnect() {}, port: address.port };
          return { link, isIdle: true, handOn() {}, setReadOnly() {} } as unknown as NodeClient;
        },
        onClientOpened: () => {},
        onClientClosed: () => {},
        onEmpty: () => {},
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
    const onMoved = (slot: number, before: ClusterNode | null): void => {
      moved.push(slot);
      former.set(slot, before?.address.port ?? null);
    };
    owners = new SlotOwners(slots, pool, retries, { natMap, onMoved });
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
    owners.adopt([range(0, 99, 1), range(100, 199, 2)]);
    moved = [];
    const announce = (seq: number, from: number, to: number, ...ranges: [number, number][]) =>
      owners.follow({ seq, moves: [{ source: at(from), target: at(to), ranges }] });
    announce(7, 1, 3, [10, 12], [150, 151]);
    expect([9, 10, 12, 13, 150].map(ownerOf)).to.deep.equal([1, 3, 3, 1, 2]);
    expect(moved).to.deep.equal([10, 11, 12]);
    // Meanwhile a table has moved one of them back, and other nodes repeat the announcement.
    owners.adopt([range(10, 10, 1)]);
    announce(7, 1, 3, [10, 12]);
    announce(6, 1, 3, [10, 12]);
    expect([10, 11].map(ownerOf)).to.deep.equal([1, 3]);
    announce(8, 2, 1, [11, 11], [100, 100]);
    expect([11, 100].map(ownerOf)).to.deep.equal([3, 1]);
  });

  it("knows no owner at first, and takes a table over with the roles of all nodes", () => {
    expect(slots.ownerOf(0)).to.equal(null);
    const { isChanged, moved: told } = owners.adopt([range(0, 9, 1, 2, 3), range(10, 10, 4)]);
    expect([isChanged, told, moved]).to.deep.equal([true, [...Array(11).keys()], [...Array(11).keys()]]);
    expect([ownerOf(0), ownerOf(9), ownerOf(10), ownerOf(11)]).to.deep.equal([1, 1, 4, null]);
    expect(pool.list("master").map(({ key }) => key)).to.deep.equal(["h:1", "h:4"]);
    expect(pool.list("slave").map(({ key }) => key)).to.deep.equal(["h:2", "h:3"]);
    expect(held, "nobody has had a command of them").to.deep.equal([]);
  });

  it("changes nothing with the same table again", () => {
    const table = [range(0, 9, 1, 2), range(10, 20, 3)];
    owners.adopt(table);
    moved = [];
    expect(owners.adopt(table)).to.deep.equal({ isChanged: false, moved: [] });
    expect([moved, held]).to.deep.equal([[], []]);
  });

  it("takes ranges with the same nodes for one shard, and another replica for a change without a move", () => {
    owners.adopt([range(0, 4, 1, 2), range(5, 9, 3), range(10, 14, 1, 2)]);
    expect(slots.shardOf(0)).to.equal(slots.shardOf(12));
    expect(slots.shardOf(0)).to.not.equal(slots.shardOf(5));
    moved = [];
    expect(owners.adopt([range(0, 4, 1, 4), range(5, 9, 3), range(10, 14, 1, 4)])).to.deep.equal({
      isChanged: true,
      moved: [],
    });
    expect([moved, held]).to.deep.equal([[], []]);
  });

  it("holds what a table takes from a node, for that node", () => {
    owners.adopt([range(0, 3, 1), range(4, 5, 2)]);
    moved = [];
    expect(owners.adopt([range(0, 1, 1), range(2, 5, 2)])).to.deep.equal({ isChanged: true, moved: [2, 3] });
    expect([moved, held]).to.deep.equal([
      [2, 3],
      ["2 for 1, owned by 2", "3 for 1, owned by 2"],
    ]);
  });

  it("holds what a table takes from a node that it does not name any more, before that is let go", () => {
    owners.adopt([range(0, 0, 1), range(1, 1, 2)]);
    owners.adopt([range(0, 1, 2)]);
    expect(held).to.deep.equal(["0 for 1, owned by 2"]);
    expect(pool.list().map(({ key }) => key)).to.deep.equal(["h:2"]);
  });

  it("is master of all it is named as, whether it is named as a replica before or behind", () => {
    owners.adopt([range(0, 0, 1, 2), range(1, 1, 2, 1)]);
    expect([nodeAt(1).role, nodeAt(2).role]).to.deep.equal(["master", "master"]);
  });

  it("moves one slot: it is held first, for the owner that it had, and told once it is done", () => {
    owners.adopt([range(0, 3, 1), range(4, 5, 2)]);
    moved = [];
    owners.move(3, nodeAt(2));
    expect([held, moved, ownerOf(3), ownerOf(2)]).to.deep.equal([["3 for 1, owned by 1"], [3], 2, 1]);
    owners.move(3, nodeAt(2));
    expect([held.length, moved.length]).to.deep.equal([1, 1]);
    owners.move(100, nodeAt(2));
    expect([held.length, moved, ownerOf(100)]).to.deep.equal([1, [3, 100], 2]);
  });

  it("learns the owner that a node has named, unless there are too many nodes", () => {
    owners.adopt([range(0, 3, 1)]);
    owners.learn(3, at(2));
    expect([held, ownerOf(3)]).to.deep.equal([["3 for 1, owned by 1"], 2]);
    for (let port = 3; pool.at(at(port)) !== null; port++) {}
    owners.learn(2, at(60_000));
    expect(ownerOf(2)).to.equal(1);
  });

  it("holds nothing for a node without a connection", () => {
    owners.adopt([range(0, 1, 1), range(2, 2, 2)]);
    nodeAt(1).client = null;
    owners.move(0, nodeAt(2));
    owners.adopt([range(0, 2, 2)]);
    expect([held, ownerOf(0), ownerOf(1)]).to.deep.equal([[], 2, 2]);
  });

  it("tells the former owner of a moved slot", () => {
    owners.adopt([range(0, 1, 1)]);
    expect(moved.map((slot) => former.get(slot))).to.deep.equal([null, null]);
    owners.move(0, nodeAt(2));
    owners.adopt([range(1, 1, 3)]);
    expect([0, 1].map((slot) => former.get(slot))).to.deep.equal([1, 1]);
  });

  it("holds every slot of a node whose connection is about to be replaced, to the last one", () => {
    owners.adopt([range(0, 1, 1), range(2, SLOT_COUNT - 2, 2), range(SLOT_COUNT - 1, SLOT_COUNT - 1, 1)]);
    owners.holdAllOf(nodeAt(1));
    expect(held).to.deep.equal([0, 1, SLOT_COUNT - 1].map((slot) => `${slot} for 1, owned by 1`));
  });

  it("knows nodes by where they are reached, and keeps the name that they were looked up under", () => {
    make({ "inside:1": { host: "outside", port: 11 } });
    const seed = pool.at({ host: "outside", port: 11, serverName: "seed.example" }) as ClusterNode;
    owners.adopt([{ from: 0, to: 0, master: { host: "inside", port: 1, zone: "eu" }, replicas: [] }]);
    expect(slots.ownerOf(0)).to.equal(seed);
    expect(seed.address).to.deep.equal({ host: "outside", port: 11, serverName: "seed.example", zone: "eu" });
    owners.adopt([
      { from: 0, to: 0, master: { host: "inside", port: 1, serverName: "told.example" }, replicas: [] },
    ]);
    expect(seed.address.serverName).to.equal("told.example");
    expect([seed.zone, seed.key]).to.deep.equal([undefined, "outside:11"]);
    expect(owners.nodeAt({ host: "inside", port: 1 })).to.equal(seed);
  });

  it("goes to the address that was named when the application cannot translate it", async () => {
    make(() => {
      throw new Error("no such host");
    });
    const uncaught = await uncaughtDuring(async () => {
      expect(owners.nodeAt(at(1))?.key).to.equal("h:1");
    });
    expect(uncaught).to.deep.equal(["no such host"]);
    for (const none of [null, undefined]) {
      make(none);
      expect(owners.nodeAt(at(1))?.key).to.equal("h:1");
    }
  });

  it("leaves out a shard whose master cannot be known, and a replica alone", () => {
    const known = new Map([1, 3].map((port) => [port, nodeAt(port)]));
    pool.at = ({ port }) => known.get(port) ?? null;
    owners.adopt([range(0, 0, 1, 9), range(1, 1, 9, 1), range(2, 2, 1, 3)]);
    expect([ownerOf(0), ownerOf(1), slots.table[0], slots.table[2]]).to.deep.equal([
      1,
      null,
      ["h:1"],
      ["h:1", "h:3"],
    ]);
    expect(owners.nodeAt(at(9))).to.equal(null);
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
          if (!Array.isArray(one)) owners.move(one.slot, nodeAt(one.to));
          else {
            const table = one.map(({ owner, replica }, slot) => range(slot, slot, owner, replica));
            expect(owners.adopt(table).moved).to.deep.equal(lost.map(({ slot }) => slot));
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
