/** Commands whose keys only the servers know, on real clusters. What no server here has is in module-commands.test.ts. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { serverKinds } from "../support/shared-servers";

const KEYS = Array.from({ length: 60 }, (_, i) => `key:${i}`);

describe("cluster: commands that real servers are asked about", () => {
  const config = { "rename-command": "GETSET MYSWAP" };
  const fixture = new ClusterFixture(ServerKind.Redis, { replicasPerMaster: 0, config }).install();

  it("COMMAND INFO tells where the key is: calls go to its node, not by redirects", async () => {
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    for (const key of KEYS) expect(await cluster.call("myswap", key, "first")).to.equal(null);
    expect(await Promise.all(KEYS.map((key) => cluster.get(key)))).to.deep.equal(KEYS.map(() => "first"));
    const rows = await cluster.pipeline(KEYS.map((key) => ["call", "MYSWAP", key, "second"])).exec();
    expect(rows).to.deep.equal(KEYS.map(() => [null, "first"]));
    // The first call may have gone before the answer.
    expect(cluster.stats().redirects.moved).to.be.at.most(1);
  });

  it("a name that no server has is their error", async () => {
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    const error = await cluster.call("no.such", "key").catch((failure: Error) => failure);
    expect(error).to.be.instanceOf(Error).with.property("message").that.includes("unknown command");
  });
});

if (serverKinds().includes(ServerKind.Valkey)) {
  describe("cluster: CLUSTERSCAN", () => {
    const fixture = new ClusterFixture(ServerKind.Valkey, { replicasPerMaster: 0 }).install();

    it("goes through the keys of all nodes by its cursors", async function () {
      const cluster = fixture.connect();
      await untilClusterReady(cluster);
      const [info] = (await cluster.call("COMMAND", "INFO", "CLUSTERSCAN")) as [unknown];
      if (info === null) this.skip();
      for (const key of KEYS) await cluster.set(key, "1");
      const found = new Set<string>();
      let cursor = "0";
      do {
        const [next, keys] = (await cluster.clusterscan(cursor, "COUNT", 1000)) as [string, string[]];
        cursor = next;
        for (const key of keys) found.add(key);
      } while (cursor !== "0");
      expect([...found].sort()).to.deep.equal([...KEYS].sort());
      // Each cursor names the slot that it goes on with.
      expect(cluster.stats().redirects.moved).to.equal(0);
    });
  });
}
