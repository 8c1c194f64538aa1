/** Readers of messages on real servers: what they get, how they share a subscription, and what a slow one loses. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { MessageEntry, Messages, Redis } from "../../src/index";
import { matrix } from "../support/matrix";
import { codeOf, failureOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";
import { uncaughtDuring } from "../support/uncaught";

async function take<Payload>(reader: Messages<Payload>, count: number): Promise<MessageEntry<Payload>[]> {
  const entries: MessageEntry<Payload>[] = [];
  while (entries.length < count) {
    const { value, done } = await reader.next();
    if (done) break;
    entries.push(value);
  }
  return entries;
}

function textsOf(entries: readonly MessageEntry<unknown>[]): string[] {
  return entries.map((entry) => (entry.kind === "message" ? String(entry.message) : entry.cause));
}

async function subscribersOf(control: Redis, channel: string): Promise<number> {
  const [, count] = (await control.pubsub("NUMSUB", channel)) as [string, number];
  return count;
}

matrix("readers of messages", { autoPipelining: [false] }, async ({ redis, connect }) => {
  const publisher = connect();
  const news = redis.messages(["news", "sport"]);
  const bytes = redis.messages("news", { buffers: true });
  const patterns = redis.messages("n?ws", { kind: "pattern" });
  const shard = redis.messages("shard", { kind: "shard" });
  await Promise.all([news, bytes, patterns, shard].map(({ ready }) => ready));
  await publisher.publish("news", "a");
  await publisher.publish("sport", "b");
  await publisher.spublish("shard", "c");
  expect(await take(news, 2)).to.deep.equal([
    { kind: "message", channel: "news", pattern: null, message: "a" },
    { kind: "message", channel: "sport", pattern: null, message: "b" },
  ]);
  const [first] = await take(bytes, 1);
  expect(first).to.deep.equal({ kind: "message", channel: "news", pattern: null, message: Buffer.from("a") });
  expect(await take(patterns, 1)).to.deep.equal([
    { kind: "message", channel: "news", pattern: "n?ws", message: "a" },
  ]);
  expect(textsOf(await take(shard, 1))).to.deep.equal(["c"]);
  await Promise.all([news, bytes, patterns, shard].map((reader) => reader.close()));
  expect(await publisher.pubsub("CHANNELS")).to.deep.equal([]);
  expect(await publisher.pubsub("NUMPAT")).to.equal(0);
  expect(await publisher.pubsub("SHARDCHANNELS")).to.deep.equal([]);
  // The connection is free for all commands again, with RESP2 too.
  expect(await redis.set("key", "value")).to.equal("OK");
});

describe("a reader of messages", () => {
  const fixture = new ServerFixture().install();

  it("shares the subscription: the last one that leaves ends it", async () => {
    const redis = fixture.connect();
    const { control } = fixture;
    const one = redis.messages("news");
    const two = redis.messages("news");
    await Promise.all([one.ready, two.ready]);
    expect(await subscribersOf(control, "news")).to.equal(1);
    await control.publish("news", "1");
    for await (const entry of one) {
      expect(textsOf([entry])).to.deep.equal(["1"]);
      break;
    }
    await redis.ping();
    expect(await subscribersOf(control, "news")).to.equal(1);
    await control.publish("news", "2");
    expect(textsOf(await take(two, 2))).to.deep.equal(["1", "2"]);
    await two.close();
    expect(await subscribersOf(control, "news")).to.equal(0);
    expect(redis.eventNames()).to.deep.equal(["error"]);
  });

  it("opened while the last one unsubscribes is subscribed", async () => {
    const redis = fixture.connect();
    for (let round = 0; round < 20; round++) {
      const before = redis.messages("news");
      await before.ready;
      void before.close();
      const after = redis.messages("news");
      await after.ready;
      await fixture.control.publish("news", String(round));
      expect(textsOf(await take(after, 1))).to.deep.equal([String(round)]);
      void after.close();
    }
  });

  it("leaves the subscription of the program alone", async () => {
    const redis = fixture.connect();
    await redis.subscribe("news");
    const reader = redis.messages("news");
    await reader.ready;
    await fixture.control.publish("news", "1");
    expect(textsOf(await take(reader, 1))).to.deep.equal(["1"]);
    await reader.close();
    expect(await subscribersOf(fixture.control, "news")).to.equal(1);
  });

  it("ends with its signal, also before it has begun", async () => {
    const redis = fixture.connect();
    const leaver = new AbortController();
    const reader = redis.messages("news", { signal: leaver.signal });
    await reader.ready;
    const waiting = reader.next();
    leaver.abort();
    expect(await waiting).to.deep.equal({ value: undefined, done: true });
    await reader.close();
    expect(await subscribersOf(fixture.control, "news")).to.equal(0);
    const late = redis.messages("news", { signal: leaver.signal });
    await late.ready;
    expect(await late.next()).to.deep.equal({ value: undefined, done: true });
    expect(await subscribersOf(fixture.control, "news")).to.equal(0);
  });

  it("drops the oldest messages when it is slow, and finds a gap in their place", async () => {
    const redis = fixture.connect();
    const reader = redis.messages("news", { maxBuffered: 3 });
    const all = redis.messages("news");
    await reader.ready;
    for (let i = 1; i <= 5; i++) await fixture.control.publish("news", i);
    await take(all, 5);
    expect(await take(reader, 1)).to.deep.equal([
      { kind: "gap", cause: "overflow", dropped: 2, lastedMs: null },
    ]);
    expect(textsOf(await take(reader, 3))).to.deep.equal(["3", "4", "5"]);
  });

  it("unsubscribes and fails when it is slow, if it says so", async () => {
    const redis = fixture.connect();
    const reader = redis.messages("news", { maxBuffered: 2, onOverflow: "error" });
    const all = redis.messages("other");
    await Promise.all([reader.ready, all.ready]);
    for (let i = 1; i <= 4; i++) await fixture.control.publish("news", i);
    await fixture.control.publish("other", "end");
    await take(all, 1);
    expect(textsOf(await take(reader, 2))).to.deep.equal(["1", "2"]);
    expect(await codeOf(reader.next())).to.equal("MESSAGES_OVERFLOW");
    expect(await reader.next()).to.deep.equal({ value: undefined, done: true });
    await reader.close();
    expect(await subscribersOf(fixture.control, "news")).to.equal(0);
  });

  it("finds a gap where the connection was lost, and every message after it", async () => {
    const redis = fixture.connect({ retryStrategy: () => 30 });
    const reader = redis.messages(["news", "sport"]);
    const other = redis.messages("other", { kind: "pattern" });
    await Promise.all([reader.ready, other.ready]);
    await fixture.control.publish("news", "before");
    const [before] = await take(reader, 1);
    fixture.proxy.cutAll("reset");
    const [gap] = await take(reader, 1);
    await fixture.control.publish("news", "after");
    expect(textsOf([before as MessageEntry, ...(await take(reader, 1))])).to.deep.equal(["before", "after"]);
    expect(gap).to.include({ kind: "gap", cause: "reconnect", dropped: null });
    expect((gap as { lastedMs: number }).lastedMs).to.be.greaterThan(0);
    expect(textsOf(await take(other, 1))).to.deep.equal(["reconnect"]);
  });

  it("loses nothing but what a gap tells of while the connection breaks again and again", async () => {
    const redis = fixture.connect({ retryStrategy: () => 5 });
    const reader = redis.messages("news", { maxBuffered: 100_000 });
    await reader.ready;
    let isOver = false;
    let published = 0;
    const publishing = (async () => {
      while (!isOver) await fixture.control.publish("news", published++);
    })();
    for (let cut = 0; cut < 10; cut++) {
      await sleep(25);
      fixture.proxy.cutAll("reset");
    }
    await waitUntil(() => Promise.resolve(redis.status === "ready"), { timeoutMs: 5000, what: "ready" });
    await redis.ping();
    isOver = true;
    await publishing;
    await fixture.control.publish("news", published);
    let expected = 0;
    let gaps = 0;
    for await (const entry of reader) {
      if (entry.kind === "gap") {
        gaps++;
        expected = -1;
        continue;
      }
      // A message may be lost shortly before the gap, with the bytes of the old connection: the gap comes first here.
      const number = Number(entry.message);
      if (expected >= 0) expect(number).to.equal(expected);
      expected = number + 1;
      if (number === published) break;
    }
    expect(gaps).to.be.greaterThan(0);
  });

  it("passes entries to a listener, whose errors end neither the reader nor others", async () => {
    const redis = fixture.connect();
    const news = redis.messages("news");
    const sport = redis.messages("sport");
    const seen: string[] = [];
    let closed: Promise<void> | undefined;
    const thrown = await uncaughtDuring(async () => {
      const enough = new Promise<void>((resolve) => {
        closed = news.listen((entry) => {
          if (seen.push(...textsOf([entry])) === 2) resolve();
          else throw new Error("of the listener");
        });
      });
      await Promise.all([news.ready, sport.ready]);
      await fixture.control.publish("sport", "buffered");
      await fixture.control.publish("news", "1");
      await fixture.control.publish("news", "2");
      await enough;
    });
    expect(thrown).to.deep.equal(["of the listener"]);
    expect(seen).to.deep.equal(["1", "2"]);
    await news.close();
    await closed;
    const late: string[] = [];
    void sport.listen((entry) => late.push(...textsOf([entry])));
    expect(late).to.deep.equal(["buffered"]);
  });

  it("ends with the client, after what is buffered", async () => {
    const redis = fixture.connect();
    const reader = redis.messages("news");
    await reader.ready;
    await fixture.control.publish("news", "last");
    const marker = redis.messages("marker");
    await marker.ready;
    await fixture.control.publish("marker", "");
    await take(marker, 1);
    await redis.quit();
    if (redis.status !== "end") await once(redis, "end");
    expect(textsOf(await take(reader, 2))).to.deep.equal(["last"]);
    expect(await reader.next()).to.deep.equal({ value: undefined, done: true });
    const late = redis.messages("news");
    expect(await codeOf(late.next())).to.equal("CONNECTION_CLOSED");
  });

  it("fails with the error of a refused subscription, once", async () => {
    const redis = fixture.connect();
    await fixture.control.acl("SETUSER", "reader", "on", "nopass", "+@all", "~*", "resetchannels", "&open");
    await redis.auth("reader", "any");
    const reader = redis.messages(["open", "closed"]);
    expect((await failureOf(reader.ready)).message).to.match(/^NOPERM /);
    expect((await failureOf(reader.next())).message).to.match(/^NOPERM /);
    expect(await reader.next()).to.deep.equal({ value: undefined, done: true });
    await reader.close();
    expect(await subscribersOf(fixture.control, "open")).to.equal(0);
    await fixture.control.acl("DELUSER", "reader");
  });

  it("fails when the server refuses its name after a reconnect, and leaves others alone", async () => {
    const allow = (...names: string[]) =>
      fixture.control.acl("SETUSER", "reader", "on", "nopass", "+@all", "~*", "resetchannels", ...names);
    for (const protocol of [2, 3] as const) {
      await allow("&open", "&closed", "&p*");
      const redis = fixture.connect({ protocol, username: "reader", password: "any" });
      const closed = redis.messages("closed");
      const patterns = redis.messages("p*", { kind: "pattern" });
      const open = redis.messages("open");
      await Promise.all([closed, patterns, open].map(({ ready }) => ready));
      // The server closes the connections of subscribers that lose a name.
      await allow("&open");
      for (const reader of [closed, patterns]) {
        expect((await failureOf(reader.next())).message).to.match(/^NOPERM /);
        expect(await reader.next()).to.deep.equal({ value: undefined, done: true });
      }
      expect(textsOf(await take(open, 1))).to.deep.equal(["reconnect"]);
      await fixture.control.publish("open", "after");
      expect(textsOf(await take(open, 1))).to.deep.equal(["after"]);
      redis.disconnect();
    }
    await fixture.control.acl("DELUSER", "reader");
  });

  it("refuses what it would ignore", () => {
    const redis = fixture.connectDirectly({ lazyConnect: true });
    const open = (options: object) => () => redis.messages("news", options);
    expect(open({ buffer: true })).to.throw('Unknown option "buffer" of messages()');
    expect(open({ kind: "glob" })).to.throw('Invalid kind "glob" of messages()');
    expect(open({ maxBuffered: 0 })).to.throw("an integer of at least 1");
    expect(open({ onOverflow: "block" })).to.throw('expected "drop-oldest" or "error"');
    expect(() => redis.messages([])).to.throw(
      "Invalid names [list] of messages(): expected a string, or a list of strings",
    );
    const forgetful = fixture.connectDirectly({ lazyConnect: true, autoResubscribe: false });
    expect(() => forgetful.messages("news")).to.throw("cannot be used with autoResubscribe: false");
  });

  it("of a view belongs to its client", async () => {
    const redis = fixture.connect();
    const reader = redis.messages("news");
    const ofView = redis.with({ timeout: 1000 }).messages("news");
    await Promise.all([reader.ready, ofView.ready]);
    await reader.close();
    await fixture.control.publish("news", "1");
    expect(textsOf(await take(ofView, 1))).to.deep.equal(["1"]);
  });

  it("uses the name of a shard channel as the server knows it", async () => {
    const redis = fixture.connect({ keyPrefix: "app:" });
    const reader = redis.messages("news", { kind: "shard" });
    await reader.ready;
    await fixture.control.spublish("app:news", "1");
    expect(textsOf(await take(reader, 1))).to.deep.equal(["1"]);
  });
});
