/** Readers of messages of a real cluster: they follow failovers and moved slots, and a gap says what may be missing. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { MessageEntry, Messages } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";
import { failureOf } from "../support/outcome";

const fixture = new ClusterFixture();

async function listenersOf(channel: string, word = "NUMSUB"): Promise<number> {
  let count = 0;
  for (const node of fixture.cluster.nodes) {
    const [, listeners] = (await node.command("PUBSUB", word, channel)) as [string, number];
    count += listeners;
  }
  return count;
}

async function next(reader: Messages): Promise<MessageEntry> {
  const { value, done } = await reader.next();
  if (done) throw new Error("The reader has ended");
  return value;
}

/** A subscriber may reconnect to a node before that node has changed, and then again. */
async function firstAfterGaps(reader: Messages): Promise<MessageEntry> {
  for (;;) {
    const entry = await next(reader);
    if (entry.kind !== "gap") return entry;
  }
}

describe("cluster: readers of messages", () => {
  fixture.install();

  it("share a subscription, which moves with its node and ends with the last of them", async () => {
    const cluster = fixture.connect();
    const readers = [cluster.messages("news"), cluster.messages("news")] as const;
    await Promise.all(readers.map(({ ready }) => ready));
    expect(await listenersOf("news")).to.equal(1);
    await cluster.publish("news", "1");
    for (const reader of readers) expect(await next(reader)).to.include({ message: "1" });
    for (const node of fixture.cluster.nodes) await node.command("CLIENT", "KILL", "TYPE", "pubsub");
    for (const reader of readers) expect(await next(reader)).to.include({ kind: "gap", cause: "reconnect" });
    await cluster.publish("news", "2");
    for (const reader of readers) expect(await next(reader)).to.include({ message: "2" });
    await readers[0].close();
    expect(await listenersOf("news")).to.equal(1);
    await readers[1].close();
    await waitUntil(async () => (await listenersOf("news")) === 0, { timeoutMs: 5000, what: "no listener" });
  });

  it("end with the error when the servers refuse their name after a reconnect", async () => {
    const allow = async (...names: string[]): Promise<void> => {
      const rules = ["on", "nopass", "+@all", "~*", "resetchannels", ...names];
      for (const node of fixture.cluster.nodes) await node.command("ACL", "SETUSER", "reader", ...rules);
    };
    await allow("&closed", "&shard", "&open");
    const redisOptions = { username: "reader", password: "any" };
    const cluster = fixture.connect({ shardedSubscribers: true, redisOptions });
    const closed = [cluster.messages("closed"), cluster.messages("shard", { kind: "shard" })];
    const open = cluster.messages("open");
    await Promise.all([open, ...closed].map(({ ready }) => ready));
    await allow("&open");
    for (const reader of closed) {
      const error = await failureOf(firstAfterGaps(reader));
      expect(error.message).to.match(/^NOPERM /);
      expect(await reader.next()).to.deep.equal({ value: undefined, done: true });
    }
    expect(await next(open)).to.include({ kind: "gap", cause: "reconnect" });
    await fixture.connect().publish("open", "after");
    expect(await firstAfterGaps(open)).to.include({ message: "after" });
    cluster.disconnect();
    for (const node of fixture.cluster.nodes) await node.command("ACL", "DELUSER", "reader");
  });

  it("of shard channels follow their slots", async () => {
    const cluster = fixture.connect({ shardedSubscribers: true });
    const channels = ["a", "b", "c"];
    const reader = cluster.messages(channels, { kind: "shard" });
    await reader.ready;
    for (const channel of channels) {
      await cluster.spublish(channel, `to ${channel}`);
      expect(await next(reader)).to.include({ channel, message: `to ${channel}` });
    }
    const slot = calculateSlot("a");
    const from = await fixture.cluster.ownerOf(slot);
    const to = (await fixture.cluster.masters()).find((node) => node !== from);
    if (to === undefined) throw new Error("The cluster has one master");
    await fixture.cluster.moveSlot(slot, to);
    expect(await next(reader)).to.include({ kind: "gap", cause: "reconnect" });
    await cluster.spublish("a", "moved");
    expect(await next(reader)).to.include({ channel: "a", message: "moved" });
    await reader.close();
    await waitUntil(async () => (await listenersOf("a", "SHARDNUMSUB")) === 0, {
      timeoutMs: 5000,
      what: "no listener",
    });
  });
});
