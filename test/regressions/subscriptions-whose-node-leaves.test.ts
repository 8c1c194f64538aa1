/**
 * Subscribing and unsubscribing while the node that serves it leaves or changes its office: every
 * call settles, and what is subscribed in the end is what was asked for last.
 */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { Cluster } from "../../src/index";
import { closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster, type FakeNode } from "../support/fake-cluster";
import { type FakeReply, NO_REPLY } from "../support/fake-server";

const CHANNEL = "foo";
/** Of two nodes with half of the slots each, the second serves it. */
const OWNER = 1;
const OTHER = 0;
const WORDS = ["subscribe", "ssubscribe", "sunsubscribe"];

describe("cluster: subscriptions whose node leaves", () => {
  let fake: FakeCluster;
  let cluster: Cluster;

  beforeEach(async () => {
    fake = await FakeCluster.start(2);
    for (const node of fake.nodes) node.script = (words) => subscriptionReply(words);
  });
  afterEach(async () => {
    await closeCluster(cluster);
    await fake.stop();
  });

  function subscriptionReply([word = "", channel = ""]: string[]): FakeReply | undefined {
    return WORDS.includes(word) ? [word, channel, word === "sunsubscribe" ? 0 : 1] : undefined;
  }

  async function connect(options: ClusterOptions): Promise<void> {
    cluster = new Cluster(fake.seeds, { redisOptions: { protocol: 2 }, ...options });
    cluster.on("error", () => {});
    await untilClusterReady(cluster);
  }

  function entry({ server }: FakeNode): (string | number)[] {
    return [server.host, server.port, `id${server.port}`];
  }

  /** The first command of this word is taken and never answered; resolves when it is there. */
  function swallowFirst(word: string, nodes: readonly FakeNode[]): Promise<FakeNode> {
    let isFirst = true;
    return new Promise((resolve) => {
      for (const node of nodes) {
        node.script = (words) => {
          if (words[0] !== word || !isFirst) return subscriptionReply(words);
          isFirst = false;
          resolve(node);
          return NO_REPLY;
        };
      }
    });
  }

  function until(what: string, isTrue: () => boolean): Promise<void> {
    return waitUntil(() => Promise.resolve(isTrue()), { timeoutMs: 5000, what });
  }

  it("a SUBSCRIBE under way goes to another node", async () => {
    await connect({});
    const swallowed = swallowFirst("subscribe", fake.nodes);
    const subscribed = cluster.subscribe("news");
    const gone = await swallowed;
    const stays = fake.nodes.find((node) => node !== gone) as FakeNode;
    fake.slots = () => [[0, 16383, entry(stays)]];
    await cluster.refreshSlotsCache();
    expect(await subscribed).to.equal(1);
    expect(stays.received("subscribe")).to.deep.equal([["subscribe", "news"]]);
  });

  for (const [title, isDemoted] of [
    ["becomes a replica", true],
    ["leaves", false],
  ] as const) {
    it(`an SSUBSCRIBE under way goes to the new owner when the old one ${title}`, async () => {
      await connect({ shardedSubscribers: true });
      const swallowed = swallowFirst("ssubscribe", fake.nodes);
      const subscribed = cluster.ssubscribe(CHANNEL);
      const gone = await swallowed;
      const stays = fake.node(OTHER);
      fake.slots = () => [[0, 16383, entry(stays), ...(isDemoted ? [entry(gone)] : [])]];
      await cluster.refreshSlotsCache();
      expect(await subscribed).to.equal(1);
      expect(stays.received("ssubscribe")).to.deep.equal([["ssubscribe", CHANNEL]]);
    });

    it(`a shard channel is left at the old owner alone when that ${title}`, async () => {
      await connect({ shardedSubscribers: true });
      await cluster.ssubscribe(CHANNEL);
      let gaps = 0;
      cluster.on("gap", () => gaps++);
      const stays = fake.node(OTHER);
      const gone = fake.node(OWNER);
      const connections = gone.server.openConnections;
      fake.slots = () => [[0, 16383, entry(stays), ...(isDemoted ? [entry(gone)] : [])]];
      await cluster.refreshSlotsCache();
      await until("the gap to be over", () => gaps > 0);
      await until("the old line to close", () => gone.server.openConnections < connections);
      await cluster.refreshSlotsCache();
      await cluster.ssubscribe(`{${CHANNEL}}2`);
      expect(stays.received("ssubscribe")[0]).to.deep.equal(["ssubscribe", CHANNEL]);
      expect(stays.received("sunsubscribe")).to.deep.equal([]);
    });
  }

  it("an SUNSUBSCRIBE while the channel has no line ends it for good", async () => {
    await connect({ shardedSubscribers: true });
    await cluster.ssubscribe(CHANNEL);
    const lost = new Promise((resolve) => cluster.once("-subscriber", resolve));
    fake.node(OWNER).server.dropConnections();
    await lost;
    await cluster.sunsubscribe(CHANNEL);
    await cluster.ssubscribe(`{${CHANNEL}}2`);
    const settled = new Promise((resolve) => cluster.once("subscribersReady", resolve));
    await Promise.race([settled, cluster.sunsubscribe(`{${CHANNEL}}2`)]);
    expect(
      fake
        .node(OWNER)
        .received("ssubscribe")
        .map(([, channel]) => channel),
    ).to.deep.equal([CHANNEL, `{${CHANNEL}}2`]);
  });
});
