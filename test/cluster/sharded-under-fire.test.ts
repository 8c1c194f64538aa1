/**
 * Sharded subscriptions on real clusters while their slot moves and its master dies, under a
 * stream of numbered messages: none comes twice or out of order, and whatever is missing was
 * published in a gap that the `gap` event told of.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { serverKinds } from "../support/shared-servers";

const CHANNEL = "stream";
const SLOT = calculateSlot(CHANNEL);
const TIMEOUT_MS = 60_000;
const FAILOVERS = process.env.SLUICE_LONG === "1" ? 8 : 4;
const ENOUGH = 100;
/** Between what a server does and the moment a busy client hears of it. */
const NOTICE_MS = 2000;

/** The messages that one client published and another one heard. */
class Stream {
  readonly heard: number[] = [];
  readonly gaps: { fromMs: number; toMs: number }[] = [];
  private readonly publishedAtMs: number[] = [];
  private readonly upheavals: { fromMs: number; toMs: number }[] = [];
  private isStopped = false;
  private work: Promise<void> | null = null;

  constructor(
    private readonly publisher: Cluster,
    subscriber: Cluster,
  ) {
    subscriber.on("smessage", (_channel, text) => this.heard.push(Number(text)));
    subscriber.on("gap", ({ shardChannels, lastedMs }: { shardChannels: string[]; lastedMs: number }) => {
      expect(shardChannels).to.deep.equal([CHANNEL]);
      const toMs = performance.now();
      this.gaps.push({ fromMs: toMs - lastedMs, toMs });
    });
  }

  start(): void {
    this.work = this.publish();
  }

  /** Publishes one more and waits until it is heard: nothing is under way after that. */
  async finish(): Promise<void> {
    await waitUntil(() => Promise.resolve(this.heard.length > ENOUGH), {
      timeoutMs: 5000,
      what: "more messages",
    });
    this.isStopped = true;
    await this.work;
    await waitUntil(() => this.publishOne(), { timeoutMs: 5000, what: "the last message to be taken" });
    const last = this.publishedAtMs.length - 1;
    await waitUntil(() => Promise.resolve(this.heard.at(-1) === last), {
      timeoutMs: 5000,
      what: "the last message",
    });
  }

  /**
   * A shard changes its master, and the publisher is told. In the meantime it publishes at a node that was demoted,
   * which takes messages and cannot always pass them on: a loss that no subscriber can know of.
   */
  async during(upheaval: () => Promise<void>): Promise<void> {
    const fromMs = performance.now();
    await upheaval();
    await this.publisher.refreshSlotsCache();
    this.upheavals.push({ fromMs, toMs: performance.now() });
  }

  expectHonest(): void {
    // What is published during an upheaval may reach the subscriber from the node that was demoted and from its successor.
    const calm = this.heard.filter((n) => !this.isUpheaval(this.publishedAtMs[n] as number));
    expect(calm.length, "each once").to.equal(new Set(calm).size);
    expect(calm, "in order").to.deep.equal([...calm].sort((a, b) => a - b));
    const heard = new Set(this.heard);
    const missed = [...this.publishedAtMs.keys()].filter((n) => !heard.has(n));
    const untold = missed.filter((n) => {
      const atMs = this.publishedAtMs[n] as number;
      if (this.isUpheaval(atMs)) return false;
      return !this.gaps.some(({ fromMs, toMs }) => atMs > fromMs - NOTICE_MS && atMs < toMs);
    });
    console.log(
      `      ${this.publishedAtMs.length} published, ${missed.length} missed in ${this.gaps.length} gaps`,
    );
    expect(untold, "missed without a gap").to.deep.equal([]);
  }

  private isUpheaval(atMs: number): boolean {
    return this.upheavals.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs);
  }

  private async publish(): Promise<void> {
    while (!this.isStopped) {
      await this.publishOne();
      await sleep(2);
    }
  }

  /** True when the server took it. Nothing is sent twice: what fails is one of those that are missed. */
  private async publishOne(): Promise<boolean> {
    const number = this.publishedAtMs.push(performance.now()) - 1;
    return this.publisher.spublish(CHANNEL, number).then(
      () => true,
      () => false,
    );
  }
}

for (const kind of serverKinds().filter((one) => one !== ServerKind.Redis8)) {
  describe(`cluster: sharded subscriptions under fire, ${kind}`, () => {
    const fixture = new ClusterFixture(kind);
    fixture.install();

    beforeEach(async function () {
      this.timeout(TIMEOUT_MS);
      await fixture.cluster.untilHealthy();
    });

    it("their slot moves back and forth", async () => {
      const { cluster } = fixture;
      const home = await cluster.ownerOf(SLOT);
      const other = (await cluster.masters()).find((master) => master !== home) as ServerProcess;
      const stream = await begin(fixture);
      for (let move = 0; move < 6; move++) {
        await cluster.moveSlot(SLOT, move % 2 === 0 ? other : home);
        await untilGap(stream, move + 1);
      }
      await stream.finish();
      stream.expectHonest();
    }).timeout(TIMEOUT_MS);

    it("the master of their slot is killed", async () => {
      const { cluster } = fixture;
      const victim = await cluster.ownerOf(SLOT);
      const stream = await begin(fixture);
      await victim.kill();
      await untilGap(stream, 1);
      await stream.finish();
      await victim.start();
      stream.expectHonest();
    }).timeout(TIMEOUT_MS);
  });

  // After a killed master the nodes may take a while to vote again: a cluster of its own.
  describe(`cluster: sharded subscriptions during failovers, ${kind}`, () => {
    const fixture = new ClusterFixture(kind);
    fixture.install();

    it(`their shard changes its master by CLUSTER FAILOVER, ${FAILOVERS} times`, async () => {
      const { cluster } = fixture;
      const stream = await begin(fixture);
      for (let failover = 0; failover < FAILOVERS; failover++) {
        const gapCount = stream.gaps.length;
        await stream.during(async () => {
          await cluster.failover(await cluster.ownerOf(SLOT));
          await untilGap(stream, gapCount + 1);
        });
        await sleep(300);
      }
      await stream.finish();
      stream.expectHonest();
    }).timeout(TIMEOUT_MS);
  });
}

async function begin(fixture: ClusterFixture): Promise<Stream> {
  const publisher = fixture.connect({ retryPolicy: "at-most-once" });
  const subscriber = fixture.connect({ shardedSubscribers: true });
  await Promise.all([untilClusterReady(publisher), untilClusterReady(subscriber)]);
  await subscriber.ssubscribe(CHANNEL);
  const stream = new Stream(publisher, subscriber);
  stream.start();
  await waitUntil(() => Promise.resolve(stream.heard.length > 5), { timeoutMs: 5000, what: "messages" });
  return stream;
}

function untilGap(stream: Stream, count: number): Promise<void> {
  return waitUntil(() => Promise.resolve(stream.gaps.length >= count), {
    timeoutMs: 20_000,
    what: `gap ${count}`,
  });
}
