/** Keyspace notifications of a real cluster: every master, failovers, moved slots, and nodes that send none. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster, KeyspaceEvents } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { codeOf, failureOf } from "../support/outcome";

/** Their slots are at three masters. */
const KEYS = ["a", "b", "c"];
const SETTING = "notify-keyspace-events";

for (const kind of [ServerKind.Redis, ServerKind.Valkey]) {
  describe(`cluster keyspaceEvents() on ${kind}`, () => {
    const fixture = new ClusterFixture(kind).install();
    const turn = (nodes: readonly ServerProcess[], flags: string): Promise<unknown> =>
      Promise.all(nodes.map((node) => node.command("CONFIG", "SET", SETTING, flags)));

    before(() => turn(fixture.cluster.nodes, "KEA"));
    afterEach(() => fixture.flush());

    async function subscribers(): Promise<number> {
      const counts = await Promise.all(fixture.cluster.nodes.map((node) => node.command("PUBSUB", "NUMPAT")));
      return counts.reduce<number>((sum, count) => sum + Number(count), 0);
    }

    async function open(cluster: Cluster): Promise<{ reader: KeyspaceEvents; take(): Promise<string> }> {
      const reader = cluster.keyspaceEvents({ events: "set", keys: "*" });
      await reader.ready;
      const take = async (): Promise<string> => {
        const { value, done } = await reader.next();
        if (done) throw new Error("The reader has ended");
        return value.kind === "gap" ? "gap" : value.key;
      };
      return { reader, take };
    }

    /** The next entries are those of these keys, once each. */
    async function expectEvents(cluster: Cluster, take: () => Promise<string>): Promise<void> {
      await Promise.all([...KEYS, "last"].map((key) => cluster.set(key, 1)));
      const taken: string[] = [];
      while (taken.length <= KEYS.length) taken.push(await take());
      expect(taken).to.have.members([...KEYS, "last"]);
    }

    it("has the events of all masters, and shares their connections", async () => {
      const cluster = fixture.connect();
      const { reader, take } = await open(cluster);
      const { reader: second, take: takeSecond } = await open(cluster);
      expect(await subscribers()).to.equal(3);
      await expectEvents(cluster, take);
      const others = [];
      while (others.length <= KEYS.length) others.push(await takeSecond());
      await reader.close();
      expect(await subscribers()).to.equal(3);
      await second.close();
      await waitUntil(async () => (await subscribers()) === 0, { timeoutMs: 5000, what: "no subscriber" });
      const { reader: again, take: takeAgain } = await open(cluster);
      await expectEvents(cluster, takeAgain);
      await again.close();
    });

    it("follows a failover, with a gap and without repetitions", async () => {
      const cluster = fixture.connect();
      const { reader, take } = await open(cluster);
      const owner = await fixture.cluster.ownerOf(calculateSlot("a"));
      await fixture.cluster.failover(owner);
      expect(await take()).to.equal("gap");
      await expectEvents(cluster, take);
      expect(await subscribers()).to.equal(3);
      await reader.close();
    });

    it("follows a slot to another master without a gap", async () => {
      const cluster = fixture.connect();
      const { reader, take } = await open(cluster);
      const slot = calculateSlot("a");
      const from = await fixture.cluster.ownerOf(slot);
      const to = (await fixture.cluster.masters()).find((node) => node !== from) as ServerProcess;
      await fixture.cluster.moveSlot(slot, to);
      await expectEvents(cluster, take);
      await reader.close();
      await fixture.cluster.moveSlot(slot, from);
    });

    it("has a gap after lost connections", async () => {
      const cluster = fixture.connect();
      const { reader, take } = await open(cluster);
      for (const node of fixture.cluster.nodes) await node.command("CLIENT", "KILL", "TYPE", "pubsub");
      expect(await take()).to.equal("gap");
      await reader.close();
    });

    it("a refused pattern ends its own reader only, at once or after its permission was withdrawn", async () => {
      const user = { username: "reader", password: "secret" };
      const allow = (...keys: string[]): Promise<unknown> =>
        Promise.all(
          fixture.cluster.nodes.map((node) =>
            node.command(
              ...["ACL", "SETUSER", user.username, "on", `>${user.password}`, "+@all", "~*", "resetchannels"],
              ...keys.map((key) => `&__keyspace@0__:${key}`),
            ),
          ),
        );
      await allow("a*", "b*");
      const cluster = fixture.connect({ redisOptions: user });
      const [kept, lost, refused] = ["a*", "b*", "c*"].map((keys) => cluster.keyspaceEvents({ keys }));
      if (!kept || !lost || !refused) throw new Error("no readers");
      expect((await failureOf(refused.ready)).message).to.match(/^NOPERM/);
      await Promise.all([kept.ready, lost.ready]);
      // The server closes the connections whose subscriptions are no longer allowed.
      const end = failureOf(lost.next());
      await allow("a*");
      expect((await end).message).to.match(/^NOPERM/);
      await waitUntil(async () => (await subscribers()) === 3, { timeoutMs: 5000, what: "subscriptions" });
      await cluster.set("a", 1);
      // The masters may close their connections one after the other, with a gap for each.
      const kinds: unknown[] = [];
      for await (const { kind } of kept) {
        kinds.push(kind);
        if (kind === "event") break;
      }
      expect(new Set(kinds)).to.deep.equal(new Set(["gap", "event"]));
      await kept.close();
      await Promise.all(fixture.cluster.nodes.map((node) => node.command("ACL", "DELUSER", user.username)));
    });

    it("names the node that sends none, and ends with the client", async () => {
      const cluster = fixture.connect();
      const silent = await fixture.cluster.ownerOf(calculateSlot("b"));
      await turn([silent], "");
      const error = await failureOf(cluster.keyspaceEvents().ready);
      expect([error.code, error.message.includes(`:${silent.port} `)]).to.deep.equal([
        "KEYSPACE_EVENTS_OFF",
        true,
      ]);
      await turn([silent], "KEA");
      const reader = cluster.keyspaceEvents();
      await reader.ready;
      const end = reader.next();
      await cluster.quit();
      expect((await end).done).to.equal(true);
      expect(await codeOf(cluster.keyspaceEvents().ready)).not.to.equal("fulfilled");
    });
  });
}
