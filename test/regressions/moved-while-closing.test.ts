/**
 * Answers that arrive while a cluster client closes its connections must not open new ones: the
 * client would never be done with closing, and what is issued next would wait for ever.
 */

import { once } from "node:events";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";

describe("cluster: while it closes its connections", () => {
  const fixture = new FakeClusterFixture().install();
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = fixture.connect({ clusterRetryStrategy: () => 10 });
    await untilClusterReady(cluster);
  });

  /** The first GET is answered with the error, and `before` happens while the answer is under way. */
  function answerOnce(error: string, before: () => void): void {
    let isFirst = true;
    fixture.fake.node(OWNER).script = ([name]) => {
      if (name !== "get" || !isFirst) return undefined;
      isFirst = false;
      before();
      return new Error(error);
    };
  }

  for (const [title, target, value] of [
    ["MOVED to another node", OTHER, "at the owner"],
    ["MOVED to the node itself", OWNER, "at the owner"],
  ] as const) {
    it(`${title} is followed after the reconnect`, async () => {
      fixture.fake.node(OWNER).values.set(KEY, value);
      answerOnce(`MOVED ${SLOT} ${fixture.fake.node(target).key}`, () => cluster.disconnect(true));
      expect(await cluster.get(KEY)).to.equal(value);
      expect(cluster.status).to.equal("ready");
      expect(await cluster.set("bar", 1)).to.equal("OK");
    });
  }

  it("ASK is followed after the reconnect", async () => {
    fixture.fake.node(OWNER).values.set(KEY, "at the owner");
    answerOnce(`ASK ${SLOT} ${fixture.fake.node(OTHER).key}`, () => cluster.disconnect(true));
    expect(await cluster.get(KEY)).to.equal("at the owner");
    expect(cluster.status).to.equal("ready");
  });

  it("for good, MOVED ends the command", async () => {
    // Its connection is ready.
    await cluster.get(KEY);
    answerOnce(`MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`, () => cluster.disconnect());
    const ended = once(cluster, "end");
    const outcome = await cluster.get(KEY).catch((error: Error) => error.message);
    expect(outcome).to.match(/^MOVED /);
    await ended;
    expect(fixture.fake.nodes.flatMap((node) => node.received("get"))).to.have.length(2);
  });

  it("nodes are listed until the client has ended", async () => {
    const isAnswered = ([name, word]: string[]): boolean => name !== "get" && word !== "ID";
    for (const node of fixture.fake.nodes)
      node.script = (words) => (isAnswered(words) ? undefined : NO_REPLY);
    const seen = ["bar", KEY].map((key) =>
      cluster.get(key).catch(() => cluster.status === "end" || cluster.nodes().length > 0),
    );
    const arrived = (): boolean => fixture.fake.nodes.every((node) => node.received("get").length > 0);
    await waitUntil(() => Promise.resolve(arrived()), { timeoutMs: 5000, what: "both commands" });
    const ended = once(cluster, "end");
    cluster.disconnect();
    expect(await Promise.all(seen)).to.deep.equal([true, true]);
    await ended;
    expect(cluster.nodes()).to.deep.equal([]);
  });

  it("questions about the cluster open no connection", async () => {
    const ended = once(cluster, "end");
    const left = cluster.quit();
    const question = cluster.cluster("INFO").catch((error: Error) => error.message);
    const refresh = cluster.refreshSlotsCache().catch((error: Error) => error.message);
    expect(await left).to.equal("OK");
    await ended;
    expect(await question).to.be.a("string");
    expect(await refresh).to.be.a("string");
  });
});
