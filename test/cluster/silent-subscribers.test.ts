/**
 * Subscribers of a cluster on connections that die without a word: each is noticed, the subscriptions
 * are taken up again on a new line, and the gap is told. The proxies stand in for the nodes.
 */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FaultProxy } from "../support/fault-proxy";

const QUICK = { idleMs: 100, probeTimeoutMs: 500 };

for (const protocol of [2, 3] as const) {
  describe(`cluster: silent subscribers, protocol ${protocol}`, () => {
    const fixture = new ClusterFixture().install();
    let proxies: FaultProxy[];
    let gaps: string[];

    beforeEach(async () => {
      const { nodes } = fixture.cluster;
      proxies = await Promise.all(nodes.map(({ host, port }) => FaultProxy.start({ host, port })));
    });
    afterEach(async () => {
      await fixture.closeClients();
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    });

    async function connect(): Promise<Cluster> {
      const { nodes } = fixture.cluster;
      const natMap = Object.fromEntries(
        nodes.map(({ host, port }, i) => [`${host}:${port}`, proxies[i] as FaultProxy]),
      );
      const seeds = proxies.map(({ host, port }) => ({ host, port }));
      const redisOptions = { protocol, watchdog: QUICK };
      const cluster = fixture.connectTo(seeds, { natMap, shardedSubscribers: true, redisOptions });
      gaps = [];
      cluster.on("gap", ({ channels, shardChannels }) => gaps.push(...channels, ...shardChannels));
      await untilClusterReady(cluster);
      return cluster;
    }

    async function expectRecovery(publish: () => Promise<unknown>, heard: string[]): Promise<void> {
      for (const proxy of proxies) proxy.isolate();
      const isTold = (): Promise<boolean> => Promise.resolve(gaps.length > 0);
      await waitUntil(isTold, { timeoutMs: 8000, what: "the gap event" });
      expect(gaps).to.deep.equal(["news"]);
      const arrives = async (): Promise<boolean> => {
        await publish();
        return heard.length > 0;
      };
      await waitUntil(arrives, { timeoutMs: 5000, what: "the message" });
      expect(new Set(heard)).to.deep.equal(new Set(["news there"]));
    }

    it("of channels", async () => {
      const cluster = await connect();
      const heard: string[] = [];
      cluster.on("message", (...words: string[]) => heard.push(words.join(" ")));
      await cluster.subscribe("news");
      await expectRecovery(() => cluster.publish("news", "there"), heard);
    });

    it("of shard channels", async () => {
      const cluster = await connect();
      const heard: string[] = [];
      cluster.on("smessage", (...words: string[]) => heard.push(words.join(" ")));
      await cluster.ssubscribe("news");
      await expectRecovery(() => cluster.spublish("news", "there"), heard);
    });
  });
}
