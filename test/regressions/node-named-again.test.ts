/**
 * A node that a table leaves out is let go once it has answered what it owes. Named by a MOVED
 * meanwhile, it is sent to over the connection that it has: it got a second one, beside the first.
 */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { waitUntil } from "../../scripts/servers/wait-until";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { encodeReply, type FakeReply, NO_REPLY, status } from "../support/fake-server";

describe("a node that is left out and named again", () => {
  const clients = new ClusterFixture();
  let fake: FakeCluster;

  beforeEach(async () => {
    fake = await FakeCluster.start(2);
  });
  afterEach(async () => {
    await clients.closeClients();
    await fake.stop();
  });

  it("keeps its connection", async () => {
    const [first, second] = [fake.node(0), fake.node(1)];
    const cluster = clients.connectTo(fake.seeds, {});
    await untilClusterReady(cluster);
    // The key of the second half is asked for and not answered yet.
    const [key, moving] = ["foo", "bar"];
    expect(calculateSlot(key)).to.be.greaterThan(8192);
    expect(calculateSlot(moving)).to.be.lessThan(8192);
    // The connection is ready, so its handshake is answered before the held replies.
    await cluster.get(key);
    const asked = second.received("get").length;
    /** Replies of the second node, held back in their order until it is sent the SET. */
    const held: FakeReply[] = [];
    let opened = 0;
    second.script = ([name = "", word = ""], { socket }) => {
      if (name === "info") opened++;
      if (name === "get") held.push("late");
      else if (held.length === 0) return undefined;
      else if (name === "cluster")
        held.push(word.toLowerCase() === "slots" ? fake.slots() : "cluster_state:ok\r\n");
      else if (name === "set") {
        for (const reply of [...held, status("OK")]) socket.write(encodeReply(reply));
      } else return undefined;
      return NO_REPLY;
    };
    const late = cluster.get(key);
    await waitUntil(() => Promise.resolve(second.received("get").length === asked + 1), {
      timeoutMs: 5000,
      what: "the question at the second node",
    });
    const connectionsBefore = opened;
    fake.slots = () => [[0, 16_383, [first.server.host, first.server.port, "id0"]]];
    await cluster.refreshSlotsCache();
    expect(cluster.nodes().map(({ options }) => options.port)).to.deep.equal([first.server.port]);
    first.script = ([name = "", word]) =>
      name === "set" && word === moving
        ? new Error(`MOVED ${calculateSlot(moving)} ${second.key}`)
        : undefined;
    expect(await cluster.set(moving, "x")).to.equal("OK");
    expect(opened).to.equal(connectionsBefore);
    expect(second.server.openConnections).to.equal(1);
    expect(await late).to.equal("late");
  });
});
