/**
 * Redis 7.2 and 7.4 report a shard without its slots while a failed master precedes the promoted replica in the list of
 * its nodes. A cluster with `availabilityZone` reads the table of slots instead.
 */

import { expect } from "chai";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture } from "../support/fake-cluster-fixture";
import type { FakeReply } from "../support/fake-server";

describe("slots of promoted nodes", () => {
  const fixture = new FakeClusterFixture().install();

  it("come from CLUSTER SLOTS when CLUSTER SHARDS hides them", async () => {
    const [first, second] = fixture.fake.nodes.map(({ server: { port } }) => port);
    const master = (port: number | undefined, health: string): FakeReply => {
      return ["role", "master", "endpoint", "127.0.0.1", "port", port ?? 0, "health", health];
    };
    const shards: FakeReply = [
      ["slots", [0, 8191], "nodes", [master(first, "online")]],
      ["slots", [], "nodes", [master(1, "fail"), master(second, "online")]],
    ];
    for (const node of fixture.fake.nodes) {
      node.script = ([word, question]) =>
        word === "cluster" && question?.toUpperCase() === "SHARDS" ? shards : undefined;
    }
    const cluster = fixture.connect({ availabilityZone: "a" });
    await untilClusterReady(cluster);
    expect(cluster.slots[0]?.[0]).to.equal(`127.0.0.1:${first}`);
    expect(cluster.slots[16_383]?.[0]).to.equal(`127.0.0.1:${second}`);
  });
});
