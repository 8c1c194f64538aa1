/** Commands, pipelines and transactions of any keys on a real cluster, also while slots move. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const fixture = new ClusterFixture();

/** A slot's owner and another master. */
async function ownerAndOther(
  key: string,
): Promise<{ slot: number; owner: ServerProcess; other: ServerProcess }> {
  const slot = calculateSlot(key);
  const owner = await fixture.cluster.ownerOf(slot);
  const other = (await fixture.cluster.masters()).find((master) => master !== owner) as ServerProcess;
  return { slot, owner, other };
}

describe("cluster: routing", () => {
  fixture.install();

  beforeEach(() => fixture.flush());

  it("sends single commands to the owner of their slot", async () => {
    const cluster = fixture.connect();
    const keys = Array.from({ length: 100 }, (_, i) => `key:${i}`);
    await Promise.all(keys.map((key, i) => cluster.set(key, i)));
    expect(await Promise.all(keys.map((key) => cluster.get(key)))).to.deep.equal(keys.map((_, i) => `${i}`));
  });

  it("splits a pipeline of any keys and returns the rows in its order", async () => {
    const cluster = fixture.connect();
    const pipeline = cluster.pipeline();
    for (let i = 0; i < 1000; i++) pipeline.set(`key:${i}`, i);
    for (let i = 0; i < 1000; i++) pipeline.get(`key:${i}`);
    const rows = await pipeline.exec();
    expect(rows).to.have.length(2000);
    expect(rows?.slice(0, 1000).every(([error, result]) => error === null && result === "OK")).to.equal(true);
    expect(rows?.slice(1000)).to.deep.equal(Array.from({ length: 1000 }, (_, i) => [null, `${i}`]));
  });

  it("writes once to each node for a pipeline", async () => {
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    await Promise.all(Array.from({ length: 50 }, (_, i) => cluster.get(`warm:${i}`)));
    const writes = (): number[] => cluster.nodes("master").map((node) => node.stats().flushes.count);
    const before = writes();
    const pipeline = cluster.pipeline();
    for (let i = 0; i < 500; i++) pipeline.get(`key:${i}`);
    await pipeline.exec();
    expect(writes().map((count, i) => count - (before[i] as number))).to.deep.equal([1, 1, 1]);
  });

  it("leaves a command with keys of two slots to the server, and its neighbours alone", async () => {
    const cluster = fixture.connect();
    const rows = await cluster.pipeline().set("a", 1).mget("a", "b").get("a").exec();
    expect(rows?.[0]).to.deep.equal([null, "OK"]);
    expect(rows?.[1]?.[0])
      .to.have.property("message")
      .that.matches(/^CROSSSLOT /);
    expect(rows?.[2]).to.deep.equal([null, "1"]);
  });

  it("sends the commands of a pipeline that have no key to one node", async () => {
    const cluster = fixture.connect();
    const rows = await cluster.pipeline().call("cluster", "myid").set("x", 1).call("cluster", "myid").exec();
    expect(rows?.[0]?.[1]).to.be.a("string").and.to.equal(rows?.[2]?.[1]);
  });

  describe("transactions", () => {
    it("run as a unit on the owner of their slot", async () => {
      const cluster = fixture.connect();
      expect(await cluster.multi().set("{t}1", 1).incr("{t}1").get("{t}1").exec()).to.deep.equal([
        [null, "OK"],
        [null, 2],
        [null, "2"],
      ]);
    });

    it("are refused before anything is sent when their keys lie in two slots", async () => {
      const cluster = fixture.connect();
      const error = await cluster
        .multi()
        .set("a", 1)
        .set("b", 2)
        .exec()
        .then(
          () => null,
          (reason: Error) => reason,
        );
      expect(error).to.have.property("name", "CrossSlotTransactionError");
      expect(error?.message).to.contain('"a"').and.to.contain('"b"');
      expect(await cluster.get("a")).to.equal(null);
    });

    it("inside a pipeline harm no neighbour, and the other way round", async () => {
      const cluster = fixture.connect();
      const rows = await cluster
        .pipeline()
        .set("n1", 1)
        .multi()
        .set("{t}1", 1)
        .get("{t}1")
        .exec()
        .multi()
        .set("a", 1)
        .set("b", 1)
        .exec()
        .get("n1")
        .incr("n2")
        .exec();
      expect(rows?.slice(0, 5)).to.deep.equal([
        [null, "OK"],
        [null, "OK"],
        [null, "QUEUED"],
        [null, "QUEUED"],
        [null, ["OK", "1"]],
      ]);
      for (const row of rows?.slice(5, 9) ?? []) {
        expect(row[0]).to.have.property("name", "CrossSlotTransactionError");
      }
      expect(rows?.slice(9)).to.deep.equal([
        [null, "1"],
        [null, 1],
      ]);
    });

    it("report a queueing error and the watch that broke", async () => {
      const cluster = fixture.connect();
      const error = await cluster
        .multi()
        .set("{t}1", 1)
        .call("set", "{t}1")
        .exec()
        .then(
          () => null,
          (reason: Error & { previousErrors?: Error[] }) => reason,
        );
      expect(error?.message).to.match(/^EXECABORT /);
      expect(error?.previousErrors).to.have.length(1);

      await cluster.set("{t}w", 1);
      await cluster.watch("{t}w");
      await fixture.connect().set("{t}w", 2);
      expect(await cluster.multi().set("{t}w", 3).exec()).to.equal(null);
    });

    it("cannot be opened by hand on a shared connection", async () => {
      const cluster = fixture.connect();
      for (const attempt of [() => cluster.multi({ pipeline: false }), () => cluster.call("MULTI")]) {
        const error = await attempt().then(
          () => null,
          (reason: Error) => reason,
        );
        expect(error).to.have.property("name", "OpenTransactionError");
      }
      expect(await Promise.all([cluster.set("a", 1), cluster.get("a")])).to.deep.equal(["OK", "1"]);
    });
  });

  describe("redirects", () => {
    it("ASK is followed for one command and changes nothing", async () => {
      const cluster = fixture.connect();
      await cluster.set("foo", "old");
      const { slot, owner, other } = await ownerAndOther("foo");
      const before = cluster.slots[slot];
      await fixture.cluster.beginMigration(slot, other);
      expect(await cluster.set("{foo}new", "1")).to.equal("OK");
      expect(await cluster.get("foo")).to.equal("old");
      expect(await cluster.pipeline().get("{foo}new").incr("{foo}new").get("foo").exec()).to.deep.equal([
        [null, "1"],
        [null, 2],
        [null, "old"],
      ]);
      expect(await cluster.multi().incr("{foo}new").exec()).to.deep.equal([[null, 3]]);
      expect(cluster.slots[slot]).to.deep.equal(before);
      await fixture.cluster.moveKeys(slot, owner, other);
      await fixture.cluster.endMigration(slot, other);
    });

    it("MOVED is followed by commands, pipelines and transactions", async () => {
      const cluster = fixture.connect({ slotsRefreshTimeout: 5000 });
      for (const key of ["one", "two", "three"]) {
        await cluster.set(`{${key}}`, 1);
        const { slot, other } = await ownerAndOther(key);
        await fixture.cluster.moveSlot(slot, other);
      }
      expect(await cluster.incr("{one}")).to.equal(2);
      expect(await cluster.pipeline().incr("{two}").incr("{two}").incr("{one}").exec()).to.deep.equal([
        [null, 2],
        [null, 3],
        [null, 3],
      ]);
      expect(await cluster.multi().incr("{three}").incr("{three}").exec()).to.deep.equal([
        [null, 2],
        [null, 3],
      ]);
    });

    it("TRYAGAIN waits until the keys are together", async () => {
      const cluster = fixture.connect();
      await cluster.mset("{both}a", 1, "{both}b", 2);
      const { slot, owner, other } = await ownerAndOther("both");
      await fixture.cluster.beginMigration(slot, other);
      await owner.command("MIGRATE", other.host, other.port, "{both}a", 0, 1000);
      const values = cluster.mget("{both}a", "{both}b");
      setTimeout(() => {
        void fixture.cluster
          .moveKeys(slot, owner, other)
          .then(() => fixture.cluster.endMigration(slot, other));
      }, 150);
      expect(await values).to.deep.equal(["1", "2"]);
    });
  });
});
