/** `cluster.stats()`: totals of the nodes, and redirects by what nodes said. */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { failureOf } from "../support/outcome";

async function until(condition: () => boolean): Promise<void> {
  await waitUntil(async () => condition(), { timeoutMs: 10_000, what: condition.toString() });
}

describe("cluster: stats", () => {
  const fixture = new FakeClusterFixture().install();

  it("are those of the nodes together, and count redirects by kind", async () => {
    const other = fixture.fake.node(OTHER);
    const answers = [
      `ASK ${SLOT} ${other.key}`,
      "TRYAGAIN Multiple keys request during rehashing of slot",
      "CLUSTERDOWN The cluster is down",
      "LOADING Redis is loading the dataset in memory",
      `MOVED ${SLOT} ${other.key}`,
    ];
    fixture.fake.node(OWNER).script = ([name, key]) =>
      name === "get" && key === KEY && answers.length > 0 ? new Error(answers.shift()) : undefined;
    const cluster = fixture.connect({ retryDelayOnTryAgain: 1, retryDelayOnClusterDown: 1 });
    await cluster.get("bar");
    while (answers.length > 0) await cluster.get(KEY);
    const { redirects, commands, nodes, queues, flushes } = cluster.stats();
    expect(redirects).to.deep.equal({ moved: 1, ask: 1, tryAgain: 1, clusterDown: 1, other: 1 });
    expect(commands.fulfilled).to.equal(commands.issued).and.to.be.above(1);
    expect(commands.failed).to.equal(0);
    expect(Object.keys(nodes)).to.have.members([fixture.fake.node(OWNER).key, other.key]);
    const parts = Object.values(nodes);
    expect(flushes.commands).to.equal(parts.reduce((sum, node) => sum + node.flushes.commands, 0));
    expect(new Set(Object.values(queues))).to.deep.equal(new Set([0]));
  });

  it("keep what nodes did that have left, so that no figure ever falls", async () => {
    const cluster = fixture.connect();
    await cluster.get("bar");
    await cluster.get(KEY);
    const { flushes, bytesWritten } = cluster.stats();
    cluster.disconnect();
    await until(() => cluster.status === "end");
    const after = cluster.stats();
    expect(after.nodes).to.deep.equal({});
    expect(after.flushes.commands).to.be.at.least(flushes.commands);
    expect(after.bytesWritten).to.be.at.least(bytesWritten);
    await failureOf(cluster.get("bar"));
    expect(cluster.stats().commands.errors).to.deep.equal({ CONNECTION_CLOSED: 1 });
  });
});
