/** Classic and sharded subscriptions on a real cluster: they move when nodes go and slots move. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const fixture = new ClusterFixture();

/** Ports of the servers that have a connection of this name. */
async function portsNamed(name: string): Promise<number[]> {
  const ports: number[] = [];
  for (const node of fixture.cluster.nodes) {
    if (!node.isRunning) continue;
    const list = String(await node.command("CLIENT", "LIST"));
    if (list.includes(` name=${name} `)) ports.push(node.port);
  }
  return ports;
}

/** How many connections to all servers listen to a channel. */
async function listenersOf(channel: string): Promise<number> {
  let count = 0;
  for (const node of fixture.cluster.nodes) {
    const [, listeners] = (await node.command("PUBSUB", "NUMSUB", channel)) as [string, number];
    count += listeners;
  }
  return count;
}

async function received(messages: string[], count: number): Promise<void> {
  await waitUntil(() => Promise.resolve(messages.length >= count), { timeoutMs: 5000, what: "messages" });
}

function collect(cluster: Cluster, event: string): string[] {
  const messages: string[] = [];
  cluster.on(event, (...args: unknown[]) => messages.push(args.map(String).join(" ")));
  return messages;
}

for (const protocol of [2, 3] as const) {
  describe(`cluster: subscriptions, protocol ${protocol}`, () => {
    fixture.install();

    it("use one connection of their own and leave the others free", async () => {
      const cluster = fixture.connect({ redisOptions: { protocol, connectionName: "mine" } });
      const texts = collect(cluster, "message");
      const buffers = collect(cluster, "messageBuffer");
      const patterns = collect(cluster, "pmessage");
      expect(await cluster.subscribe("news", "weather")).to.equal(2);
      expect(await cluster.psubscribe("n*")).to.equal(3);
      expect(await cluster.set("key", "value")).to.equal("OK");
      await cluster.publish("news", "hello");
      await received(patterns, 1);
      expect({ texts, buffers, patterns }).to.deep.equal({
        texts: ["news hello"],
        buffers: ["news hello"],
        patterns: ["n* news hello"],
      });
      expect(await portsNamed("sluice-cluster(subscriber):mine")).to.have.length(1);
      expect(await cluster.unsubscribe("news", "weather")).to.equal(1);
      expect(await cluster.punsubscribe("n*")).to.equal(0);
    });

    it("move to another node when theirs goes, and say that messages may be missing", async () => {
      const cluster = fixture.connect({ redisOptions: { protocol } });
      await cluster.subscribe("news");
      const messages = collect(cluster, "message");
      const gaps: { channels: string[] }[] = [];
      cluster.on("gap", (gap) => gaps.push(gap));
      const [port] = await portsNamed("sluice-cluster(subscriber)");
      const node = fixture.cluster.nodes.find((one) => one.port === port) as ServerProcess;
      await node.command("CLIENT", "KILL", "TYPE", "pubsub");
      await waitUntil(() => Promise.resolve(gaps.length > 0), { timeoutMs: 5000, what: "the gap event" });
      expect(gaps[0]?.channels).to.deep.equal(["news"]);
      await waitUntil(async () => (await listenersOf("news")) === 1, { timeoutMs: 5000, what: "a listener" });
      await cluster.publish("news", "again");
      await received(messages, 1);
      expect(await portsNamed("sluice-cluster(subscriber)")).to.have.length(1);
    });

    it("to shard channels need the option, or the luck of the slot", async () => {
      const cluster = fixture.connect({ redisOptions: { protocol } });
      await untilClusterReady(cluster);
      const channels = ["a", "b", "c", "d", "e", "f"];
      const outcomes = await Promise.allSettled(channels.map((channel) => cluster.ssubscribe(channel)));
      const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
      expect(reasons.length).to.be.greaterThan(0);
      for (const reason of reasons) {
        expect(reason.message).to.match(/^Too many Cluster redirections\. Last error: ReplyError: MOVED /);
      }
    });

    describe("sharded", () => {
      it("live at the owner of their slot, one connection to each master", async () => {
        const cluster = fixture.connect({ shardedSubscribers: true, redisOptions: { protocol } });
        const texts = collect(cluster, "smessage");
        const channels = ["a", "b", "c", "d", "e", "f"];
        for (const channel of channels) expect(await cluster.ssubscribe(channel)).to.be.a("number");
        for (const channel of channels) await cluster.spublish(channel, `to ${channel}`);
        await received(texts, channels.length);
        expect([...texts].sort()).to.deep.equal(channels.map((channel) => `${channel} to ${channel}`));
        const owners = new Set<number>();
        for (const channel of channels) {
          owners.add((await fixture.cluster.ownerOf(calculateSlot(channel))).port);
        }
        expect((await portsNamed("sluice-cluster(ssubscriber)")).sort()).to.deep.equal([...owners].sort());
        expect(await cluster.sunsubscribe("a")).to.be.a("number");
        expect(await cluster.sunsubscribe()).to.equal(0);
      });

      it("refuse channels of two slots in one call", async () => {
        const cluster = fixture.connect({ shardedSubscribers: true, redisOptions: { protocol } });
        const error = await cluster.ssubscribe("a", "b").then(
          () => null,
          (reason: Error) => reason,
        );
        expect(error).to.include({
          name: "AbortError",
          message: "Possible CROSSSLOT error: All channels must hash to the same slot",
        });
        expect(await cluster.ssubscribe("{a}1", "{a}2")).to.equal(2);
      });

      it("follow their slot when it moves", async () => {
        const cluster = fixture.connect({ shardedSubscribers: true, redisOptions: { protocol } });
        const messages = collect(cluster, "smessage");
        const gaps: { shardChannels: string[] }[] = [];
        await cluster.ssubscribe("traveller");
        cluster.on("gap", (gap) => gaps.push(gap));
        const slot = calculateSlot("traveller");
        const owner = await fixture.cluster.ownerOf(slot);
        const other = (await fixture.cluster.masters()).find((master) => master !== owner) as ServerProcess;
        await fixture.cluster.moveSlot(slot, other);
        await waitUntil(() => Promise.resolve(gaps.length > 0), { timeoutMs: 5000, what: "the gap event" });
        expect(gaps[0]?.shardChannels).to.deep.equal(["traveller"]);
        await cluster.spublish("traveller", "there");
        await received(messages, 1);
        expect(messages).to.deep.equal(["traveller there"]);
        await fixture.cluster.moveSlot(slot, owner);
        await waitUntil(() => Promise.resolve(gaps.length > 1), { timeoutMs: 5000, what: "the second gap" });
        await cluster.spublish("traveller", "back");
        await received(messages, 2);
      });

      it("come back after their connection was lost", async () => {
        const cluster = fixture.connect({ shardedSubscribers: true, redisOptions: { protocol } });
        const messages = collect(cluster, "smessage");
        const events: string[] = [];
        for (const event of ["+subscriber", "-subscriber", "gap"])
          cluster.on(event, () => events.push(event));
        await cluster.ssubscribe("a");
        const owner = await fixture.cluster.ownerOf(calculateSlot("a"));
        await owner.command("CLIENT", "KILL", "TYPE", "pubsub");
        await waitUntil(() => Promise.resolve(events.includes("gap")), {
          timeoutMs: 5000,
          what: "the gap event",
        });
        await cluster.spublish("a", "1");
        await received(messages, 1);
        expect(events).to.deep.equal(["+subscriber", "-subscriber", "+subscriber", "gap"]);
      });
    });
  });
}
