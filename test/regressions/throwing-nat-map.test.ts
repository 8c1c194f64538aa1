/** A `natMap` that throws while a redirect was followed left the command unsettled for ever. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { outcomeOf } from "../support/outcome";
import { uncaughtDuring } from "../support/uncaught";

describe("a natMap that throws on a redirect", () => {
  it("is heard of, the address is taken as it is, and every command settles", async () => {
    const fake = await FakeCluster.start(2);
    const mine = new Error("mine");
    let isHostile = false;
    const cluster = new Cluster(fake.seeds, {
      natMap: () => {
        if (isHostile) throw mine;
        return null;
      },
    });
    try {
      const slot = calculateSlot("foo");
      fake.node(0).values.set("foo", "there");
      fake.node(1).script = ([name]) =>
        name === "get" ? new Error(`MOVED ${slot} ${fake.node(0).key}`) : undefined;
      expect(await cluster.set("foo", 1)).to.equal("OK");
      isHostile = true;
      const thrown = await uncaughtDuring(async () => {
        expect(await outcomeOf(cluster.get("foo"))).to.deep.equal(["fulfilled", "there"]);
      });
      expect(thrown).to.deep.equal(["mine"]);
    } finally {
      isHostile = false;
      await closeCluster(cluster);
      await fake.stop();
    }
  });
});
