/**
 * Commands that their callers have given up (time limit, abort signal) at every point of their
 * way: they are not sent again, nothing of a transaction runs without the rest, and the session
 * with the server (database, guarded keys) stays the one that later commands were issued for.
 */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { codeOf, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

describe("commands that were given up", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;

  function connect(options: RedisOptions = {}): Redis {
    redis = fixture.connect(options);
    return redis;
  }

  it("an aborted SELECT leaves later commands in the database they were issued for", async () => {
    await untilReady(connect());
    const abort = new AbortController();
    const selected = codeOf(redis.with({ signal: abort.signal }).select(1));
    const written = redis.set("given-up:db", "here");
    abort.abort();
    expect(await selected).to.equal("ABORTED_BY_SIGNAL");
    expect(await written).to.equal("OK");
    await fixture.control.select(1);
    expect(await fixture.control.get("given-up:db")).to.equal("here");
  });

  it("an aborted WATCH still guards", async () => {
    await untilReady(connect());
    const abort = new AbortController();
    const watched = codeOf(redis.with({ signal: abort.signal }).watch("given-up:w"));
    abort.abort();
    expect(await watched).to.equal("ABORTED_BY_SIGNAL");
    await fixture.control.set("given-up:w", 1);
    expect(await redis.multi().set("given-up:x", 1).exec()).to.equal(null);
  });

  it("a transaction whose MULTI was given up while queued runs no part of it", async () => {
    connect({ lazyConnect: true });
    const abort = new AbortController();
    const opened = codeOf(redis.with({ signal: abort.signal }).multi({ pipeline: false }));
    const member = codeOf(redis.set("given-up:part", 1));
    const done = codeOf(redis.exec());
    abort.abort();
    expect(await Promise.all([opened, member, done])).to.deep.equal([
      "ABORTED_BY_SIGNAL",
      "ABORTED",
      "ABORTED",
    ]);
    expect(await redis.get("given-up:part")).to.equal(null);
    expect(await redis.multi().set("given-up:part", 2).exec()).to.deep.equal([[null, "OK"]]);
  });

  it("a transaction that loses its MULTI before it is written is not written", async () => {
    await untilReady(connect({ flushPolicy: "turn" }));
    const commands = watchCommands(redis);
    const outcome = codeOf(redis.multi().set("given-up:a", 1).set("given-up:b", 1).exec());
    // MULTI times out on its own: what a deadline between two ticks does.
    commands[0]?.reject(new Error("given up"));
    expect(await outcome).to.equal("ABORTED");
    expect(await fixture.control.mget("given-up:a", "given-up:b")).to.deep.equal([null, null]);
    expect(await redis.ping()).to.equal("PONG");
  });

  it("a transaction that loses a member after it was written is not sent again", async () => {
    const seen: string[] = [];
    const fake = await FakeServer.start((words, { number }) => {
      if (!["multi", "set", "exec"].includes(words[0] as string)) return undefined;
      seen.push(`${number} ${words[0]}`);
      return NO_REPLY;
    });
    connect({ port: fake.port });
    try {
      await untilReady(redis);
      const commands = watchCommands(redis);
      const outcome = codeOf(redis.multi().set("a", 1).set("b", 1).exec());
      while (seen.length < 4) await new Promise((resolve) => setImmediate(resolve));
      commands[1]?.reject(new Error("given up"));
      const again = new Promise((resolve) => redis.once("ready", resolve));
      fake.dropConnections();
      expect(await outcome).to.equal("OUTCOME_UNKNOWN");
      await again;
      expect(seen).to.deep.equal(["1 multi", "1 set", "1 set", "1 exec"]);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("a script that is not known any more is not sent again for nobody", async () => {
    await untilReady(connect());
    redis.defineCommand("count", { lua: "return redis.call('incr', KEYS[1])", numberOfKeys: 1 });
    const count = (redis as unknown as { count(key: string): Promise<number> }).count.bind(redis);
    await count("given-up:n");
    await fixture.control.script("FLUSH");
    const abort = new AbortController();
    const limited = redis.with({ signal: abort.signal }) as unknown as typeof redis & {
      count(key: string): Promise<number>;
    };
    const call = codeOf(limited.count("given-up:n"));
    // The flush was booked before.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    abort.abort();
    expect(await call).to.equal("ABORTED_BY_SIGNAL");
    await redis.ping();
    expect(await fixture.control.get("given-up:n")).to.equal("1");
    expect(await count("given-up:n")).to.equal(2);
  });

  it("a script that says NOSCRIPT itself is believed", async () => {
    await untilReady(connect());
    const lua = "return redis.error_reply('NOSCRIPT from within')";
    redis.defineCommand("liar", { lua, numberOfKeys: 0 });
    const liar = (redis as unknown as { liar(): Promise<unknown> }).liar.bind(redis);
    expect(await outcomeOf(liar())).to.deep.equal(["rejected", "REPLY: NOSCRIPT from within"]);
    expect(await outcomeOf(liar())).to.deep.equal(["rejected", "REPLY: NOSCRIPT from within"]);
  });

  describe("SELECT inside a transaction that does not run", () => {
    it("EXEC under a changed WATCH", async () => {
      await untilReady(connect());
      await redis.watch("given-up:w");
      await fixture.control.set("given-up:w", 1);
      expect(await redis.multi().select(1).exec()).to.equal(null);
      await redis.set("given-up:where", 1);
      expect(await fixture.control.get("given-up:where")).to.equal("1");
      expect(redis.condition?.select).to.equal(0);
    });

    it("DISCARD returns to the database before", async () => {
      await untilReady(connect());
      await redis.multi({ pipeline: false });
      await redis.select(1);
      await redis.discard();
      await redis.set("given-up:where", 1);
      expect(await fixture.control.get("given-up:where")).to.equal("1");
      expect(redis.condition?.select).to.equal(0);
    });

    it("a database that does not exist", async () => {
      await untilReady(connect());
      const rows = (await redis.multi().select(99).exec()) as [Error | null, unknown][];
      expect(rows[0]?.[0]).to.be.an("error");
      await redis.ping();
      await redis.set("given-up:where", 1);
      expect(await fixture.control.get("given-up:where")).to.equal("1");
      expect(redis.condition?.select).to.equal(0);
    });
  });

  it("over a thousand parts of a batch, and of what waits for room, end without a deep stack", async () => {
    connect({ bounds: { maxCommands: 1 } });
    await untilReady(redis);
    const waiting = Array.from({ length: 10_000 }, (_, i) => codeOf(redis.get(`given-up:${i}`)));
    // Commands that were issued before are written, whatever the bounds.
    redis.disconnect();
    expect([...new Set(await Promise.all(waiting))]).to.deep.equal(["fulfilled"]);
    const pipeline = redis.pipeline();
    for (let i = 0; i < 10_000; i++) pipeline.get("a");
    const rows = (await pipeline.exec({ batchSize: 1 })) as [Error | null, unknown][];
    expect(rows).to.have.length(10_000);
    expect(rows.every(([error]) => error !== null)).to.equal(true);
  });

  it("do not pile up behind a peer that takes nothing", async () => {
    const { proxy } = fixture;
    connect({ watchdog: false, commandTimeout: 20 });
    await untilReady(redis);
    proxy.stall("toServer");
    // Fills all buffers on the way, so that nothing more can be written.
    const unlimited = redis.with({ timeout: Number.POSITIVE_INFINITY });
    const filler = codeOf(unlimited.set("given-up:big", "x".repeat(1 << 24)));
    await waitUntil(async () => redis.stream?.writableNeedDrain === true, {
      timeoutMs: 5000,
      what: "the socket to be full",
    });
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: 10_000 }, () => codeOf(redis.get("given-up:a")));
      expect(new Set(await Promise.all(calls))).to.have.keys("COMMAND_TIMEOUT");
    }
    expect(redis.commandQueue.length).to.be.below(11_000);
    await closeClient(redis);
    expect(await filler).to.equal("OUTCOME_UNKNOWN");
  });

  it("a BLPOP that waits for long over bad lines is not given up", async () => {
    const { proxy } = fixture;
    connect({ maxLossesPerCommand: 1 });
    await untilReady(redis);
    const popped = outcomeOf(redis.blpop("given-up:list", 0), 5000);
    await new Promise((resolve) => setTimeout(resolve, 1050));
    const again = new Promise((resolve) => redis.once("ready", resolve));
    proxy.cutAll("reset");
    await again;
    await fixture.control.rpush("given-up:list", "x");
    expect(await popped).to.deep.equal(["fulfilled", ["given-up:list", "x"]]);
  });

  it("SHUTDOWN is never sent again", async () => {
    let count = 0;
    const fake = await FakeServer.start((words, connection) => {
      if (words[0] !== "shutdown") return undefined;
      count++;
      connection.socket.destroy();
      return NO_REPLY;
    });
    connect({ port: fake.port });
    try {
      const again = new Promise((resolve) => redis.on("reconnecting", resolve));
      expect(await codeOf(redis.shutdown())).to.equal("OUTCOME_UNKNOWN");
      await again;
      expect(await redis.ping()).to.equal("PONG");
      expect(count).to.equal(1);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});

/** All commands that are handed over from now on. */
function watchCommands(redis: Redis): { reject(error: Error): void }[] {
  const commands: { reject(error: Error): void }[] = [];
  const builtIn = Redis.prototype.sendCommand;
  redis.sendCommand = function (command) {
    commands.push(command);
    return builtIn.call(this, command);
  };
  return commands;
}
