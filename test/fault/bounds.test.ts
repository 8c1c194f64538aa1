/**
 * Commands that wait for a server that does not answer: with `bounds` never more than they allow, and
 * without them nothing piles up in the socket. The server is stopped (SIGSTOP), so what is
 * handed over stays where it is and can be counted.
 */

import { expect } from "chai";
import { heldBytes } from "../../benchmarks/support/held-bytes";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";

interface Failure extends Error {
  readonly code?: string;
}

const isLong = process.env.SLUICE_LONG === "1";
/** So many commands are given up. */
const GIVEN_UP = isLong ? 90_000 : 30_000;
/** The kernel's buffers, which grow by themselves, hold some thousands of these. */
const GIVEN_UP_VALUE = "v".repeat(2000);
/** More than one stretch of output: what a flush may hand over before it looks at the socket. */
const SOCKET_BYTES = 4 * 1024 * 1024;

const refusal = (error: Failure): string | undefined => error.code ?? error.message;

describe("bounds, a server that is stopped", () => {
  let server: ServerProcess;
  const clients: Redis[] = [];

  before(async () => {
    server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
  });
  afterEach(async () => {
    server.resume();
    await Promise.all(clients.splice(0).map(closeClient));
    server.hangUp();
  });
  after(() => server.stop());

  async function connect(options: RedisOptions): Promise<Redis> {
    const redis = new Redis({ host: server.host, port: server.port, watchdog: false, ...options });
    redis.on("error", () => {});
    clients.push(redis);
    await untilReady(redis);
    // Not by the client, whose time limit may be short.
    await server.command("FLUSHALL");
    return redis;
  }

  for (const enableAutoPipelining of [false, true]) {
    const mode = `auto-pipelining ${enableAutoPipelining ? "on" : "off"}`;

    it(`waiting commands are not handed over, and all run in order, ${mode}`, async () => {
      const redis = await connect({ enableAutoPipelining, bounds: { maxCommands: 100 } });
      server.pause();
      const values = Promise.all(Array.from({ length: 1000 }, () => redis.incr("n")));
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      expect(redis.commandQueue.length + redis.autoPipelineQueueSize).to.equal(100);
      server.resume();
      expect(await values).to.deep.equal(Array.from({ length: 1000 }, (_, i) => i + 1));
    });

    it(`bytes count as commands do, ${mode}`, async () => {
      const redis = await connect({ enableAutoPipelining, bounds: { maxBytes: 100_000 } });
      server.pause();
      const value = "v".repeat(9_000);
      const outcomes = Promise.all(Array.from({ length: 50 }, () => redis.append("k", value)));
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      expect(redis.commandQueue.length + redis.autoPipelineQueueSize).to.equal(10);
      server.resume();
      expect((await outcomes)[49]).to.equal(50 * value.length);
    });

    it(`bytes are those of the whole command, not of its arguments alone, ${mode}`, async () => {
      const maxBytes = 1024 * 1024;
      const redis = await connect({ enableAutoPipelining, bounds: { maxBytes, policy: "reject" } });
      server.pause();
      let refused = 0;
      for (let i = 0; i < 5000; i++) redis.incr("n").catch(() => refused++);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      // A single call takes 780 to 1,000 bytes.
      const taken = redis.commandQueue.length + redis.autoPipelineQueueSize;
      expect(taken).to.be.within(maxBytes / 1200, maxBytes / 700);
      expect(refused).to.equal(5000 - taken);
    });

    it(`what is refused was never sent, ${mode}`, async () => {
      const redis = await connect({ enableAutoPipelining, bounds: { maxCommands: 100, policy: "reject" } });
      server.pause();
      const outcomes = Promise.allSettled(Array.from({ length: 150 }, () => redis.incr("n")));
      server.resume();
      const codes = (await outcomes).map((one) => (one.status === "fulfilled" ? "" : refusal(one.reason)));
      expect(codes).to.deep.equal([...Array(100).fill(""), ...Array(50).fill("BOUNDS_EXCEEDED")]);
      expect(await redis.get("n")).to.equal("100");
    });

    it(`memory stays bounded however much is asked for, ${mode}`, async () => {
      const redis = await connect({ enableAutoPipelining, bounds: { maxCommands: 500, policy: "reject" } });
      server.pause();
      const before = await heldBytes();
      let refused = 0;
      const taken: Promise<unknown>[] = [];
      for (let round = 0; round < 100; round++) {
        for (let i = 0; i < 1000; i++) {
          const outcome = redis.set(`k:${i}`, "v".repeat(200)).catch(() => refused++);
          if (round === 0 && i < 500) taken.push(outcome);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect((await heldBytes()) - before).to.be.below(2_000_000);
      server.resume();
      await Promise.all(taken);
      expect(refused).to.equal(100_000 - 500);
    });

    it(`callers who give up leave nothing behind, ${mode}`, async () => {
      const redis = await connect({ enableAutoPipelining, commandTimeout: 20, bounds: { maxCommands: 100 } });
      server.pause();
      const callers = async (rounds: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          const outcomes = await Promise.allSettled(
            Array.from({ length: 1000 }, () => redis.set("k", GIVEN_UP_VALUE)),
          );
          expect(outcomes.every(({ status }) => status === "rejected")).to.equal(true);
        }
      };
      await callers(GIVEN_UP / 1000);
      // What the socket took before it was full stays; of the rest, those that settled are swept out some thousands
      // at a time.
      expect(redis.commandQueue.length).to.be.below((2 / 3) * GIVEN_UP);
    });
  }

  it("pipelines are admitted whole; one that is larger than the bounds when it is alone", async () => {
    const redis = await connect({ bounds: { maxCommands: 100 } });
    server.pause();
    const runs = [60, 60, 250, 10].map((size) => {
      const pipeline = redis.pipeline();
      for (let i = 0; i < size; i++) pipeline.incr("n");
      return pipeline.exec();
    });
    const last = redis.incr("n");
    expect(redis.commandQueue.length).to.equal(60);
    server.resume();
    const rows = (await Promise.all(runs)).flat() as [null, number][];
    expect(rows.map(([, value]) => value)).to.deep.equal(Array.from({ length: 380 }, (_, i) => i + 1));
    expect(await last).to.equal(381);
  });

  it("a pipeline or transaction that is refused has the error in its rows, or rejects", async () => {
    const redis = await connect({ bounds: { maxCommands: 3, policy: "reject" } });
    server.pause();
    const first = redis.pipeline().incr("n").incr("n").exec();
    const refused = redis.pipeline().incr("n").incr("n").exec();
    const transaction = redis
      .multi()
      .incr("n")
      .exec()
      .catch((error: Failure) => error);
    server.resume();
    expect(await first).to.deep.equal([
      [null, 1],
      [null, 2],
    ]);
    expect((await refused)?.map(([error]) => (error as Failure).code)).to.deep.equal([
      "BOUNDS_EXCEEDED",
      "BOUNDS_EXCEEDED",
    ]);
    expect(await transaction).to.have.property("code", "BOUNDS_EXCEEDED");
    expect(await redis.get("n")).to.equal("2");
  });

  it("a bulk stays within them and loses nothing", async () => {
    const redis = await connect({ bounds: { maxCommands: 50 } });
    const commands = Array.from({ length: 2000 }, () => ["incr", "n"]);
    const summary = await redis.bulk(commands, { batchSize: 40, inFlight: 4 }).summary();
    expect(summary).to.include({ settled: 2000, failed: 0 });
    expect(await redis.get("n")).to.equal("2000");
  });

  it("pipelines of callers who give up leave nothing behind", async () => {
    const redis = await connect({ commandTimeout: 10, bounds: { maxCommands: 2000 } });
    server.pause();
    const callers = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const pipeline = redis.pipeline();
        for (let i = 0; i < 2000; i++) pipeline.set("k", GIVEN_UP_VALUE);
        await pipeline.exec();
      }
    };
    await callers(GIVEN_UP / 2000);
    expect(redis.commandQueue.length).to.be.below((2 / 3) * GIVEN_UP);
  });

  it("nothing piles up in the socket, in whatever way commands are issued", async () => {
    const value = "v".repeat(1000);
    const ways: Record<string, (redis: Redis) => Promise<unknown>> = {
      single: (redis) => Promise.all(Array.from({ length: 20_000 }, (_, i) => redis.set(`k:${i}`, value))),
      pipeline: (redis) => {
        const pipeline = redis.pipeline();
        for (let i = 0; i < 20_000; i++) pipeline.set(`k:${i}`, value);
        return pipeline.exec();
      },
      pipelines: (redis) =>
        Promise.all(
          Array.from({ length: 40 }, () => {
            const pipeline = redis.pipeline();
            for (let i = 0; i < 500; i++) pipeline.set(`k:${i}`, value);
            return pipeline.exec();
          }),
        ),
    };
    for (const [way, issue] of Object.entries(ways)) {
      for (const enableAutoPipelining of [false, true]) {
        const redis = await connect({ enableAutoPipelining });
        server.pause();
        const outcome = issue(redis);
        let most = 0;
        for (let turn = 0; turn < 20; turn++) {
          await new Promise((resolve) => setImmediate(resolve));
          most = Math.max(most, redis.stream?.writableLength ?? 0);
        }
        server.resume();
        await outcome;
        expect(most, `${way}, auto-pipelining ${enableAutoPipelining}`).to.be.below(SOCKET_BYTES);
      }
    }
  });
});

describe("bounds, no connection", () => {
  for (const policy of ["wait", "reject"] as const) {
    it(`hold for the offline queue, ${policy}`, async () => {
      const server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
      const redis = new Redis({
        host: server.host,
        port: server.port,
        lazyConnect: true,
        bounds: { maxCommands: 20, policy },
      });
      try {
        await redis.connect();
        const ended = new Promise((resolve) => redis.once("close", resolve));
        redis.on("error", () => {});
        await server.kill();
        await ended;
        const outcomes = Promise.allSettled(Array.from({ length: 100 }, () => redis.incr("n")));
        expect(redis.offlineQueue.length).to.equal(20);
        await server.start();
        const refused = (await outcomes).filter(({ status }) => status === "rejected");
        expect(refused).to.have.length(policy === "wait" ? 0 : 80);
        expect(await redis.get("n")).to.equal(policy === "wait" ? "100" : "20");
      } finally {
        await closeClient(redis);
        await server.stop();
      }
    });
  }
});
