/** Locks: one holder at a time, waiters that are woken, numbers that grow, and holders that learn of their loss. */

import { expect } from "chai";
import { type Lock, Redis } from "../../src/index";
import { type MatrixContext, matrix, untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const PAIR = { autoPipelining: [false] } as const;
const CONTENDERS = 20;
const ROUNDS = 5;

/** Notes the holders of one lock. */
class Book {
  readonly fences: number[] = [];
  twice = 0;
  private holders = 0;

  async hold(lock: Lock): Promise<void> {
    this.fences.push(lock.fence);
    if (++this.holders > 1 && !lock.signal.aborted) this.twice++;
    await new Promise((resolve) => setImmediate(resolve));
    this.holders--;
  }
}

function isGrowing(numbers: readonly number[]): boolean {
  return numbers.every((one, index) => index === 0 || one > (numbers[index - 1] as number));
}

async function compete(clients: readonly Redis[], book: Book, rounds: number): Promise<void> {
  const work = clients.map(async (redis) => {
    for (let round = 0; round < rounds; round++) {
      await using lock = await redis.lock("job", { wait: 60_000 });
      await book.hold(lock);
    }
  });
  await Promise.all(work);
}

const written = (clients: readonly Redis[]): number =>
  clients.reduce((sum, redis) => sum + redis.stats().flushes.commands, 0);

async function open({ connect }: MatrixContext): Promise<Redis[]> {
  const clients = Array.from({ length: CONTENDERS }, () => connect());
  await Promise.all(clients.map(untilReady));
  return clients;
}

describe("locks", function () {
  this.timeout(60_000);

  matrix("have one holder at a time, with a growing number", PAIR, async (context) => {
    const clients = await open(context);
    const book = new Book();
    await compete(clients, book, 1);
    const before = written(clients);
    await compete(clients, book, ROUNDS);
    expect([book.twice, book.fences.length]).to.deep.equal([0, CONTENDERS * (ROUNDS + 1)]);
    expect(isGrowing(book.fences)).to.equal(true);
    const each = (written(clients) - before) / (CONTENDERS * ROUNDS);
    // RESP2 has no invalidation messages, so its waiters ask.
    if (context.protocol === 3) expect(each).to.be.at.most(5);
    expect(await context.redis.keys("*job*")).to.deep.equal(["{job}:fence"]);
  });

  matrix("are free for others after their release, and at the end of a block", PAIR, async ({ redis }) => {
    const lock = await redis.lock("k");
    expect(await codeOf(redis.lock("k", { wait: 0 }))).to.equal("LOCK_TIMEOUT");
    expect(await codeOf(redis.lock("k", { wait: 20 }))).to.equal("LOCK_TIMEOUT");
    expect(await lock.release()).to.equal(true);
    expect(await lock.release()).to.equal(false);
    {
      await using again = await redis.lock("k", { wait: 0 });
      expect(again.fence).to.be.greaterThan(lock.fence);
    }
    expect(await redis.exists("k", "{k}:queue")).to.equal(0);
  });

  matrix("respect keyPrefix and hash tags", PAIR, async ({ redis, connect }) => {
    const client = connect({ keyPrefix: "p:" });
    for (const [key, names] of [
      ["k", ["p:k", "{p:k}:fence"]],
      ["a{b}c", ["p:a{b}c", "p:a{b}c:fence"]],
    ] as const) {
      const lock = await client.lock(key);
      expect(await redis.exists(...names)).to.equal(2);
      await lock.release();
    }
  });

  matrix("are renewed while they are held", PAIR, async ({ redis, connect }) => {
    const lock = await redis.lock("k", { ttl: 300 });
    expect(await codeOf(connect().lock("k", { wait: 1000 }))).to.equal("LOCK_TIMEOUT");
    expect(lock.signal.aborted).to.equal(false);
    await lock.extend(5000);
    expect(await redis.pttl("k")).to.be.greaterThan(1000);
    expect(await lock.release()).to.equal(true);
  });

  matrix("tell their holder when they are lost", PAIR, async ({ redis }) => {
    const lock = await redis.lock("k", { ttl: 150 });
    const lost = new Promise<Event>((resolve) => lock.signal.addEventListener("abort", resolve));
    await redis.set("k", "another");
    await lost;
    expect((lock.signal.reason as { code: string }).code).to.equal("LOCK_LOST");
    expect(await codeOf(lock.extend())).to.equal("LOCK_LOST");
    expect([await lock.release(), await redis.get("k")]).to.deep.equal([false, "another"]);
  });

  matrix(
    "keep their number above earlier ones when the server has lost its data",
    PAIR,
    async ({ redis }) => {
      const first = await redis.lock("k");
      await redis.flushall();
      const second = await redis.lock("k");
      expect(second.fence).to.be.at.least(first.fence);
      await second.release();
      await first.release();
    },
  );

  matrix("are not held by a caller that has given up", PAIR, async ({ redis }) => {
    const held = await redis.lock("k");
    const controller = new AbortController();
    const waiting = codeOf(redis.lock("k", { signal: controller.signal }));
    const next = redis.lock("k");
    await redis.ping();
    controller.abort();
    expect(await waiting).to.equal("ABORTED_BY_SIGNAL");
    expect(await codeOf(redis.lock("k", { signal: controller.signal }))).to.equal("ABORTED_BY_SIGNAL");
    await held.release();
    await (await next).release();
    expect(await redis.exists("k", "{k}:queue")).to.equal(0);
  });

  matrix("go to the next waiter when one has died", PAIR, async ({ redis, connect }) => {
    const held = await redis.lock("k");
    const dying = connect();
    await untilReady(dying);
    const lost = codeOf(dying.lock("k"));
    while ((await redis.exists("{k}:queue")) === 0 && dying.options.protocol === 3) await redis.ping();
    const next = connect().lock("k");
    dying.disconnect();
    await held.release();
    await (await next).release();
    expect(await lost).to.not.equal("fulfilled");
  });

  it("reject invalid settings", async () => {
    const redis = new Redis({ lazyConnect: true });
    for (const options of [{ ttl: 0 }, { ttl: Number.NaN }, { wait: -1 }]) {
      expect(await codeOf(redis.lock("k", options))).to.equal("INVALID_OPTION");
    }
    redis.disconnect();
  });

  describe("on lines that are cut", () => {
    const fixture = new ServerFixture().install();

    for (const protocol of [2, 3] as const) {
      it(`never have two holders, protocol ${protocol}`, async () => {
        const clients = Array.from({ length: 8 }, () =>
          fixture.connect({ protocol, maxLossesPerCommand: 1000, maxRetriesPerRequest: null }),
        );
        await Promise.all(clients.map(untilReady));
        const book = new Book();
        let isOver = false;
        const cuts = (async () => {
          for (let cut = 0; !isOver; cut++) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            if (cut < 10) fixture.proxy.cutAll();
          }
        })();
        await compete(clients, book, 10);
        isOver = true;
        await cuts;
        expect([book.twice, isGrowing(book.fences), book.fences.length]).to.deep.equal([0, true, 80]);
      });
    }
  });
});
