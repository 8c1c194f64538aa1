/** A transaction whose callers have given up before anything of it was written does not run later. */

import { expect } from "chai";
import { FakeClusterFixture, KEY } from "../support/fake-cluster-fixture";
import { NO_REPLY, status } from "../support/fake-server";
import { codeOf } from "../support/outcome";

describe("transactions that are given up while a cluster is not ready", () => {
  const fixture = new FakeClusterFixture().install();

  it("are not written when it is", async () => {
    const { nodes } = fixture.fake;
    for (const node of nodes) node.script = ([name]) => (name === "cluster" ? NO_REPLY : undefined);
    const cluster = fixture.connect({ commandTimeout: 40, slotsRefreshTimeout: 100 } as object);
    const given = cluster.multi().set(KEY, "unwanted").exec();
    expect(await codeOf(given)).to.match(/COMMAND_TIMEOUT|fulfilled/);
    for (const node of nodes) {
      node.script = ([name]) => (name === "multi" || name === "exec" ? status("OK") : undefined);
    }
    await new Promise((resolve) => cluster.once("ready", resolve));
    // Behind all that waited.
    await codeOf(cluster.get(KEY));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(nodes.flatMap((node) => node.received("multi"))).to.deep.equal([]);
  });
});
