/** The figures of `stats()` against what others have counted: a proxy, the socket, the program itself. */

import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Command, IGNORED } from "../../src/command/command";
import { specOf } from "../../src/command/command-table";
import { costOf } from "../../src/command/size";
import { AbstractConnector, Redis } from "../../src/index";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { startServer } from "../support/shared-servers";

/** Counts the writes that a client makes, at its sockets. */
class CountingConnector extends AbstractConnector {
  static writes = 0;

  constructor(private readonly options: RedisOptions) {
    super();
  }

  override async connect(): Promise<Socket> {
    const socket = connect({ port: this.options.port as number, host: "127.0.0.1", noDelay: true });
    const { write } = socket;
    socket.write = ((...args: unknown[]) => {
      CountingConnector.writes++;
      return Reflect.apply(write, socket, args) as boolean;
    }) as Socket["write"];
    this.stream = socket;
    return socket;
  }
}

/** Calls of a program, counted by the program. */
class Books {
  issued = 0;
  failed = 0;

  async note<T>(calls: number, work: Promise<T>): Promise<T> {
    this.issued += calls;
    return work;
  }
}

async function until(condition: () => boolean): Promise<void> {
  await waitUntil(async () => condition(), { timeoutMs: 10_000, what: condition.toString() });
}

describe("stats", () => {
  let server: ServerProcess;
  let proxy: FaultProxy;
  let control: Redis;
  let redis: Redis;

  before(async () => {
    server = await startServer(ServerKind.Redis, {});
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    control = new Redis({ host: server.host, port: server.port });
    await control.flushall();
  });
  afterEach(async () => {
    await Promise.all([redis, control].map(closeClient));
    await proxy.stop();
  });

  async function open(options: RedisOptions = {}): Promise<void> {
    redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    await untilReady(redis);
  }

  it("equal what the proxy, the sockets and the program have counted, with lost connections", async () => {
    CountingConnector.writes = 0;
    await open({ Connector: CountingConnector, watchdog: false });
    const books = new Books();
    await books.note(1, redis.set("text", "x"));
    for (let n = 0; n < 20; n++) await books.note(1, redis.set(`k${n}`, "v".repeat(n * 100)));
    const pipeline = redis.pipeline();
    for (let n = 0; n < 100; n++) pipeline.get(`k${n % 20}`);
    for (let n = 0; n < 3; n++) pipeline.incr("text");
    await books.note(103, pipeline.exec());
    await books.note(50, Promise.all(Array.from({ length: 50 }, (_, n) => redis.get(`k${n % 20}`))));
    await books.note(4, redis.multi().set("a", 1).incr("text").exec());
    for (let round = 0; round < 3; round++) {
      const waiting = books.note(1, redis.blpop(`list${round}`, 0));
      await until(() => proxy.commands.some(([, key]) => key === `list${round}`));
      proxy.cutAll();
      await until(() => redis.stats().connections.opened === round + 2);
      await control.rpush(`list${round}`, "x");
      await waiting;
    }
    const { commands, flushes, connections, queues, ...rest } = redis.stats();
    expect(commands).to.deep.equal({
      issued: books.issued,
      fulfilled: books.issued - 4,
      failed: 4,
      errors: { ERR: 4 },
    });
    expect(flushes.commands).to.equal(proxy.commands.length);
    expect(flushes.count).to.equal(CountingConnector.writes);
    expect(flushes.mean).to.equal(flushes.commands / flushes.count);
    expect(flushes.sizes.reduce((sum, count) => sum + count)).to.equal(flushes.count);
    expect(rest.bytesWritten).to.equal(proxy.counters.toServer.bytes);
    expect(rest.bytesRead).to.equal(proxy.counters.toClient.bytes);
    expect(connections).to.deep.equal({ attempts: 4, opened: 4, lost: 3, resent: 3, probes: 0 });
    expect(proxy.counters.connections).to.equal(4);
    expect(new Set(Object.values(queues))).to.deep.equal(new Set([0]));
    expect(rest).to.include({
      status: "ready",
      server: `127.0.0.1:${proxy.port}`,
      window: null,
      bounds: null,
    });
  });

  it("name failures by their codes, and what waits by where", async () => {
    await open({ bounds: { maxCommands: 3 } });
    proxy.fallSilent();
    const calls = [redis.with({ timeout: 30 }).get("a"), redis.get("b"), redis.get("c"), redis.get("d")];
    await until(() => redis.stats().queues.inFlight === 3);
    const get = new Command(specOf("get"), ["a"], false, IGNORED);
    expect(redis.stats().bounds).to.deep.equal({ commands: 3, bytes: 3 * costOf(get), waiting: 1 });
    expect((await failureOf(calls[0] as Promise<unknown>)).code).to.equal("COMMAND_TIMEOUT");
    expect(redis.stats().commands).to.deep.include({ issued: 4, failed: 1, errors: { COMMAND_TIMEOUT: 1 } });
    redis.disconnect();
    proxy.cutAll();
    await Promise.all(calls.map(failureOf));
    const { issued, fulfilled, failed } = redis.stats().commands;
    expect([issued, fulfilled, failed]).to.deep.equal([4, 0, 4]);
  });

  it("tell what waits in bytes: exactly of few, as an estimate of many", async () => {
    redis = new Redis({ host: proxy.host, port: proxy.port, lazyConnect: true });
    const calls = Array.from({ length: 10 }, () => redis.set("key", "v".repeat(97)));
    expect(redis.stats().queues).to.include({ offline: 10, offlineBytes: 1000 });
    await Promise.all(calls);
    proxy.fallSilent();
    const many = Array.from({ length: 1000 }, () => redis.get("0123456789"));
    await until(() => redis.stats().queues.inFlight === 1000);
    expect(redis.stats().queues).to.include({ unsentBytes: 0, inFlightBytes: 10_000 });
    redis.disconnect();
    proxy.cutAll();
    await Promise.allSettled(many);
    expect(redis.stats().queues.inFlightBytes).to.equal(0);
  });

  it("estimate the bytes of a pipeline from a sample", async () => {
    await open();
    proxy.fallSilent();
    const pipeline = redis.pipeline();
    for (let n = 0; n < 400; n++) pipeline.set(`key${n % 2}`, "v".repeat(n % 2 === 0 ? 500 : 1500));
    const rows = pipeline.exec();
    await until(() => redis.stats().queues.inFlight === 400);
    expect(redis.stats().queues.inFlightBytes).to.be.within(300_000, 500_000);
    redis.disconnect();
    proxy.cutAll();
    await rows;
    expect(redis.stats().queues.inFlightBytes).to.equal(0);
  });

  it("tell in bytes what the socket does not take and what is gathered", async () => {
    // Commands that may be merged are gathered until the end of the turn.
    await open({ enableAutoPipelining: { maxInFlight: 1, merge: true } });
    const first = redis.set("key", "v".repeat(97));
    expect(redis.stats().queues).to.include({ gathered: 1, gatheredBytes: 100 });
    await first;
    proxy.stall(Direction.ToServer);
    const value = Buffer.alloc(4_000_000);
    const calls = [redis.set("a", value), redis.pipeline().set("b", value).set("c", value).exec()];
    await until(() => redis.stats().stalls.count === 1);
    const later = redis.pipeline().set("d", "v".repeat(99)).get("0123456789").exec();
    const { unsent, unsentBytes, inFlightBytes } = redis.stats().queues;
    expect(unsent).to.be.at.least(2);
    expect(unsentBytes + inFlightBytes).to.equal(12_000_003 + 110);
    proxy.heal();
    await Promise.all([...calls, later]);
  });

  it("tell what waits offline", async () => {
    redis = new Redis({ host: proxy.host, port: proxy.port, lazyConnect: true });
    proxy.delay(50);
    const calls = Array.from({ length: 5 }, () => redis.get("a"));
    expect(redis.stats().queues.offline).to.equal(5);
    await Promise.all(calls);
    expect(redis.stats().queues.offline).to.equal(0);
  });

  it("measure the round trip, blocking commands left out", async () => {
    await open();
    proxy.delay(20);
    for (let n = 0; n < 10; n++) await redis.get("a");
    const before = redis.stats().roundTrip;
    expect(before.p99Ms).to.be.at.least(20);
    expect(before.meanMs).to.be.at.least(15);
    await redis.blpop("empty", 0.4);
    expect(redis.stats().roundTrip.count).to.equal(before.count);
    expect(redis.stats().roundTrip.meanMs).to.equal(before.meanMs);
  });

  it("count how often and how long the socket took no more", async () => {
    await open();
    proxy.stall(Direction.ToServer);
    const value = Buffer.alloc(4_000_000);
    const calls = [redis.set("a", value), redis.set("b", value)];
    await until(() => redis.stats().stalls.count === 1);
    expect(redis.stats().queues.socketBytes).to.be.above(0);
    proxy.heal();
    await Promise.all(calls);
    expect(redis.stats().stalls.ms).to.be.above(0);
    expect(redis.stats().queues.socketBytes).to.equal(0);
  });

  it("tell the window of automatic pipelining and what it has gathered", async () => {
    await open({ enableAutoPipelining: { merge: true } });
    const first = redis.get("a");
    expect(redis.stats().queues.gathered).to.equal(1);
    expect(redis.stats().window).to.be.at.least(1);
    await first;
    expect(redis.stats().queues.gathered).to.equal(0);
  });

  it("are frozen to the last part, and cheap", async () => {
    await open();
    const stats = redis.stats();
    for (const part of [stats, ...Object.values(stats)]) expect(Object.isFrozen(part)).to.equal(true);
    for (const part of [stats.commands.errors, stats.flushes.sizes])
      expect(Object.isFrozen(part)).to.equal(true);
    for (let n = 0; n < 1000; n++) redis.stats();
    const times = Array.from({ length: 200 }, () => {
      const start = performance.now();
      redis.stats();
      return performance.now() - start;
    });
    times.sort((a, b) => a - b);
    // 0.02 ms is what it may take on an idle machine.
    expect(times[100]).to.be.below(0.1);
  });

  it("hold no secret", async () => {
    redis = new Redis("redis://:geheim@127.0.0.1:1", { lazyConnect: true });
    expect(JSON.stringify(redis.stats())).to.not.contain("geheim");
  });
});
