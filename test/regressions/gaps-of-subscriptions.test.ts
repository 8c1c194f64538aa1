/** A client of one server tells of the time in which its subscriptions had no connection. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

interface Gap {
  channels: string[];
  patterns: string[];
  shardChannels: string[];
  lastedMs: number;
}

/** The gaps, each with the time at which it began. */
function gapsOf(redis: Redis): (Gap & { fromMs: number })[] {
  const gaps: (Gap & { fromMs: number })[] = [];
  redis.on("gap", (gap: Gap) => gaps.push({ ...gap, fromMs: performance.now() - gap.lastedMs }));
  return gaps;
}

describe("the event gap of a client", () => {
  const fixture = new ServerFixture().install();

  it("names what is subscribed again, and covers every message that is missing", async () => {
    const redis = fixture.connect({ retryStrategy: () => 30 });
    const control = fixture.connectDirectly();
    const gaps: { from: number; to: number }[] = [];
    const heard = new Set<number>();
    redis.on("message", (_channel, text) => heard.add(Number(text)));
    redis.on("gap", ({ lastedMs, ...names }: Gap) => {
      expect(names).to.deep.equal({ channels: ["news"], patterns: ["n?ws*"], shardChannels: [] });
      gaps.push({ from: performance.now() - lastedMs, to: performance.now() });
    });
    await redis.subscribe("news");
    await redis.psubscribe("n?ws*");
    // The server sends each message between these two times.
    const publishedAtMs: number[] = [];
    const answeredAtMs: number[] = [];
    let isOver = false;
    const publishing = (async () => {
      while (!isOver) {
        publishedAtMs.push(performance.now());
        await control.publish("news", publishedAtMs.length - 1);
        answeredAtMs.push(performance.now());
      }
    })();
    for (let cut = 1; cut <= 3; cut++) {
      await sleep(30);
      fixture.proxy.cutAll("reset");
      await waitUntil(() => Promise.resolve(gaps.length === cut), { timeoutMs: 5000, what: `gap ${cut}` });
    }
    await sleep(30);
    isOver = true;
    await publishing;
    const last = publishedAtMs.length - 1;
    await waitUntil(() => Promise.resolve(heard.has(last)), { timeoutMs: 5000, what: "the last message" });
    // A message that the server has sent may be lost with the connection, before the client knows.
    const noticeMs = 50;
    const missed = [...publishedAtMs.keys()].filter((number) => !heard.has(number));
    const untold = missed.filter((number) => {
      const [atMs, byMs] = [publishedAtMs[number] as number, answeredAtMs[number] as number];
      return !gaps.some(({ from, to }) => byMs > from - noticeMs && atMs < to);
    });
    expect(missed.length).to.be.greaterThan(0);
    expect(untold).to.deep.equal([]);
  });

  it("lasts from the last byte on, also where the loss was noticed late", async () => {
    const redis = fixture.connect({ retryStrategy: () => 1, watchdog: { idleMs: 300, probeTimeoutMs: 300 } });
    const gaps = gapsOf(redis);
    await redis.subscribe("news");
    await sleep(50);
    const silentAtMs = performance.now();
    fixture.proxy.isolate();
    await waitUntil(() => Promise.resolve(gaps.length > 0), { timeoutMs: 10_000, what: "the gap" });
    // The last byte was read before; the client reads its own clock a moment before the event.
    expect(gaps[0]?.fromMs).to.be.at.most(silentAtMs + 25);
  });

  it("is not told without subscriptions, when they are forgotten, and after a disconnect() of the caller", async () => {
    const plain = fixture.connect({ retryStrategy: () => 1 });
    const forgetful = fixture.connect({ retryStrategy: () => 1, autoResubscribe: false });
    const leaving = fixture.connect({ retryStrategy: () => 1 });
    const clients = [plain, forgetful, leaving];
    const gaps = clients.map(gapsOf);
    await Promise.all(clients.map(untilReady));
    await forgetful.subscribe("news");
    fixture.proxy.cutAll("reset");
    await Promise.all(clients.map((redis) => new Promise((resolve) => redis.once("ready", resolve))));
    await leaving.subscribe("news");
    leaving.disconnect();
    await once(leaving, "end");
    await leaving.connect();
    await leaving.subscribe("other");
    expect(gaps).to.deep.equal([[], [], []]);
  });

  it("is told once, with all of its time, when the line breaks again while they are restored", async () => {
    const fake = await FakeServer.start((words, { number, socket }) => {
      if (words[0] !== "subscribe") return undefined;
      if (number === 1 || number > 4) return ["subscribe", words[1] ?? "", 1];
      setTimeout(() => socket.destroy(), 20);
      return NO_REPLY;
    });
    const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1 });
    redis.on("error", () => {});
    const gaps = gapsOf(redis);
    try {
      await redis.subscribe("news");
      fake.dropConnections();
      await waitUntil(() => Promise.resolve(gaps.length > 0), { timeoutMs: 5000, what: "the gap" });
      expect(gaps).to.have.length(1);
      expect(gaps[0]?.channels).to.deep.equal(["news"]);
      expect(gaps[0]?.lastedMs).to.be.at.least(55);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
