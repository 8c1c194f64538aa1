/** Calls that concern every node of a real cluster: one command on all of them, and scans that can be resumed. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { codeOf, errorOf } from "../support/outcome";
import { serverKinds } from "../support/shared-servers";

const KEYS = 600;

async function fill(cluster: Cluster): Promise<Set<string>> {
  const keys = Array.from({ length: KEYS }, (_, i) => `scan:${i}`);
  const pipeline = cluster.pipeline();
  for (const key of keys) pipeline.set(key, "1");
  await pipeline.exec();
  return new Set(keys);
}

for (const kind of serverKinds()) {
  describe(`cluster: calls for all nodes, ${kind}`, () => {
    const fixture = new ClusterFixture(kind).install();

    it("a command reaches every node of its role, and the replies are by node", async () => {
      const cluster = fixture.connect();
      await fixture.untilReplicasAreListed();
      await untilClusterReady(cluster);
      await fill(cluster);
      const masters = (await fixture.cluster.masters()).map(({ port }) => `127.0.0.1:${port}`).sort();
      const sizes = await cluster.onAll("dbsize");
      expect([...sizes.replies.keys()].sort()).to.deep.equal(masters);
      expect(sizes.merged()).to.equal(KEYS);
      expect(sizes.errors.size).to.equal(0);
      const replicas = await cluster.onAll("PING", [], { nodes: "replicas" });
      expect(replicas.replies.size).to.equal(3);
      expect([...replicas.replies.keys()].some((name) => masters.includes(name))).to.equal(false);
      const all = await cluster.onAll("ping", ["hello"], { nodes: "all", buffers: true });
      expect([...all.replies.values()].map(String)).to.deep.equal(Array(6).fill("hello"));
      expect((await cluster.onAll("flushall")).merged()).to.equal("OK");
      expect((await cluster.onAll("dbsize")).merged()).to.equal(0);
    });

    it("a command reaches a master that the client has not used yet", async () => {
      const cluster = fixture.connect();
      await untilClusterReady(cluster);
      await fill(cluster);
      const slot = calculateSlot("scan:0");
      const owner = await fixture.cluster.ownerOf(slot);
      const added = await fixture.cluster.addNode();
      try {
        await fixture.cluster.untilHealthy();
        await fixture.cluster.moveSlot(slot, added);
        const sizes = await cluster.onAll("dbsize");
        expect([...sizes.replies.keys()]).to.include(`127.0.0.1:${added.port}`);
        expect(sizes.merged()).to.equal(KEYS);
        await fixture.cluster.moveSlot(slot, owner);
      } finally {
        await fixture.cluster.removeNode(added);
      }
    });

    it("errors are by node, and hide no reply", async () => {
      const cluster = fixture.connect();
      await fixture.untilReplicasAreListed();
      await untilClusterReady(cluster);
      const [first] = await fixture.cluster.masters();
      if (first === undefined) throw new Error("no master");
      await first.command("CONFIG", "SET", "maxmemory-samples", "7");
      const read = await cluster.onAll("config", ["GET", "maxmemory-samples"]);
      expect([...read.replies].filter(([, reply]) => String(reply).includes("7"))).to.have.length(1);
      await first.command("CONFIG", "SET", "maxmemory-samples", "5");
      const refused = await cluster.onAll("set", ["key", "value"], { nodes: "all" });
      expect(refused.replies.size).to.equal(1);
      expect(refused.errors.size).to.equal(5);
      for (const error of refused.errors.values()) expect(error.message).to.match(/^MOVED /);
      expect(() => refused.merged()).to.throw("No rule combines the replies");
      expect(await codeOf(cluster.onAll("ping", [], { nodes: "slaves" as "all" }))).to.equal(
        "INVALID_OPTION",
      );
      const mistyped = { node: "all" } as object;
      expect(await codeOf(cluster.onAll("ping", [], mistyped))).to.equal("INVALID_OPTION");
    });

    it("a node that does not answer fails alone, within the limit", async () => {
      const cluster = fixture.connect();
      await untilClusterReady(cluster);
      const [frozen] = await fixture.cluster.masters();
      if (frozen === undefined) throw new Error("no master");
      await frozen.command("CLIENT", "PAUSE", "600", "ALL");
      const { replies, errors } = await cluster.onAll("dbsize", [], { timeout: 100 });
      expect(replies.size).to.equal(2);
      expect([...errors.keys()]).to.deep.equal([`127.0.0.1:${frozen.port}`]);
      expect([...errors.values()][0]).to.include({ code: "COMMAND_TIMEOUT" });
      await frozen.command("PING");
    });

    it("a scan goes on in another client, and finds every key while slots move", async () => {
      const owner = fixture.connect();
      const keys = await fill(owner);
      const found = new Set<string>();
      const slot = calculateSlot("scan:0");
      let cursor = "0";
      let pages = 0;
      do {
        // Each page is read by a client that knows nothing but the cursor.
        const cluster = fixture.connect();
        const [next, page] = await cluster.scanPage(cursor, { match: "scan:*", count: 60 });
        cluster.disconnect();
        for (const key of page) found.add(key);
        cursor = next;
        // A slot that never stays for a whole scan of its node is never done.
        if (++pages % 3 === 0 && pages <= 12) {
          const from = await fixture.cluster.ownerOf(slot);
          const others = (await fixture.cluster.masters()).filter((node) => node !== from);
          const to = others[pages % others.length];
          if (to !== undefined) await fixture.cluster.moveSlot(slot, to);
        }
      } while (cursor !== "0");
      expect(pages).to.be.greaterThan(5);
      expect(found).to.deep.equal(keys);
      expect((await errorOf(owner.scanPage("17")))?.message).to.include("not a cursor of this scan");
    });

    it("a scan finds every key when its master fails over", async () => {
      const cluster = fixture.connect();
      const keys = await fill(cluster);
      const found = new Set<string>();
      let [cursor, page] = await cluster.scanPage("0", { match: "scan:*", count: 20 });
      for (const key of page) found.add(key);
      // "1|cursor|node|slots|done"
      const name = cursor.split("|")[2];
      const master = fixture.cluster.nodes.find(({ port }) => name === `127.0.0.1:${port}`);
      if (master === undefined) throw new Error(`The cursor names no node: ${cursor}`);
      await waitUntil(async () => String(await master.command("WAIT", "1", "1000")) !== "0", {
        timeoutMs: 5000,
        what: "a replica that has everything",
      });
      await fixture.cluster.failover(master);
      while (cursor !== "0") {
        [cursor, page] = await cluster.scanPage(cursor, { match: "scan:*", count: 20 });
        for (const key of page) found.add(key);
      }
      expect(found).to.deep.equal(keys);
    });
  });
}
