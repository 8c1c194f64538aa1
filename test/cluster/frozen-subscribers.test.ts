/**
 * A client that only subscribes, whose node freezes, crashes or loses its connections: it follows the cluster to the new
 * owner although none of its commands would notice, and the gap names the time since the last byte of the old one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const CHANNEL = "news";
const SLOT = calculateSlot(CHANNEL);
/** Far above what it takes, far below the time that the frozen node stays so. */
const SOON_MS = 4000;

describe("cluster: subscribers of nodes that fail", () => {
  const fixture = new ClusterFixture(ServerKind.Redis, { nodeTimeoutMs: 1000 }).install();
  let heardAtMs: number[];
  let gaps: { lastedMs: number; endedAtMs: number }[];
  let client: Cluster;
  let victim: ServerProcess;

  afterEach(async () => {
    for (const node of fixture.cluster.nodes) if (node.isRunning) node.resume();
    const down = fixture.cluster.nodes.filter((node) => !node.isRunning);
    await Promise.all(down.map((node) => node.start()));
    await fixture.cluster.untilHealthy();
  });

  async function subscribe(isSharded: boolean): Promise<void> {
    heardAtMs = [];
    gaps = [];
    client = fixture.connect({ shardedSubscribers: true });
    await untilClusterReady(client);
    client.on(isSharded ? "smessage" : "message", () => heardAtMs.push(performance.now()));
    client.on("gap", ({ lastedMs }: { lastedMs: number }) =>
      gaps.push({ lastedMs, endedAtMs: performance.now() }),
    );
    if (isSharded) await client.ssubscribe(CHANNEL);
    else await client.subscribe(CHANNEL);
    victim = await fixture.cluster.ownerOf(SLOT);
  }

  const others = (): ServerProcess[] =>
    fixture.cluster.nodes.filter((node) => node !== victim && node.isRunning);

  /** Publishes a shard message at whoever takes it, every 20 ms, until one has come since; gives the time of that. */
  async function untilHeardAgain(word: string, sinceMs: number): Promise<number> {
    const arrives = async (): Promise<boolean> => {
      for (const node of others()) await node.command(word, CHANNEL, "x").catch(() => {});
      return heardAtMs.some((atMs) => atMs > sinceMs);
    };
    await waitUntil(arrives, { timeoutMs: 15_000, what: "a message" });
    return heardAtMs.find((atMs) => atMs > sinceMs) as number;
  }

  async function untilPromoted(): Promise<number> {
    const isPromoted = async (): Promise<boolean> => {
      const lines = await fixture.cluster.lines(others()[0]);
      const owner = lines.find(({ slotRanges }) =>
        slotRanges.some(([from, to]) => from <= SLOT && SLOT <= to),
      );
      return owner !== undefined && owner.port !== victim.port;
    };
    await waitUntil(isPromoted, { timeoutMs: 15_000, what: "the replica to take over" });
    return performance.now();
  }

  it("of shard channels leave a frozen master once it has a successor, and know how long it was silent", async () => {
    await subscribe(true);
    await victim.command("SPUBLISH", CHANNEL, "before");
    await waitUntil(() => Promise.resolve(heardAtMs.length > 0), {
      timeoutMs: 2000,
      what: "the first message",
    });
    victim.pause();
    const frozenAtMs = performance.now();
    const promotedAtMs = await untilPromoted();
    const heard = await untilHeardAgain("SPUBLISH", frozenAtMs);
    console.log(
      `      promoted ${Math.round(promotedAtMs - frozenAtMs)} ms after the freeze, heard ${Math.round(heard - promotedAtMs)} ms later`,
    );
    expect(heard - promotedAtMs).to.be.lessThan(SOON_MS);
    const [gap] = gaps as [(typeof gaps)[number]];
    expect(gap.endedAtMs - gap.lastedMs, "the gap begins before the freeze").to.be.at.most(frozenAtMs);
  }).timeout(60_000);

  it("of channels leave a frozen node although it may come back", async () => {
    await subscribe(false);
    // Any node may have the subscription.
    for (const node of fixture.cluster.nodes) {
      const channels = (await node.command("PUBSUB", "NUMSUB", CHANNEL)) as unknown[];
      if (Number(channels[1]) > 0) victim = node;
    }
    victim.pause();
    const frozenAtMs = performance.now();
    await untilHeardAgain("PUBLISH", frozenAtMs + 500);
    expect(gaps.length).to.equal(1);
    expect((gaps[0]?.endedAtMs ?? 0) - (gaps[0]?.lastedMs ?? 0)).to.be.at.most(frozenAtMs);
  }).timeout(60_000);

  it("of shard channels are at the successor of a crashed master soon after it was chosen", async () => {
    await subscribe(true);
    await victim.kill();
    const killedAtMs = performance.now();
    const promotedAtMs = await untilPromoted();
    const heard = await untilHeardAgain("SPUBLISH", killedAtMs);
    console.log(
      `      promoted ${Math.round(promotedAtMs - killedAtMs)} ms after the crash, heard ${Math.round(heard - promotedAtMs)} ms later`,
    );
    expect(heard - promotedAtMs).to.be.lessThan(SOON_MS);
  }).timeout(60_000);

  for (const isSharded of [true, false]) {
    it(`of ${isSharded ? "shard " : ""}channels miss little while their connections are cut again and again`, async () => {
      await subscribe(isSharded);
      let published = 0;
      let isOver = false;
      const publishing = (async () => {
        while (!isOver) {
          await victim.command(isSharded ? "SPUBLISH" : "PUBLISH", CHANNEL, "x");
          published++;
          await sleep(1);
        }
      })();
      for (let cut = 0; cut < 12; cut++) {
        await sleep(150);
        for (const node of fixture.cluster.nodes) await node.command("CLIENT", "KILL", "TYPE", "pubsub");
      }
      await sleep(150);
      isOver = true;
      await publishing;
      await sleep(100);
      console.log(`      heard ${heardAtMs.length} of ${published}`);
      expect(heardAtMs.length).to.be.greaterThan(published / 2);
    }).timeout(60_000);
  }
});
