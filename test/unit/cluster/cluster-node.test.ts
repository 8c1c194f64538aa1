/** A node: what makes it silent, doubted and live, and when that is over. */

import { expect } from "chai";
import type { NodeClient } from "../../../src/cluster/cluster-node";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type NodeModule = typeof import("../../../src/cluster/cluster-node");

describe("ClusterNode", () => {
  let home: InVirtualTime<NodeModule>;

  before(() => {
    home = inVirtualTime(() => require("../../../src/cluster/cluster-node") as NodeModule);
  });

  function make(port = 7000, connection: { lastActivityMs: number } | null = null) {
    const node = new home.modules.ClusterNode({ host: "h", port, zone: "eu" });
    const link = { connection, isWritable: false };
    return { node, link, client: { link } as unknown as NodeClient };
  }

  it("is a master without a client, by the name of its address", () => {
    const { node } = make();
    expect([node.key, node.role, node.client, node.zone]).to.deep.equal(["h:7000", "master", null, "eu"]);
    expect([
      node.isSuspect,
      node.isDoubted,
      node.isLive,
      node.isDown,
      node.isLost,
      node.isRenewed,
    ]).to.deep.equal(Array(6).fill(false));
  });

  it("is suspected until the next byte comes, or it has no connection any more", () =>
    home.liveAlone(async () => {
      await home.pass(10);
      const connection = { lastActivityMs: home.time.nowMs };
      for (const change of ["byte", "connection", "client"]) {
        const { node, link, client } = make(1, connection);
        node.client = client;
        expect(node.isSuspect).to.equal(false);
        node.suspect();
        expect(node.isSuspect).to.equal(true);
        await home.pass(60_000);
        expect(node.isSuspect, "time alone changes nothing").to.equal(true);
        if (change === "byte") connection.lastActivityMs = home.time.nowMs;
        else if (change === "connection") link.connection = null;
        else node.client = null;
        expect(node.isSuspect, change).to.equal(false);
        // It stays so: what is found out then is about another connection.
        link.connection = { lastActivityMs: 0 };
        node.client = client;
        expect(node.isSuspect, change).to.equal(false);
      }
    }));

  it("is suspected by a byte of the same moment, not by a later one", () =>
    home.liveAlone(async () => {
      await home.pass(10);
      const { node, client, link } = make(1, { lastActivityMs: home.time.nowMs });
      node.client = client;
      node.suspect();
      expect(node.isSuspect).to.equal(true);
      link.connection = { lastActivityMs: home.time.nowMs + 1 };
      expect(node.isSuspect).to.equal(false);
    }));

  it("is unheard when it has owed replies for a second, and not while it owes none or is not connected", () =>
    home.liveAlone(async () => {
      await home.pass(10);
      const connection = { lastActivityMs: home.time.nowMs, queue: { inFlight: 1 } };
      const { node, link, client } = make(1, connection);
      expect(node.isUnheard, "no client").to.equal(false);
      node.client = client;
      await home.pass(1000);
      expect(node.isUnheard, "a second").to.equal(false);
      await home.pass(1);
      expect(node.isUnheard).to.equal(true);
      connection.queue.inFlight = 0;
      expect(node.isUnheard, "nothing is due").to.equal(false);
      connection.queue.inFlight = 1;
      connection.lastActivityMs = home.time.nowMs;
      expect(node.isUnheard, "a byte has come").to.equal(false);
      link.connection = null;
      expect(node.isUnheard, "no connection").to.equal(false);
    }));

  it("is doubted for five seconds", () =>
    home.liveAlone(async () => {
      await home.pass(10);
      const { node } = make();
      node.doubt();
      await home.pass(4999);
      expect(node.isDoubted).to.equal(true);
      await home.pass(1);
      expect(node.isDoubted).to.equal(false);
      node.doubt();
      expect(node.isDoubted).to.equal(true);
    }));

  it("is live while it can be written to", () => {
    const { node, link, client } = make();
    node.client = client;
    expect(node.isLive).to.equal(false);
    link.isWritable = true;
    expect(node.isLive).to.equal(true);
    node.client = null;
    expect(node.isLive).to.equal(false);
  });

  it("is of the same shard as others with the same nodes in the same order", () => {
    const { Shard } = home.modules;
    const [a, b, c] = [1, 2, 3].map((port) => make(port).node);
    if (a === undefined || b === undefined || c === undefined) throw new Error("three nodes");
    const shard = new Shard(a, [b, c]);
    expect(shard.keys).to.deep.equal(["h:1", "h:2", "h:3"]);
    expect(shard.isSameAs(new Shard(make(1).node, [b, c]))).to.equal(true);
    for (const other of [new Shard(a, [c, b]), new Shard(a, [b]), new Shard(b, [a, c]), new Shard(a, [])])
      expect([shard.isSameAs(other), other.isSameAs(shard)], other.keys.join()).to.deep.equal([false, false]);
  });
});
