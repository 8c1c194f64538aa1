/** Leaving a cluster: `quit({ timeout })`, `Symbol.asyncDispose`, and what is left behind. */

import { once } from "node:events";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";

const DRAINED = { isDrained: true, unanswered: 0, unsent: 0 };

describe("cluster: leaving", () => {
  describe("a real one", () => {
    const fixture = new ClusterFixture();
    fixture.install();

    for (const enableAutoPipelining of [false, true]) {
      it(`quit({ timeout }) drains what was issued${enableAutoPipelining ? ", auto-pipelined" : ""}`, async () => {
        const cluster = fixture.connect({ enableAutoPipelining });
        await untilClusterReady(cluster);
        const keys = Array.from({ length: 500 }, (_, i) => `leaving:${i}`);
        const work = Promise.all([
          ...keys.map((key) => cluster.incr(key)),
          cluster.blpop("nothing", 0.1),
          cluster.multi().incr("{t}1").incr("{t}2").exec(),
        ]);
        const ended = once(cluster, "end");
        expect(await cluster.quit({ timeout: 10_000 })).to.deep.equal(DRAINED);
        const outcomes = await work;
        expect(outcomes).to.have.length(502);
        expect(outcomes[500]).to.equal(null);
        await ended;
        await fixture.flush();
      });
    }

    it("quit({ timeout }) follows redirects while it drains", async () => {
      const cluster = fixture.connect();
      await untilClusterReady(cluster);
      const slot = calculateSlot("moved");
      const owner = await fixture.cluster.ownerOf(slot);
      const other = (await fixture.cluster.masters()).find((one) => one !== owner) as ServerProcess;
      await fixture.cluster.moveSlot(slot, other);
      const value = cluster.set("moved", "there", "GET");
      expect(await cluster.quit({ timeout: 10_000 })).to.deep.equal(DRAINED);
      expect(await value).to.equal(null);
      await fixture.cluster.moveSlot(slot, owner);
    });

    it("await using quits", async () => {
      let cluster: Cluster;
      let work: Promise<unknown>;
      {
        await using used = fixture.connect();
        cluster = used;
        await untilClusterReady(used);
        work = Promise.all(["a", "b", "c"].map((key) => used.incr(key)));
      }
      expect(await work).to.deep.equal([1, 1, 1]);
      expect(cluster.status).to.be.oneOf(["disconnecting", "close", "end"]);
      await fixture.flush();
    });
  });

  describe("with something left", () => {
    const fixture = new FakeClusterFixture().install();
    let cluster: Cluster;
    beforeEach(() => {
      cluster = fixture.connect();
    });

    it("closes in any case and counts what was unanswered", async () => {
      await untilClusterReady(cluster);
      // The connections are ready, so nothing is sent and answered behind the reads.
      await Promise.all(["foo", "bar"].map((key) => cluster.get(key)));
      for (const node of fixture.fake.nodes)
        node.script = ([name]) => (name === "get" ? NO_REPLY : undefined);
      const work = ["foo", "bar"].map((key) =>
        cluster.get(key).catch((error: { code: string }) => error.code),
      );
      const ended = once(cluster, "end");
      const report = await cluster.quit({ timeout: 100 });
      expect(report).to.deep.equal({ isDrained: false, unanswered: 2, unsent: 0 });
      expect(await Promise.all(work)).to.deep.equal(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
      await ended;
    });

    it("counts what waits to be sent again, takes nothing new, and has a callback form", async () => {
      await untilClusterReady(cluster);
      for (const node of fixture.fake.nodes) {
        node.script = ([name]) => (name === "get" ? new Error("CLUSTERDOWN The cluster is down") : undefined);
      }
      const work = cluster.get("foo").catch((error: Error) => error.name);
      const heard = new Promise((resolve) => {
        void cluster.quit({ timeout: 50 }, (error, report) => resolve([error, report]));
      });
      const late = await cluster.set("foo", 1).catch((error: { code: string }) => error.code);
      expect(await heard).to.deep.equal([null, { isDrained: false, unanswered: 0, unsent: 1 }]);
      expect(await work).to.be.a("string");
      expect(late).to.equal("CONNECTION_CLOSED");
      expect(fixture.fake.nodes.flatMap((node) => node.received("set"))).to.deep.equal([]);
    });

    it("counts a written command once, as one that may have run, when its node is gone", async () => {
      await untilClusterReady(cluster);
      const asked = new Promise<FakeNode>((resolve) => {
        for (const node of fixture.fake.nodes) {
          node.script = ([name]) => {
            if (name === "get") resolve(node);
            return name === "get" ? NO_REPLY : undefined;
          };
        }
      });
      const work = cluster.get("foo").catch((error: { code: string }) => error.code);
      await (await asked).server.stop();
      const report = await cluster.quit({ timeout: 200 });
      expect(report).to.deep.equal({ isDrained: false, unanswered: 1, unsent: 0 });
      expect(await work).to.equal("OUTCOME_UNKNOWN");
    });

    it("does not wait for commands whose callers have given up, nor count them", async () => {
      await untilClusterReady(cluster);
      for (const node of fixture.fake.nodes) {
        node.script = ([name]) => (name === "get" ? new Error("CLUSTERDOWN The cluster is down") : undefined);
      }
      const impatient = cluster.with({ timeout: 20 });
      const failure = await impatient.get("foo").catch((error: { code: string }) => error.code);
      expect(failure).to.equal("COMMAND_TIMEOUT");
      expect(await cluster.quit({ timeout: 10_000 })).to.deep.equal(DRAINED);
    });

    it("of a client that has never connected is over at once", async () => {
      const lazy = new Cluster(fixture.fake.seeds, { lazyConnect: true });
      expect(await lazy.quit({ timeout: 10_000 })).to.deep.equal(DRAINED);
      expect(lazy.status).to.equal("end");
    });

    it("waits for a client that is still connecting", async () => {
      const value = cluster.set("foo", 1);
      expect(await cluster.quit({ timeout: 10_000 })).to.deep.equal(DRAINED);
      expect(await value).to.equal("OK");
    });
  });
});
