/**
 * Guarantee 7, first half: a dead connection is noticed and left in seconds with default options, and a
 * server that is merely slow, paused or stopped is waited for: nothing that may still run is
 * sent a second time.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { LINK } from "../../src/client/redis";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { outcomeOf } from "../support/outcome";
import { peerReports } from "../support/peer-reports";
import { startServer } from "../support/shared-servers";
import { Throttle } from "../support/throttle";

const QUICK = { idleMs: 60, probeTimeoutMs: 60 };
/** For connections beside which the server answers, however long this machine takes for the answer. */
const QUICK_TO_ASK = { idleMs: 60, probeTimeoutMs: 2000 };
const DEFAULT_LEAST_MS = 4900;
const LONG = process.env.SLUICE_LONG === "1";

describe("dead peers", () => {
  const injections = countInjections("connections that fell silent");
  let server: ServerProcess;
  let proxy: FaultProxy;
  let redis: Redis;
  let control: Redis;
  let reports: string[];

  before(async () => {
    server = await startServer(ServerKind.Redis, { config: { "enable-debug-command": "yes" } });
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    control = new Redis({ host: server.host, port: server.port, watchdog: false });
    await control.flushall();
  });
  afterEach(async () => {
    await Promise.all([redis, control].map(closeClient));
    await proxy.stop();
  });

  /** Connects; `reports` tells what the client says about its peer. */
  async function connect(options: RedisOptions = {}): Promise<void> {
    redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1, ...options });
    reports = peerReports(redis);
    await untilReady(redis);
  }

  /** The present connections swallow everything; new ones work. */
  function cutSilently(direction?: Direction): void {
    injections.add();
    proxy.isolate(direction);
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  describe("half-open connections", () => {
    for (const direction of [undefined, Direction.ToClient, Direction.ToServer]) {
      it(`are left, silent ${direction ?? "both ways"}`, async () => {
        await connect({ watchdog: QUICK_TO_ASK });
        cutSilently(direction);
        const startedAt = performance.now();
        expect(await redis.set("dead:a", 1)).to.equal("OK");
        expect(performance.now() - startedAt).to.be.below(DEFAULT_LEAST_MS);
        expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
      });
    }

    for (const protocol of [2, 3] as const) {
      it(`protocol ${protocol}`, async () => {
        await connect({ watchdog: QUICK_TO_ASK, protocol });
        cutSilently();
        expect(await redis.get("dead:a")).to.equal(null);
        expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
      });
    }

    it("are left after a rest in which nothing was due", async () => {
      await connect({ watchdog: QUICK_TO_ASK });
      await pause(400);
      expect(redis[LINK].connection?.silenceListener?.isAsleep).to.equal(true);
      for (let call = 0; call < 2; call++) {
        cutSilently();
        expect(await redis.set("dead:a", 1)).to.equal("OK");
      }
      expect(reports).to.deep.equal(["DEAD_CONNECTION", "DEAD_CONNECTION"]);
    });

    it("with default options, in seconds", async function () {
      this.timeout(60_000);
      await connect({});
      cutSilently();
      const startedAt = performance.now();
      expect(await redis.set("dead:a", 1)).to.equal("OK");
      expect(performance.now() - startedAt).to.be.within(DEFAULT_LEAST_MS, 10_000);
      expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
    });

    it("to a host that takes no connections either", async () => {
      await connect({ watchdog: QUICK_TO_ASK, maxRetriesPerRequest: 1 });
      cutSilently();
      proxy.refuse();
      const outcome = await outcomeOf(redis.get("dead:a"));
      expect(outcome[1]).to.match(/^OUTCOME_UNKNOWN: Reached the max retries/);
      expect(reports[0]).to.equal("DEAD_CONNECTION");
    });

    it("under a write that may have run: named, not repeated, where the policy says so", async () => {
      await connect({ watchdog: QUICK_TO_ASK, retryPolicy: "at-most-once" });
      cutSilently(Direction.ToClient);
      expect((await outcomeOf(redis.incr("dead:n")))[1]).to.match(/^OUTCOME_UNKNOWN/);
      expect(await control.get("dead:n")).to.equal("1");
    });

    it("under a blocking command, once its own time is over", async () => {
      await connect({ watchdog: QUICK_TO_ASK });
      cutSilently();
      const startedAt = performance.now();
      expect(await redis.blpop("dead:list", 0.3)).to.equal(null);
      expect(performance.now() - startedAt).to.be.above(500);
      expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
    });

    it("a client that is closed meanwhile leaves no probe behind", async () => {
      await connect({ watchdog: { idleMs: 20, probeTimeoutMs: 60_000 }, disconnectTimeout: 50 });
      proxy.fallSilent();
      const outcome = outcomeOf(redis.get("dead:a"));
      while (proxy.counters.connections < 2) await pause(5);
      await closeClient(redis);
      expect((await outcome)[1]).to.match(/Connection is closed/);
    });
  });

  describe("a server at work", () => {
    async function expectPatience(call: Promise<unknown>, expected: unknown): Promise<void> {
      expect(await outcomeOf(call, 10_000)).to.deep.equal(["fulfilled", expected]);
      expect(reports.filter((code) => code !== "SERVER_BUSY")).to.deep.equal([]);
    }

    for (const protocol of [2, 3] as const) {
      it(`a slow script runs once, protocol ${protocol}`, async () => {
        await connect({ watchdog: QUICK, protocol });
        const lua = `redis.call('incr', KEYS[1])
          local t = redis.call('time'); local until_ = t[1] * 1000 + t[2] / 1000 + 700
          repeat t = redis.call('time') until t[1] * 1000 + t[2] / 1000 > until_
          return redis.call('get', KEYS[1])`;
        await expectPatience(redis.eval(lua, 1, "dead:n"), "1");
        expect(reports).to.deep.equal(["SERVER_BUSY"]);
        expect(await control.get("dead:n")).to.equal("1");
      });
    }

    it("a script beyond its time limit, when the server says BUSY to others", async () => {
      await control.config("SET", "busy-reply-threshold", "50");
      await connect({ watchdog: QUICK });
      const lua = `local t = redis.call('time'); local until_ = t[1] * 1000 + t[2] / 1000 + 600
        repeat t = redis.call('time') until t[1] * 1000 + t[2] / 1000 > until_
        return redis.call('incr', KEYS[1])`;
      await expectPatience(redis.eval(lua, 1, "dead:n"), 1);
      await control.config("SET", "busy-reply-threshold", "5000");
      expect(reports).to.deep.equal(["SERVER_BUSY"]);
    });

    for (const protocol of [2, 3] as const) {
      for (const mode of ["ALL", "WRITE"] as const) {
        it(`CLIENT PAUSE ${mode}, protocol ${protocol}`, async () => {
          await connect({ watchdog: QUICK, protocol });
          await control.call("client", "pause", "500", mode);
          await expectPatience(redis.incr("dead:n"), 1);
          expect(await redis.get("dead:n")).to.equal("1");
        });
      }
    }

    it("DEBUG SLEEP", async () => {
      await connect({ watchdog: QUICK });
      await expectPatience(redis.debug("SLEEP", "0.5"), "OK");
    });

    it("a stopped process goes on where it was", async () => {
      await connect({ watchdog: QUICK });
      process.kill(server.pid, "SIGSTOP");
      const call = redis.incr("dead:n");
      await pause(500);
      expect(reports).to.deep.equal(["SERVER_BUSY"]);
      process.kill(server.pid, "SIGCONT");
      await expectPatience(call, 1);
      expect(redis.status).to.equal("ready");
    });

    it("blocking commands and WAIT are no sign of anything", async () => {
      await connect({ watchdog: QUICK });
      const popped = redis.blpop("dead:list", 0);
      await pause(400);
      await control.rpush("dead:list", "x");
      await expectPatience(popped, ["dead:list", "x"]);
      await redis.set("dead:a", 1);
      await expectPatience(redis.wait(1, 300), 0);
      expect(await redis.xread("BLOCK", 200, "STREAMS", "dead:stream", "$")).to.equal(null);
      expect(reports).to.deep.equal([]);
    });

    it("a large value on a slow line is no sign of anything", async () => {
      const throttle = await Throttle.start({ host: server.host, port: server.port }, 4 * 1024 * 1024);
      try {
        await connect({ port: throttle.port, watchdog: { idleMs: 300, probeTimeoutMs: 500 } });
        await expectPatience(redis.set("dead:large", Buffer.alloc(6 * 1024 * 1024)), "OK");
        expect(throttle.connections).to.be.above(1);
      } finally {
        await closeClient(redis);
        await throttle.stop();
      }
    });
  });

  it("nothing is asked while nothing waits, and nothing at all when switched off", async () => {
    await connect({ watchdog: QUICK });
    await pause(300);
    expect(proxy.counters.connections).to.equal(1);
    await closeClient(redis);
    await connect({ watchdog: false });
    cutSilently();
    const outcome = outcomeOf(redis.get("dead:a"));
    await pause(300);
    expect(proxy.counters.connections).to.equal(2);
    await closeClient(redis);
    expect((await outcome)[0]).to.equal("rejected");
  });

  it("credentials that the probe cannot get are no verdict", async () => {
    let calls = 0;
    const fake = await FakeServer.start((words) => (words[0] === "get" ? NO_REPLY : undefined));
    const credentials = (): { password?: string } => {
      if (++calls > 1) throw new Error("no more");
      return {};
    };
    await connect({ port: fake.port, watchdog: QUICK, credentials });
    try {
      const outcome = outcomeOf(redis.get("a"));
      await pause(300);
      expect(reports).to.deep.equal(["SERVER_BUSY"]);
      await closeClient(redis);
      expect((await outcome)[0]).to.equal("rejected");
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("many times over", async function () {
    this.timeout(240_000);
    const rounds = LONG ? 300 : 10;
    await connect({ watchdog: QUICK_TO_ASK });
    for (let round = 1; round <= rounds; round++) {
      cutSilently(round % 3 === 0 ? Direction.ToServer : undefined);
      const replies = await Promise.all([redis.incr("dead:n"), redis.get("dead:a"), redis.ping()]);
      expect(replies).to.deep.equal([round, null, "PONG"]);
    }
    expect(reports).to.have.length(rounds);
  });
});
