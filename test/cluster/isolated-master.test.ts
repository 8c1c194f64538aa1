/**
 * A master that is cut off from its cluster but not from its clients: it goes on answering
 * CLUSTERDOWN, and holds its slots for its own, while a replica has taken over elsewhere. All
 * keys are of one slot, as those of a job queue are, so no other node is being talked to.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { BusCuts } from "../support/bus-cuts";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const COUNTER = "{jobs}:done";
const SLOT = calculateSlot(COUNTER);
const RECOVERY_MS = 8000;

describe("cluster: a master that is cut off and reachable", () => {
  const fixture = new ClusterFixture(ServerKind.Redis, { nodeTimeoutMs: 1000 });
  fixture.install();

  it("is left for its successor, and every call is answered", async () => {
    const { cluster } = fixture;
    const victim = await cluster.ownerOf(SLOT);
    const cuts = await BusCuts.between(cluster);
    let isRunning = true;
    try {
      const client: Cluster = fixture.connectTo([{ host: victim.host, port: victim.port }]);
      await untilClusterReady(client);
      let acknowledged = 0;
      let failed = 0;
      let lastSuccessAtMs = performance.now();
      let longestMs = 0;
      const work = (async () => {
        while (isRunning) {
          await client.incr(COUNTER).then(
            () => {
              acknowledged++;
              longestMs = Math.max(longestMs, performance.now() - lastSuccessAtMs);
              lastSuccessAtMs = performance.now();
            },
            () => failed++,
          );
          await sleep(5);
        }
      })();
      await sleep(300);
      await cuts.isolate(cluster, victim);
      const isolatedAtMs = performance.now();
      const others = cluster.nodes.filter((node) => node !== victim);
      const hasSuccessor = async (): Promise<boolean> => {
        const lines = await cluster.lines(others[0]);
        const owner = lines.find(({ slotRanges }) =>
          slotRanges.some(([from, to]) => from <= SLOT && SLOT <= to),
        );
        return owner !== undefined && owner.port !== victim.port;
      };
      await waitUntil(hasSuccessor, { timeoutMs: 30_000, what: "a successor" });
      const succeededAfterMs = performance.now() - isolatedAtMs;
      const before = acknowledged;
      await waitUntil(() => Promise.resolve(acknowledged > before + 20), {
        timeoutMs: RECOVERY_MS,
        what: "increments at the successor",
      });
      console.log(
        `      a successor after ${Math.round(succeededAfterMs)} ms, the longest pause ${Math.round(longestMs)} ms, ${acknowledged} done, ${failed} failed`,
      );
      isRunning = false;
      await work;
      expect(longestMs).to.be.lessThan(succeededAfterMs + 3000);
      expect(failed).to.equal(0);
    } finally {
      isRunning = false;
      await fixture.closeClients();
      cuts.heal();
      await cuts.stop();
    }
  }).timeout(60_000);
});
