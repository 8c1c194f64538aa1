/**
 * Replicas and primary are killed, frozen, cut off and promoted under load. The books: every call settles once, no
 * acknowledged write is lost, and no read is older than an acknowledged write of its client.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { type FixtureReplica, lag, ReplicaFixture } from "../support/replica-fixture";
import { serverKinds } from "../support/shared-servers";

const ROUNDS = process.env.SLUICE_LONG === "1" ? 20 : 1;
const CALLERS = 20;
/** More than a frozen server lags. */
const WINDOW_MS = 5000;
const DURABLE = { appendonly: "yes", appendfsync: "always" };

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

class Books {
  /** How often each call was answered. */
  readonly answers: number[] = [];
  readonly failures: Error[] = [];
  readonly acknowledged: number[] = new Array<number>(CALLERS).fill(0);
  stale = 0;
  private isOpen = true;
  private readonly callers: Promise<void>[] = [];

  constructor(private readonly redis: Redis) {
    for (let caller = 0; caller < CALLERS; caller++) this.callers.push(this.run(caller));
  }

  async close(): Promise<void> {
    this.isOpen = false;
    await Promise.all(this.callers);
  }

  private async run(caller: number): Promise<void> {
    const key = `caller:${caller}`;
    while (this.isOpen) {
      const known = this.acknowledged[caller] ?? 0;
      const [written, read, row] = await Promise.all([
        this.call((settle) => void this.redis.incr(key, settle)),
        this.call((settle) => void this.redis.get(key, settle)),
        this.redis.pipeline().get(key).get("unwritten").exec(),
      ]);
      for (const seen of [read, row?.[0]?.[1]]) if (seen !== undefined && Number(seen) < known) this.stale++;
      if (written !== undefined) this.acknowledged[caller] = Number(written);
      await sleep(1);
    }
  }

  private call(issue: (settle: (error?: Error | null, value?: unknown) => void) => void): Promise<unknown> {
    const place = this.answers.push(0) - 1;
    return new Promise((resolve) => {
      issue((error, value) => {
        this.answers[place] = (this.answers[place] ?? 0) + 1;
        if (error) this.failures.push(error);
        resolve(error ? undefined : value);
      });
    });
  }
}

for (const kind of serverKinds()) {
  describe(`replicas under fire on ${kind}`, function () {
    this.timeout(120_000 * ROUNDS);
    const fixture = new ReplicaFixture(kind, 2, DURABLE).install();

    it("every call settles once, no acknowledged write is lost, no read is older than an own write", async () => {
      const redis = await fixture.connect({ readYourWrites: WINDOW_MS, maxRetriesPerRequest: null });
      const books = new Books(redis);
      const [one, two] = fixture.replicas as [FixtureReplica, FixtureReplica];
      for (let round = 0; round < ROUNDS; round++) {
        await sleep(200);
        await one.server.kill();
        await sleep(200);
        two.server.pause();
        await sleep(1500);
        two.server.resume();
        await one.server.start();
        await one.server.command("REPLICAOF", one.feed.host, one.feed.port);
        await fixture.untilReading(redis, 2, 60_000);
        await lag(two, 300);
        await two.feed.cutAll();
        await one.server.command("REPLICAOF", "NO", "ONE");
        await sleep(500);
        await one.server.command("REPLICAOF", one.feed.host, one.feed.port);
        await lag(two, 0);
        await fixture.untilReading(redis, 2, 60_000);
        fixture.primary.pause();
        await sleep(800);
        fixture.primary.resume();
        await fixture.primary.command("CLIENT", "KILL", "TYPE", "normal");
        await sleep(200);
        await fixture.primary.kill();
        await fixture.primary.start();
        await fixture.untilReading(redis, 2, 60_000);
      }
      await books.close();
      expect(books.failures).to.deep.equal([]);
      expect(books.answers.length).to.be.greaterThan(100);
      expect(books.answers.filter((count) => count !== 1)).to.deep.equal([]);
      expect(books.stale).to.equal(0);
      const primary = redis.with({ readFrom: "primary" });
      for (const [caller, least] of books.acknowledged.entries()) {
        expect(Number(await primary.get(`caller:${caller}`)), `caller ${caller}`).to.be.at.least(least);
      }
    });
  });
}
