/** Consumers of stream groups on a real cluster: while slots move, masters fail over and nodes die. */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const LONG = process.env.SLUICE_LONG === "1";
/** In three slots. */
const STREAMS = ["a", "b", "c"];
const SETTINGS = { stream: STREAMS, group: "workers", claimIdleMs: 500, blockMs: 1000 };
const ROUNDS = LONG ? 10 : 1;
const LIMIT = { timeoutMs: 60_000, what: "all messages to be acknowledged" };

/** Producers and consumers of one test, with what was processed. */
class Load {
  /** The deliveries of each message, by stream and ID. */
  readonly processed = new Map<string, number[]>();
  private readonly stopProducing = new AbortController();
  private readonly stopConsuming = new AbortController();
  private readonly consuming: Promise<unknown>;
  private readonly producing: Promise<void>;

  constructor(
    private readonly producer: Cluster,
    consumers: readonly Cluster[],
  ) {
    const { signal } = this.stopConsuming;
    this.consuming = Promise.all(
      consumers.map((cluster, index) =>
        cluster.consume({ ...SETTINGS, consumer: `worker-${index}`, concurrency: 4, signal }, async (one) => {
          const name = `${one.stream} ${one.id}`;
          this.processed.set(name, [...(this.processed.get(name) ?? []), one.deliveries]);
          await sleep(1);
        }),
      ),
    );
    this.producing = this.produce();
  }

  async untilProcessed(count: number): Promise<void> {
    const enough = this.processed.size + count;
    await waitUntil(async () => this.processed.size >= enough, LIMIT);
  }

  /** Resolves when all messages that the servers have are acknowledged, and returns those that were not processed. */
  async finish(): Promise<string[]> {
    this.stopProducing.abort();
    await this.producing;
    const isDone = async (): Promise<boolean> => {
      for (const stream of STREAMS) {
        const [group = []] = (await this.producer.xinfo("GROUPS", stream)) as unknown[][];
        const factOf = (name: string): unknown => group[group.indexOf(name) + 1];
        const [last] = await this.producer.xrevrange(stream, "+", "-", "COUNT", 1);
        if (factOf("pending") !== 0 || factOf("last-delivered-id") !== last?.[0]) return false;
      }
      return true;
    };
    await waitUntil(isDone, LIMIT);
    this.stopConsuming.abort();
    await this.consuming;
    const missing: string[] = [];
    for (const stream of STREAMS) {
      const entries = await this.producer.xrange(stream, "-", "+");
      for (const [id] of entries) if (!this.processed.has(`${stream} ${id}`)) missing.push(id);
    }
    return missing;
  }

  private async produce(): Promise<void> {
    for (let n = 0; !this.stopProducing.signal.aborted; n++) {
      const stream = STREAMS[n % STREAMS.length] as string;
      await this.producer.xadd(stream, "*", "n", n).catch(() => {});
      await sleep(2);
    }
  }
}

for (const kind of LONG ? [ServerKind.Redis, ServerKind.Valkey] : [ServerKind.Valkey]) {
  describe(`cluster consumers on ${kind}`, function () {
    this.timeout(120_000 * ROUNDS);
    const fixture = new ClusterFixture(kind).install();

    async function load(): Promise<Load> {
      await fixture.flush();
      const clients = Array.from({ length: 3 }, () => fixture.connect());
      await Promise.all(clients.map(untilClusterReady));
      const [producer, ...consumers] = clients as [Cluster, ...Cluster[]];
      const begun = new Load(producer, consumers);
      await begun.untilProcessed(20);
      return begun;
    }

    it("follow the slot of their stream", async () => {
      const running = await load();
      const slot = calculateSlot("a");
      for (let round = 0; round < ROUNDS; round++) {
        const owner = await fixture.cluster.ownerOf(slot);
        const other = (await fixture.cluster.masters()).find((one) => one !== owner) as ServerProcess;
        await fixture.cluster.moveSlot(slot, other);
        await running.untilProcessed(20);
      }
      expect(await running.finish()).to.deep.equal([]);
    });

    it("follow a failover", async () => {
      const running = await load();
      for (let round = 0; round < ROUNDS; round++) {
        await fixture.cluster.failover(await fixture.cluster.ownerOf(calculateSlot("b")));
        await running.untilProcessed(20);
      }
      expect(await running.finish()).to.deep.equal([]);
    });

    // The others need seconds to notice it.
    if (LONG) {
      it("go on after the death of a master", async () => {
        const running = await load();
        await (await fixture.cluster.ownerOf(calculateSlot("c"))).kill();
        await fixture.cluster.untilHealthy();
        await running.untilProcessed(20);
        expect(await running.finish()).to.deep.equal([]);
      });
    }
  });
}
