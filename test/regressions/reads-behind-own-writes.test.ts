/** `readYourWrites`: reads that a replica answered although it could miss an acknowledged write of the client. */

import { once } from "node:events";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture, KEY, SLOT } from "../support/fake-cluster-fixture";
import { type FakeReply, FakeServer, status } from "../support/fake-server";
import { closeClient } from "../support/matrix";

const LONG_MS = 60_000;
const WINDOW_MS = 100;
/** The primary takes over from a replica within a second. */
const PAUSE_MS = 1100;

/** Nothing else of this process runs in that time. */
function pause(durationMs: number): void {
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs);
}

describe("reads behind own writes", () => {
  it("go to the primary after a pause of the process, until a replica has told its state again", async () => {
    let state = "connected";
    const primary = await FakeServer.start(([name]) => {
      if (name === "set") return status("OK");
      return name === "get" ? "new" : undefined;
    });
    const replica = await FakeServer.start(([name]) => {
      if (name === "role") return ["slave", primary.host, primary.port, state, 0];
      return name === "get" ? "old" : undefined;
    });
    const { host, port } = primary;
    const replicas = [{ host: replica.host, port: replica.port }];
    const redis = new Redis({ host, port, replicas, readYourWrites: WINDOW_MS });
    try {
      const isAtReplica = async (): Promise<boolean> => (await redis.get("key")) === "old";
      await waitUntil(isAtReplica, { timeoutMs: 5000, what: "a read at the replica" });
      await redis.set("key", "new");
      state = "connect";
      pause(PAUSE_MS);
      expect(await redis.get("key")).to.equal("new");
      state = "connected";
      await waitUntil(isAtReplica, { timeoutMs: 5000, what: "a read at the replica again" });
    } finally {
      await closeClient(redis);
      await Promise.all([primary.stop(), replica.stop()]);
    }
  });

  it("go to a new primary until it has reported its replicas", async () => {
    const replies = (name: string): ((words: string[]) => FakeReply | undefined) => {
      return ([command]) => {
        if (command === "get") return name;
        return command === "role" ? ["slave", "127.0.0.1", 1, "connected", 0] : undefined;
      };
    };
    const former = await FakeServer.start(replies("former"));
    const next = await FakeServer.start(replies("next"));
    const master = ({ host, port }: FakeServer): FakeReply => ["master", 0, [[host, String(port), "0"]]];
    let role: FakeReply = master(former);
    const primary = await FakeServer.start(([name]) =>
      name === "role" ? role : replies("primary")([name ?? ""]),
    );
    const redis = new Redis({ host: primary.host, port: primary.port, replicas: true, readYourWrites: 0 });
    redis.on("error", () => {});
    const isAt = (server: string) => async (): Promise<boolean> => (await redis.get("key")) === server;
    try {
      await waitUntil(isAt("former"), { timeoutMs: 5000, what: "a read at the replica" });
      // The server behind the address is another one, which is not promoted yet.
      role = ["slave", former.host, former.port, "connected", 0];
      primary.dropConnections();
      await once(redis, "ready");
      const asked = (): number => former.received.filter(([name]) => name === "get").length;
      const askedBefore = asked();
      expect(await redis.get("key")).to.equal("primary");
      role = master(next);
      await waitUntil(isAt("next"), { timeoutMs: 5000, what: "a read at the replica of the new primary" });
      expect(asked()).to.equal(askedBefore);
    } finally {
      await closeClient(redis);
      await Promise.all([former, next, primary].map((server) => server.stop()));
    }
  });

  describe("on a cluster", () => {
    const fixture = new FakeClusterFixture().install();

    beforeEach(() => {
      const [master, replica] = fixture.fake.nodes.map(({ server }) => [server.host, server.port]);
      fixture.fake.slots = () => [[0, 16_383, [...(master ?? []), "m"], [...(replica ?? []), "r"]]];
      fixture.fake.nodes.forEach((node, index) => {
        node.script = ([name]) => (name === "dbsize" || name === "get" ? `node ${index}` : undefined);
      });
    });

    it("without keys go to a master, also beside a read at a replica", async () => {
      const cluster = fixture.connect({ scaleReads: "replica", readYourWrites: LONG_MS });
      await untilClusterReady(cluster);
      await cluster.set("written", "1");
      const rows = await cluster.pipeline().get("other").dbsize().exec();
      expect(rows?.map(([, reply]) => reply)).to.deep.equal(["node 1", "node 0"]);
      const beside = await cluster.with({ readFrom: "replica" }).pipeline().get("other").dbsize().exec();
      expect(beside?.map(([, reply]) => reply)).to.deep.equal(["node 1", "node 1"]);
    });

    describe("with a third node", () => {
      let target: FakeServer;

      beforeEach(async () => {
        target = await FakeServer.start(([name]) => (name === "get" ? "target" : status("OK")));
      });
      afterEach(async () => {
        await fixture.closeClients();
        await target.stop();
      });

      /** The third node is the master of the replica, which still replies. */
      const moveTo = ({ host, port }: FakeServer): void => {
        const [, replica] = fixture.fake.nodes;
        const { server } = replica as FakeNode;
        fixture.fake.slots = () => [[0, 16_383, [host, port, "t"], [server.host, server.port, "r"]]];
      };

      it("of a slot that is moving go to its master", async () => {
        const [master] = fixture.fake.nodes as [FakeNode];
        const ask = new Error(`ASK ${SLOT} ${target.host}:${target.port}`);
        master.script = ([name]) => (name === "get" || name === "set" ? ask : undefined);
        const cluster = fixture.connect({ scaleReads: "replica", readYourWrites: WINDOW_MS });
        await untilClusterReady(cluster);
        expect(await cluster.get(KEY)).to.equal("node 1");
        await cluster.set(KEY, "new");
        pause(2 * WINDOW_MS);
        expect(await cluster.get(KEY)).to.equal("target");
        await cluster.refreshSlotsCache();
        expect(await cluster.with({ readFrom: "replica" }).get(KEY)).to.equal("target");
        moveTo(target);
        await cluster.refreshSlotsCache();
        pause(2 * WINDOW_MS);
        expect(await cluster.get(KEY)).to.equal("node 1");
      });

      it("of a slot that has moved go to its master: a replica receives all keys anew", async () => {
        const cluster = fixture.connect({ scaleReads: "replica", readYourWrites: LONG_MS });
        await untilClusterReady(cluster);
        expect(await cluster.get(KEY)).to.equal("node 1");
        moveTo(target);
        await cluster.refreshSlotsCache();
        expect(await cluster.get(KEY)).to.equal("target");
      });
    });

    it("a write without keys goes to a master, also behind a read at a replica", async () => {
      const cluster = fixture.connect({ scaleReads: "replica" });
      await untilClusterReady(cluster);
      await cluster.pipeline().dbsize().flushall().exec();
      expect(fixture.fake.nodes.map((node) => node.received("flushall").length)).to.deep.equal([1, 0]);
    });
  });
});
