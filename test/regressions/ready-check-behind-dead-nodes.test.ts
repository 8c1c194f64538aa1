/**
 * The ready check asked one node of the new table, and one that was dead failed the attempt. Start
 * nodes that are announced under other names are not among the nodes of the table, so that none
 * of these has a connection yet.
 */

import { expect } from "chai";
import { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";

describe("the ready check behind dead nodes", () => {
  it("asks on until one answers", async () => {
    const fake = await FakeCluster.start(2);
    const [seed, living] = [fake.node(0).server, fake.node(1).server];
    const dead = Array.from({ length: 8 }, (_, i) => [`127.20.0.${i + 1}`, 1, `id${i}`]);
    fake.slots = () => [[0, 16_383, [living.host, living.port, "id"], ...dead]];
    try {
      for (let round = 0; round < 5; round++) {
        const cluster = new Cluster([{ host: seed.host, port: seed.port }], {
          lazyConnect: true,
          clusterRetryStrategy: null,
        });
        cluster.on("error", () => {});
        await cluster.connect();
        expect(await cluster.set("foo", round)).to.equal("OK");
        await closeCluster(cluster);
      }
    } finally {
      await fake.stop();
    }
  });
});
