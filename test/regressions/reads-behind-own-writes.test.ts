/** `readYourWrites`: reads that a replica answered although it could miss an acknowledged write of the client. */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture, KEY, SLOT } from "../support/fake-cluster-fixture";
import { FakeServer, status } from "../support/fake-server";
import { closeClient } from "../support/matrix";

const LONG_MS = 60_000;
const WINDOW_MS = 100;
/** The primary takes over from a replica within a second. */
const PAUSE_MS = 1100;

/** Nothing else of this process runs in that time. */
function pause(durationMs: number): void {
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs);
}

describe("reads behind own writes", () => {
  it("go to the primary after a pause of the process, until a replica has told its state again", async () => {
    let state = "connected";
    const primary = await FakeServer.start(([name]) => {
      if (name === "set") return status("OK");
      return name === "get" ? "new" : undefined;
    });
    const replica = await FakeServer.start(([name]) => {
      if (name === "role") return ["slave", primary.host, primary.port, state, 0];
      return name === "get" ? "old" : undefined;
    });
    const { host, port } = primary;
    const replicas = [{ host: replica.host, port: replica.port }];
    const redis = new Redis({ host, port, replicas, readYourWrites: WINDOW_MS });
    try {
      const isAtReplica = async (): Promise<boolean> => (await redis.get("key")) === "old";
      await waitUntil(isAtReplica, { timeoutMs: 5000, what: "a read at the replica" });
      await redis.set("key", "new");
      state = "connect";
      pause(PAUSE_MS);
      expect(await redis.get("key")).to.equal("new");
      state = "connected";
      await waitUntil(isAtReplica, { timeoutMs: 5000, what: "a read at the replica again" });
    } finally {
      await closeClient(redis);
      await Promise.all([primary.stop(), replica.stop()]);
    }
  });

  describe("on a cluster", () => {
    const fixture = new FakeClusterFixture().install();

    beforeEach(() => {
      const [master, replica] = fixture.fake.nodes.map(({ server }) => [server.host, server.port]);
      fixture.fake.slots = () => [[0, 16_383, [...(master ?? []), "m"], [...(replica ?? []), "r"]]];
      fixture.fake.nodes.forEach((node, index) => {
        node.script = ([name]) => (name === "dbsize" || name === "get" ? `node ${index}` : undefined);
      });
    });

    it("without keys go to a master, also beside a read at a replica", async () => {
      const cluster = fixture.connect({ scaleReads: "replica", readYourWrites: LONG_MS });
      await untilClusterReady(cluster);
      await cluster.set("written", "1");
      const rows = await cluster.pipeline().get("other").dbsize().exec();
      expect(rows?.map(([, reply]) => reply)).to.deep.equal(["node 1", "node 0"]);
      const beside = await cluster.with({ readFrom: "replica" }).pipeline().get("other").dbsize().exec();
      expect(beside?.map(([, reply]) => reply)).to.deep.equal(["node 1", "node 1"]);
    });

    describe("with a third node", () => {
      let target: FakeServer;

      beforeEach(async () => {
        target = await FakeServer.start(([name]) => (name === "get" ? "target" : status("OK")));
      });
      afterEach(async () => {
        await fixture.closeClients();
        await target.stop();
      });

      /** The third node is the master of the replica, which still replies. */
      const moveTo = ({ host, port }: FakeServer): void => {
        const [, replica] = fixture.fake.nodes;
        const { server } = replica as FakeNode;
        fixture.fake.slots = () => [[0, 16_383, [host, port, "t"], [server.host, server.port, "r"]]];
      };

      it("of a slot that is moving go to its master", async () => {
        const [master] = fixture.fake.nodes as [FakeNode];
        const ask = new Error(`ASK ${SLOT} ${target.host}:${target.port}`);
        master.script = ([name]) => (name === "get" || name === "set" ? ask : undefined);
        const cluster = fixture.connect({ scaleReads: "replica", readYourWrites: WINDOW_MS });
        await untilClusterReady(cluster);
        expect(await cluster.get(KEY)).to.equal("node 1");
        await cluster.set(KEY, "new");
        pause(2 * WINDOW_MS);
        expect(await cluster.get(KEY)).to.equal("target");
        await cluster.refreshSlotsCache();
        expect(await cluster.with({ readFrom: "replica" }).get(KEY)).to.equal("target");
        moveTo(target);
        await cluster.refreshSlotsCache();
        pause(2 * WINDOW_MS);
        expect(await cluster.get(KEY)).to.equal("node 1");
      });

      it("of a slot that has moved go to its master: a replica receives all keys anew", async () => {
        const cluster = fixture.connect({ scaleReads: "replica", readYourWrites: LONG_MS });
        await untilClusterReady(cluster);
        expect(await cluster.get(KEY)).to.equal("node 1");
        moveTo(target);
        await cluster.refreshSlotsCache();
        expect(await cluster.get(KEY)).to.equal("target");
      });
    });

    it("a write without keys goes to a master, also behind a read at a replica", async () => {
      const cluster = fixture.connect({ scaleReads: "replica" });
      await untilClusterReady(cluster);
      await cluster.pipeline().dbsize().flushall().exec();
      expect(fixture.fake.nodes.map((node) => node.received("flushall").length)).to.deep.equal([1, 0]);
    });
  });
});
