/** Connections of one's own to the nodes of a real cluster, also while slots move. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { codeOf } from "../support/outcome";

for (const kind of [ServerKind.Redis, ServerKind.Valkey]) {
  describe(`cluster leases on ${kind}`, () => {
    const fixture = new ClusterFixture(kind).install();
    afterEach(() => fixture.flush());

    it("go to the master of a key or a slot", async () => {
      const cluster = fixture.connect({ keyPrefix: "p:" });
      for (const key of ["a", "b", "c", "d"]) {
        await cluster.withConnection(
          async (own) => {
            await own.watch(key);
            expect(await own.multi().set(key, 1).exec()).to.deep.equal([[null, "OK"]]);
          },
          { key },
        );
        const slot = calculateSlot(`p:${key}`);
        expect(await cluster.withConnection((own) => own.get(key), { slot })).to.equal("1");
      }
    });

    it("need a key or a slot", async () => {
      const cluster = fixture.connect();
      for (const place of [{}, { slot: -1 }, { slot: 16384 }, { slot: 1.5 }]) {
        expect(await codeOf(cluster.lease(place))).to.equal("INVALID_OPTION");
      }
    });

    it("are not waited for after an abort, without a cluster", async () => {
      const cluster = new Cluster([{ host: "127.0.0.1", port: 1 }]);
      cluster.on("error", () => {});
      const controller = new AbortController();
      const waiting = codeOf(cluster.lease({ key: "k", signal: controller.signal }));
      controller.abort();
      expect(await waiting).to.equal("ABORTED_BY_SIGNAL");
      cluster.disconnect();
    });

    it("a transaction goes on where its slot goes", async () => {
      const cluster = fixture.connect();
      await untilClusterReady(cluster);
      const slot = calculateSlot("moved");
      const owner = await fixture.cluster.ownerOf(slot);
      const other = (await fixture.cluster.masters()).find((one) => one !== owner) as ServerProcess;
      await cluster.set("moved", 1);
      let calls = 0;
      const rows = await cluster.transaction("moved", async (own) => {
        if (++calls === 1) await fixture.cluster.moveSlot(slot, other);
        return own.multi().set("moved", Number(await own.get("moved")) + 1);
      });
      expect(rows).to.deep.equal([[null, "OK"]]);
      expect(calls).to.be.greaterThan(1);
      expect(await cluster.get("moved")).to.equal("2");
      await fixture.cluster.moveSlot(slot, owner);
    });

    it("end with the cluster: what was issued is answered by quit()", async () => {
      const ends: ((cluster: Cluster) => Promise<unknown>)[] = [
        (cluster) => cluster.quit(),
        (cluster) => cluster.quit({ timeout: 5000 }),
      ];
      for (const end of ends) {
        const cluster = fixture.connect();
        const own = await cluster.lease({ key: "k" });
        await own.ping();
        const issued = own.set("k", "issued");
        await end(cluster);
        expect(await issued).to.equal("OK");
        expect(await codeOf(own.get("k"))).to.equal("CONNECTION_CLOSED");
        expect(await codeOf(cluster.lease({ key: "k" }))).to.not.equal("fulfilled");
        await own.release();
      }
    });
  });
}
