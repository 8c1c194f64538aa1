/** Locks on a real cluster, also while their slot moves. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { loseLock } from "../support/lost-lock";
import { codeOf } from "../support/outcome";

for (const kind of [ServerKind.Redis, ServerKind.Valkey]) {
  describe(`cluster locks on ${kind}`, () => {
    const fixture = new ClusterFixture(kind, { nodeTimeoutMs: 1000 }).install();
    afterEach(() => fixture.flush());

    it("have one holder at a time while their slot moves", async () => {
      const clients = Array.from({ length: 5 }, () => fixture.connect());
      await Promise.all(clients.map(untilClusterReady));
      const slot = calculateSlot("job");
      const owner = await fixture.cluster.ownerOf(slot);
      const other = (await fixture.cluster.masters()).find((one) => one !== owner) as ServerProcess;
      const fences: number[] = [];
      let holders = 0;
      const work = clients.map(async (cluster) => {
        for (let round = 0; round < 5; round++) {
          const lock = await cluster.lock("job", { wait: 30_000 });
          fences.push(lock.fence);
          expect(++holders).to.equal(1);
          if (fences.length === 10) await fixture.cluster.moveSlot(slot, other);
          holders--;
          await lock.release();
        }
      });
      await Promise.all(work);
      expect(fences).to.have.length(25);
      expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
      await fixture.cluster.moveSlot(slot, owner);
    });

    it("that a failover loses go to another client, with a larger number", async () => {
      const clients = [fixture.connect(), fixture.connect()] as const;
      await Promise.all(clients.map(untilClusterReady));
      const master = await fixture.cluster.ownerOf(calculateSlot("{a}kept"));
      const replicas = await fixture.cluster.replicas(master);
      await loseLock(clients, master, replicas, () =>
        waitUntil(async () => (await fixture.cluster.masters()).length === 3, {
          timeoutMs: 20_000,
          what: "the replica to take over",
        }),
      );
      await master.start();
      await fixture.cluster.untilHealthy();
    }).timeout(60_000);

    it("refuse a key whose braces are no hash tag", async () => {
      expect(await codeOf(fixture.connect().lock("a}b"))).to.equal("INVALID_OPTION");
    });
  });
}
