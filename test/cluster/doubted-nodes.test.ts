/**
 * Nodes that are in doubt: one that says CLUSTERDOWN while others serve, and one whose connection
 * is lost while it is being redialled. Commands and refreshes lead away from it, and the budget of
 * a command counts what concerns its own slot.
 */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { Cluster } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { type FakeReply, FakeServer, NO_REPLY } from "../support/fake-server";
import { failureOf } from "../support/outcome";

const DOWN = new Error("CLUSTERDOWN The cluster is down");
const LAST_SLOT = 16_383;

describe("cluster: nodes in doubt", () => {
  const fixture = new FakeClusterFixture().install();
  const owner = (): FakeNode => fixture.fake.node(OWNER);
  const other = (): FakeNode => fixture.fake.node(OTHER);

  /** A table in which one node serves everything and the other one is its replica. */
  function tableOf(master: FakeNode, replica?: FakeNode): FakeReply {
    const entry = ({ server }: FakeNode): FakeReply[] => [server.host, server.port, `id${server.port}`];
    return [[0, LAST_SLOT, entry(master), ...(replica === undefined ? [] : [entry(replica)])]];
  }

  /** Lets a node tell a table of its own. */
  function tells(node: FakeNode, table: () => FakeReply): void {
    const before = node.script;
    node.script = (words, connection) =>
      words[0] === "cluster" && words[1]?.toLowerCase() === "slots" ? table() : before?.(words, connection);
  }

  async function connectTo(node: FakeNode, options: ClusterOptions = {}): Promise<Cluster> {
    const cluster = fixture.connect(options, [{ host: node.server.host, port: node.server.port }]);
    await untilClusterReady(cluster);
    return cluster;
  }

  describe("CLUSTERDOWN", () => {
    beforeEach(() => {
      owner().script = ([name]) => (name === "get" || name === "set" ? DOWN : undefined);
      other().values.set(KEY, "elsewhere");
    });

    it("a node that says it is not believed about slots while another one can be asked", async () => {
      tells(other(), () => tableOf(other()));
      const cluster = await connectTo(owner(), { maxRedirections: 6 });
      expect(await cluster.get(KEY)).to.equal("elsewhere");
      await waitUntil(() => Promise.resolve(cluster.slots[SLOT]?.[0] === other().key), {
        timeoutMs: 2000,
        what: "the table of the other node",
      });
    }).timeout(5000);

    it("the next try is at another node, and in order", async () => {
      const cluster = await connectTo(owner(), { maxRedirections: 3 });
      const replies = await Promise.all([cluster.get(KEY), cluster.set(KEY, "new"), cluster.get(KEY)]);
      expect(replies).to.deep.equal(["elsewhere", "OK", "new"]);
      expect(owner().received("get").length, "tries at the node that is down").to.be.at.most(2);
    }).timeout(5000);

    it("a transaction goes there as one", async () => {
      let isQueuing = false;
      other().script = ([name = ""]) => {
        if (name === "multi") isQueuing = true;
        if (name === "exec") isQueuing = false;
        if (name === "exec") return ["OK", "both"];
        return name === "multi" ? "OK" : isQueuing ? "QUEUED" : undefined;
      };
      owner().script = ([name = ""]) => {
        if (name === "exec") return new Error("EXECABORT Transaction discarded because of previous errors.");
        if (name === "get" || name === "set") return DOWN;
        return name === "multi" ? "OK" : undefined;
      };
      const cluster = await connectTo(owner(), { maxRedirections: 3 });
      const rows = await cluster.multi().set(KEY, "both").get(KEY).exec();
      expect(rows).to.deep.equal([
        [null, "OK"],
        [null, "both"],
      ]);
    }).timeout(5000);

    it("a try that leads back counts once, and the delays are kept", async () => {
      other().script = ([name]) => (name === "get" ? new Error(`MOVED ${SLOT} ${owner().key}`) : undefined);
      const cluster = await connectTo(owner(), { maxRedirections: 3, retryDelayOnClusterDown: 80 });
      const startedAtMs = performance.now();
      const error = await failureOf(cluster.get(KEY));
      expect(error).to.have.property("code", "TOO_MANY_REDIRECTIONS");
      expect(owner().received("get")).to.have.length(4);
      expect(performance.now() - startedAtMs).to.be.within(200, 900);
    }).timeout(5000);

    it("when all say it, they are asked all the same", async () => {
      let left = 8;
      for (const node of [owner(), other()]) {
        node.script = ([name]) => (name === "get" && left-- > 0 ? DOWN : undefined);
        node.values.set(KEY, "back");
      }
      const cluster = await connectTo(owner());
      expect(await cluster.get(KEY)).to.equal("back");
    }).timeout(10_000);
  });

  it("news of other slots neither hastens nor delays the tries of a command", async () => {
    for (const node of [owner(), other()]) node.script = ([name]) => (name === "get" ? DOWN : undefined);
    let refreshes = 0;
    const table = (): FakeReply => {
      const [first, second] = refreshes++ % 2 === 0 ? [owner(), other()] : [other(), owner()];
      const at = ({ server }: FakeNode): FakeReply => [server.host, server.port, `id${server.port}`];
      return [
        [0, 0, at(first)],
        [1, 1, at(second)],
        [2, LAST_SLOT, at(owner())],
      ];
    };
    for (const node of [owner(), other()]) tells(node, table);
    const cluster = await connectTo(owner(), { maxRedirections: 4, retryDelayOnClusterDown: 250 });
    const startedAtMs = performance.now();
    expect(await failureOf(cluster.get(KEY))).to.have.property("code", "TOO_MANY_REDIRECTIONS");
    expect(performance.now() - startedAtMs).to.be.within(900, 2500);
    expect(refreshes).to.be.greaterThan(3);
  }).timeout(6000);

  describe("a command that waits goes as soon as a table names an owner of its slot", () => {
    /** Without the table, the delay would outlast the test. */
    const patient: ClusterOptions = { retryDelayOnClusterDown: 60_000, retryDelayOnFailover: 60_000 };

    async function untilWaiting(cluster: Cluster, count: number): Promise<void> {
      await waitUntil(() => Promise.resolve(cluster.stats().queues.offline === count), {
        timeoutMs: 2000,
        what: "the commands that wait",
      });
    }

    beforeEach(() => {
      other().values.set(KEY, "taken over");
    });

    it("after CLUSTERDOWN", async () => {
      owner().script = ([name]) => (name === "get" || name === "set" ? DOWN : undefined);
      const cluster = await connectTo(owner(), patient);
      const waiting = [cluster.get(KEY), cluster.set(KEY, "later"), cluster.get(KEY)];
      await untilWaiting(cluster, 3);
      for (const node of [owner(), other()]) tells(node, () => tableOf(other()));
      await cluster.refreshSlotsCache();
      expect(await Promise.all(waiting)).to.deep.equal(["taken over", "OK", "later"]);
    }).timeout(5000);

    it("after its node was lost", async () => {
      const cluster = await connectTo(owner(), patient);
      await cluster.get("bar");
      owner().script = ([name], { socket }) => {
        if (name !== "get") return undefined;
        socket.destroy();
        return NO_REPLY;
      };
      const waiting = cluster.get(KEY);
      await untilWaiting(cluster, 1);
      for (const node of [owner(), other()]) tells(node, () => tableOf(other()));
      await cluster.refreshSlotsCache();
      expect(await waiting).to.equal("taken over");
    }).timeout(5000);
  });

  describe("a node that is lost and redialled", () => {
    const redialled: ClusterOptions = {
      clusterNodeRetryStrategy: () => 100,
      redisOptions: { maxRetriesPerRequest: null },
    };

    it("makes the cluster ask for slots; what waited for it goes to the new owner", async () => {
      const cluster = await connectTo(owner(), redialled);
      await cluster.set(KEY, "before");
      other().values.set(KEY, "taken over");
      fixture.fake.slots = () => tableOf(other());
      await owner().server.stop();
      expect(await cluster.get(KEY)).to.equal("taken over");
    }).timeout(5000);

    it("asks again until another one has taken over", async () => {
      const cluster = await connectTo(owner(), redialled);
      await cluster.set(KEY, "before");
      await cluster.get("bar");
      other().values.set(KEY, "taken over");
      await owner().server.stop();
      const waiting = [cluster.get(KEY), cluster.set(KEY, "later"), cluster.get(KEY)];
      setTimeout(() => {
        fixture.fake.slots = () => tableOf(other());
      }, 700);
      expect(await Promise.all(waiting)).to.deep.equal(["taken over", "OK", "later"]);
    }).timeout(6000);

    it("its commands go on when it has become a replica", async () => {
      const cluster = await connectTo(owner(), redialled);
      await cluster.set(KEY, "before");
      other().values.set(KEY, "taken over");
      await owner().server.stop();
      const waiting = cluster.get(KEY);
      fixture.fake.slots = () => tableOf(other(), owner());
      expect(await waiting).to.equal("taken over");
    }).timeout(5000);

    it("without an offline queue its commands are tried at another node", async () => {
      const cluster = await connectTo(owner(), { ...redialled, enableOfflineQueue: false });
      await cluster.set(KEY, "before");
      other().values.set(KEY, "elsewhere");
      await owner().server.stop();
      await waitUntil(
        () => Promise.resolve(cluster.nodes().some(({ status }) => status === "reconnecting")),
        {
          timeoutMs: 2000,
          what: "the loss to be noticed",
        },
      );
      expect(await cluster.get(KEY)).to.equal("elsewhere");
    }).timeout(5000);

    it("comes back itself and gets what waited, in order", async () => {
      const cluster = await connectTo(owner(), redialled);
      await cluster.set(KEY, "before");
      let isBack = false;
      const { port } = owner().server;
      await owner().server.stop();
      const waiting = [cluster.set(KEY, "1"), cluster.get(KEY)];
      setTimeout(() => {
        isBack = true;
        void reopen(port);
      }, 400);
      expect(await Promise.all(waiting)).to.deep.equal(["OK", "1"]);
      expect(isBack).to.equal(true);
    }).timeout(5000);

    /** The node listens again at its port. */
    async function reopen(port: number): Promise<void> {
      reopened.push(await FakeServer.start(owner().server.handler, port));
    }
    const reopened: FakeServer[] = [];
    afterEach(async () => {
      await fixture.closeClients();
      for (const server of reopened.splice(0)) await server.stop();
    });
  });
});
