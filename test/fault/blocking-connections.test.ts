/**
 * Guarantee 8: with `blockingConnections`, commands that block do not hold up the shared
 * connection; they follow its database, stay inside transactions, and end at once with the client.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Command, Redis } from "../../src/index";
import { FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { outcomeOf } from "../support/outcome";
import { sharedServer } from "../support/shared-servers";

const ROUNDS = process.env.SLUICE_LONG === "1" ? 100 : 10;
const MESSAGE_OF_CLOSED = "Connection is closed.";
/** Below every time limit of the client: without a word, disconnect() waits 2 s for the server. */
const AT_ONCE_MS = 1500;

function messageOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "fulfilled",
    (error: Error) => error.message,
  );
}

/** The longest of some round trips, in milliseconds. */
async function slowestOf(redis: Redis, count: number): Promise<number> {
  let slowest = 0;
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now();
    await redis.get("lease:key");
    slowest = Math.max(slowest, performance.now() - startedAt);
  }
  return slowest;
}

describe("blocking commands over extra connections", () => {
  const injections = countInjections("losses of connections that block");
  let server: ServerProcess;
  let control: Redis;
  const clients: Redis[] = [];
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  beforeEach(() => {
    control = connect();
  });
  afterEach(() => Promise.all(clients.splice(0).map(closeClient)));

  function connect(options: RedisOptions = {}): Redis {
    const redis = new Redis({ host: server.host, port: server.port, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  async function countConnections(): Promise<number> {
    return String(await control.client("LIST"))
      .trim()
      .split("\n").length;
  }

  async function untilBlocked(count: number): Promise<void> {
    while (Number(/blocked_clients:(\d+)/.exec(await control.info("clients"))?.[1]) !== count) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  it("GET goes on beside BLPOP key 0", async () => {
    const redis = connect({ blockingConnections: 2 });
    await untilReady(redis);
    const popped = redis.blpop("lease:list", 0);
    await untilBlocked(1);
    // A GET behind the BLPOP on one line would wait for ever.
    expect(await slowestOf(redis, 200)).to.be.below(1000);
    await control.rpush("lease:list", "x");
    expect(await popped).to.deep.equal(["lease:list", "x"]);
  });

  it("connections come back to the pool, and more commands than connections wait in order", async () => {
    const redis = connect({ blockingConnections: 2 });
    await untilReady(redis);
    const before = await countConnections();
    const popped = Array.from({ length: 6 }, () => redis.blpop("lease:list", 0));
    await untilBlocked(2);
    await control.rpush("lease:list", "a", "b", "c", "d", "e", "f");
    const values = (await Promise.all(popped)).map((pair) => pair?.[1]);
    expect(values.sort()).to.deep.equal(["a", "b", "c", "d", "e", "f"]);
    expect(await countConnections()).to.equal(before + 2);
  });

  it("an error reply leaves the connection in the pool", async () => {
    const redis = connect({ blockingConnections: 1 });
    await control.set("lease:text", "x");
    for (let round = 0; round < 3; round++) {
      expect(await messageOf(redis.blpop("lease:text", 0))).to.match(/^WRONGTYPE/);
    }
    const stats = await control.info("stats");
    const before = Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
    await messageOf(redis.blpop("lease:text", 0));
    expect(Number(/total_connections_received:(\d+)/.exec(await control.info("stats"))?.[1])).to.equal(
      before,
    );
  });

  for (const blockingConnections of [0, 1]) {
    it(`a BLPOP outlives any number of losses, ${blockingConnections} extra connections`, async () => {
      const redis = connect({ blockingConnections, retryStrategy: () => 1 });
      await untilReady(redis);
      const popped = redis.blpop("lease:list", 0);
      for (let loss = 0; loss < 6; loss++) {
        await untilBlocked(1);
        await control.client("KILL", "TYPE", "NORMAL", "SKIPME", "YES");
        injections.add();
        await untilBlocked(0);
      }
      await untilBlocked(1);
      await control.rpush("lease:list", "x");
      expect(await popped).to.deep.equal(["lease:list", "x"]);
    });
  }

  it("disconnect() ends them at once, and what waits for a connection too", async () => {
    const redis = connect({ blockingConnections: 1 });
    await untilReady(redis);
    const ends = [redis.blpop("lease:a", 0), redis.brpop("lease:b", 0)].map(messageOf);
    await untilBlocked(1);
    const startedAt = performance.now();
    redis.disconnect();
    expect(await Promise.all(ends)).to.deep.equal([MESSAGE_OF_CLOSED, MESSAGE_OF_CLOSED]);
    expect(performance.now() - startedAt).to.be.below(AT_ONCE_MS);
    await untilBlocked(0);
  });

  it("disconnect() ends them at once even if the server says nothing any more", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = connect({ host: proxy.host, port: proxy.port, blockingConnections: 1 });
    try {
      await untilReady(redis);
      const end = messageOf(redis.blpop("lease:a", 0));
      await untilBlocked(1);
      proxy.fallSilent();
      const startedAt = performance.now();
      redis.disconnect();
      expect(await end).to.equal(MESSAGE_OF_CLOSED);
      expect(performance.now() - startedAt).to.be.below(AT_ONCE_MS);
    } finally {
      await proxy.stop();
    }
  });

  it("a closed client opens no extra connection", async () => {
    const redis = connect({ blockingConnections: 1 });
    await untilReady(redis);
    const ended = new Promise((resolve) => redis.once("end", resolve));
    redis.disconnect();
    const draining = messageOf(redis.blpop("lease:a", 0));
    await ended;
    const before = await countConnections();
    expect(await draining).to.equal(MESSAGE_OF_CLOSED);
    expect(await messageOf(redis.blpop("lease:a", 0))).to.equal(MESSAGE_OF_CLOSED);
    expect(await countConnections()).to.equal(before);
  });

  it("the database follows, call by call", async () => {
    const redis = connect({ blockingConnections: 1, db: 2 });
    await control.select(2);
    await control.rpush("lease:db", "in two");
    await control.select(3);
    await control.rpush("lease:db", "in three");
    const [two, , three] = await Promise.all([
      redis.blpop("lease:db", 1),
      redis.select(3),
      redis.blpop("lease:db", 1),
      redis.select(2),
    ]);
    expect([two, three]).to.deep.equal([
      ["lease:db", "in two"],
      ["lease:db", "in three"],
    ]);
    expect(redis.condition?.select).to.equal(2);
  });

  it("a blocking command of a transaction opened by hand stays in it", async () => {
    const redis = connect({ blockingConnections: 1 });
    await redis.multi({ pipeline: false });
    const popped = redis.blpop("lease:none", 0);
    const set = redis.set("lease:key", 1);
    expect(await redis.exec()).to.deep.equal([
      [null, null],
      [null, "OK"],
    ]);
    expect(await Promise.all([popped, set])).to.deep.equal(["QUEUED", "QUEUED"]);
  });

  it("works without an offline queue, through sendCommand, and beside auto-pipelining", async () => {
    const redis = connect({ blockingConnections: 1, enableOfflineQueue: false, enableAutoPipelining: true });
    await untilReady(redis);
    expect(await outcomeOf(redis.blpop("lease:none", 0.01))).to.deep.equal(["fulfilled", null]);
    const popped = redis.sendCommand(new Command("blpop", ["lease:list", 0], { replyEncoding: "utf8" }));
    await untilBlocked(1);
    expect(await redis.ping()).to.equal("PONG");
    await control.rpush("lease:list", "x");
    expect(await popped).to.deep.equal(["lease:list", "x"]);
  });

  it("a time limit frees the server and the pool", async () => {
    const redis = connect({ blockingConnections: 1 });
    await untilReady(redis);
    // Long enough for the extra connection to be made and seen to block on a busy machine.
    const limited = messageOf(redis.with({ timeout: 1000 }).blpop("lease:a", 0));
    await untilBlocked(1);
    expect(await limited).to.match(/^Command timed out/);
    await untilBlocked(0);
    await control.rpush("lease:a", "kept");
    expect(await redis.blpop("lease:a", 1)).to.deep.equal(["lease:a", "kept"]);
  });

  it("a lost extra connection takes its command to the next one, again and again", async function () {
    this.timeout(ROUNDS * 2000);
    const redis = connect({ blockingConnections: 1, maxLossesPerCommand: ROUNDS + 1 });
    await untilReady(redis);
    const popped = redis.blpop("lease:list", 0);
    for (let round = 0; round < ROUNDS; round++) {
      await untilBlocked(1);
      const line = String(await control.client("LIST"))
        .split("\n")
        .find((one) => / flags=\S*b/.test(one));
      await control.client("KILL", "ID", String(/^id=(\d+)/.exec(String(line))?.[1]));
      injections.add();
      expect(await redis.ping()).to.equal("PONG");
    }
    await untilBlocked(1);
    await control.rpush("lease:list", "x");
    expect(await popped).to.deep.equal(["lease:list", "x"]);
  });

  it("GET beside BLPOP takes what GET takes alone", async () => {
    const redis = connect({ blockingConnections: 1 });
    await untilReady(redis);
    const medianOf = async (): Promise<number> => {
      const times: number[] = [];
      for (let i = 0; i < 300; i++) {
        const startedAt = performance.now();
        await redis.get("lease:key");
        times.push(performance.now() - startedAt);
      }
      return times.sort((a, b) => a - b)[150] as number;
    };
    await medianOf();
    const alone = await medianOf();
    const popped = redis.blpop("lease:list", 0);
    await untilBlocked(1);
    const beside = await medianOf();
    console.log(`      median GET: ${alone.toFixed(3)} ms alone, ${beside.toFixed(3)} ms beside BLPOP`);
    // One round trip, not the time of the BLPOP: the figures are printed for people.
    expect(beside).to.be.below(1000);
    await control.rpush("lease:list", "x");
    expect(await popped).to.deep.equal(["lease:list", "x"]);
  });
});
