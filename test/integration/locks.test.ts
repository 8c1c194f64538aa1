/** Locks: one holder at a time, waiters that are woken, numbers that grow, and holders that learn of their loss. */

import { expect } from "chai";
import { type Lock, Redis } from "../../src/index";
import { type FakeReply, FakeServer, NO_REPLY, RawReply } from "../support/fake-server";
import { type MatrixContext, matrix, untilReady } from "../support/matrix";
import { codeOf, failureOf } from "../support/outcome";
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

const HELLO = new RawReply("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n");
/** The scripts by their number of keys. */
const SCRIPTS: Readonly<Record<string, string>> = { 1: "extend", 3: "release", 4: "leave", 5: "acquire" };

/** A server that answers the scripts of locks as told, with what it received. */
class ScriptedServer {
  readonly client: Redis;
  readonly received: { readonly script: string; readonly args: readonly string[] }[] = [];
  connections = 0;

  private constructor(fake: FakeServer) {
    this.client = new Redis({ host: fake.host, port: fake.port, protocol: 3 });
  }

  static async use(
    answer: (script: string, args: readonly string[], count: number) => FakeReply,
    body: (server: ScriptedServer) => Promise<void>,
  ): Promise<void> {
    const fake = await FakeServer.start((words, { number }) => {
      if (words[0]?.toLowerCase() === "hello") return HELLO;
      const script = /^eval/i.test(words[0] ?? "") ? SCRIPTS[words[2] ?? ""] : undefined;
      if (script === undefined) return undefined;
      server.connections = Math.max(server.connections, number);
      const args = words.slice(3 + Number(words[2]));
      server.received.push({ script, args });
      return answer(script, args, server.count(script));
    });
    const server = new ScriptedServer(fake);
    try {
      await body(server);
    } finally {
      server.client.disconnect();
      await fake.stop();
    }
  }

  count(script: string): number {
    return this.received.filter((one) => one.script === script).length;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

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

  matrix("work with the option stringNumbers", PAIR, async ({ connect }) => {
    const client = connect({ stringNumbers: true });
    const lock = await client.lock("k", { wait: 500 });
    const next = client.lock("k");
    await lock.extend();
    expect(await lock.release()).to.equal(true);
    expect((await next).fence).to.be.greaterThan(lock.fence);
    expect(await (await next).release()).to.equal(true);
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
    "are outside of the transactions, the database and the slow commands of their client",
    PAIR,
    async (context) => {
      const { redis, connect } = context;
      const client = connect();
      await untilReady(client);
      await client.multi({ pipeline: false });
      const lock = await client.lock("k", { ttl: 900 });
      expect(await codeOf(redis.lock("k", { wait: 0 }))).to.equal("LOCK_TIMEOUT");
      await lock.extend();
      await client.set("other", 1);
      expect(await client.exec()).to.deep.equal([[null, "OK"]]);
      await client.select(1);
      await lock.extend();
      // A renewal behind it would come too late.
      await client.blpop("nothing", 1);
      await lock.extend();
      const inOther = await client.lock("k", { wait: 0 });
      expect(await inOther.release()).to.equal(true);
      expect(await lock.release()).to.equal(true);
      expect(await redis.exists("k")).to.equal(0);
    },
  );

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

  const RESP3 = { ...PAIR, protocols: [3] } as const;

  matrix("neither need nor take a lease of the client", RESP3, async ({ redis, connect }) => {
    const held = await redis.lock("k");
    const client = connect({ leases: { max: 1 } });
    const own = await client.lease();
    const next = client.lock("k");
    // Only a waiter that the server wakes has such a key.
    while ((await redis.keys("{k}:wake:*")).length === 0) await redis.ping();
    await own.release();
    expect(await client.withConnection((other) => other.ping(), { waitMs: 1000 })).to.equal("PONG");
    await held.release();
    await (await next).release();
  });

  it("reject invalid settings", async () => {
    const redis = new Redis({ lazyConnect: true });
    for (const options of [{ ttl: 0 }, { ttl: Number.NaN }, { wait: -1 }, { timeout: 5 }, { signal: 5 }]) {
      expect(await codeOf(redis.lock("k", options as object))).to.equal("INVALID_OPTION");
    }
    expect(await codeOf(redis.lock(undefined as unknown as string))).to.equal("INVALID_OPTION");
    redis.disconnect();
  });

  describe("on a server with given replies", () => {
    const HELD: FakeReply = [1, "7"];

    it("expire with a shorter ttl, although its reply is late", async () => {
      const answer = (script: string): FakeReply => (script === "extend" ? NO_REPLY : HELD);
      await ScriptedServer.use(answer, async ({ client }) => {
        const lock = await client.lock("k", { ttl: 20_000 });
        const extended = codeOf(lock.extend(30));
        await pause(100);
        expect(lock.signal.aborted).to.equal(true);
        client.disconnect();
        expect(await extended).to.not.equal("fulfilled");
      });
    });

    it("renew again with their own ttl after failures", async () => {
      const answer = (script: string, _args: readonly string[], count: number): FakeReply =>
        script !== "extend" ? HELD : count <= 2 ? new Error("NOPERM for now") : 1;
      await ScriptedServer.use(answer, async ({ client, received }) => {
        const lock = await client.lock("k", { ttl: 300 });
        expect(await codeOf(lock.extend(60_000))).to.equal("REPLY");
        await pause(700);
        expect(lock.signal.aborted).to.equal(false);
        const [first, ...others] = received.flatMap(({ script, args }) =>
          script === "extend" ? [args[1]] : [],
        );
        expect([first, new Set(others)]).to.deep.equal(["60000", new Set(["300"])]);
      });
    });

    it("are freed after a first attempt that failed", async () => {
      const answer = (script: string): FakeReply =>
        script === "acquire" ? new Error("NOPERM in the middle") : 1;
      await ScriptedServer.use(answer, async (server) => {
        expect(await codeOf(server.client.lock("k", { wait: 0 }))).to.equal("REPLY");
        expect(server.count("leave")).to.equal(1);
      });
    });

    it("tell a lock that is held from a server that does not reply", async () => {
      const cases: [FakeReply, string][] = [
        [[0, 5000], 'Another client holds the lock "k", which was not free within 200 ms.'],
        [NO_REPLY, 'The server did not reply within 200 ms, so the lock "k" was not acquired.'],
      ];
      for (const [reply, text] of cases) {
        await ScriptedServer.use(
          () => reply,
          async ({ client }) => {
            const { code, message } = await failureOf(client.lock("k", { wait: 200 }));
            expect([code, message.startsWith(text)], message).to.deep.equal(["LOCK_TIMEOUT", true]);
          },
        );
      }
    });

    for (const [text, code, looks] of [
      ["OOM command not allowed", "REPLY", 2],
      ["TRYAGAIN later", "LOCK_TIMEOUT", 8],
    ] as const) {
      it(`ask seldom and over one connection after ${text}`, async () => {
        const answer = (script: string, args: readonly string[]): FakeReply =>
          script !== "acquire" ? 1 : args[2] === "0" ? [0, 5000] : new Error(text);
        await ScriptedServer.use(answer, async (server) => {
          expect(await codeOf(server.client.lock("k", { wait: 300 }))).to.equal(code);
          expect(server.count("acquire")).to.be.within(2, looks);
          // The shared one, the one for scripts, and the one that wakes waiters.
          expect(server.connections).to.equal(3);
        });
      });
    }

    it("ask seldom for a key without an expiry", async () => {
      const answer = (script: string): FakeReply => (script === "acquire" ? [0, -1] : 1);
      await ScriptedServer.use(answer, async (server) => {
        expect(await codeOf(server.client.lock("k", { wait: 300 }))).to.equal("LOCK_TIMEOUT");
        expect(server.count("acquire")).to.equal(2);
      });
    });
  });

  describe("on lines that are cut", () => {
    const fixture = new ServerFixture().install();

    it("are asked for at once over a connection that replaces the one for waking", async () => {
      const { control, proxy } = fixture;
      await control.lock("k");
      const trackers = async (): Promise<string[]> =>
        String(await control.client("LIST"))
          .split("\n")
          .filter((line) => / flags=\w*t/.test(line))
          .map((line) => line.split(" ")[0] as string);
      // A waiter asks by itself after a second, so this one never would.
      const ended = codeOf(fixture.connect({ protocol: 3 }).lock("k", { wait: 900 }));
      while ((await control.keys("{k}:wake:*")).length === 0) await control.ping();
      const [first] = await trackers();
      proxy.cutAll();
      let isOver = false;
      void ended.then(() => {
        isOver = true;
      });
      let isReplaced = false;
      while (!isOver && !isReplaced) isReplaced = (await trackers()).some((id) => id !== first);
      expect(isReplaced).to.equal(true);
      expect(await ended).to.equal("LOCK_TIMEOUT");
    });

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
