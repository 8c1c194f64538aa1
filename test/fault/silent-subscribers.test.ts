/**
 * Guarantee 7 for those who only listen: nothing of theirs is unanswered that could grow old, so
 * a line that is silent is asked something. A dead one is left in seconds with default options,
 * and messages arrive again; nobody sees the answers, and nothing is asked while messages flow.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { peerReports } from "../support/peer-reports";
import { startServer } from "../support/shared-servers";

const QUICK = { idleMs: 60, probeTimeoutMs: 300 };
/** A client that was held up for twice its `idleMs` doubts its connection, which a busy machine must not cause. */
const PATIENT = { idleMs: 500, probeTimeoutMs: 300 };
const ROUNDS = process.env.SLUICE_LONG === "1" ? 150 : 5;

describe("silent subscribers", () => {
  const injections = countInjections("connections of subscribers that fell silent");
  let server: ServerProcess;
  let proxy: FaultProxy;
  let redis: Redis;
  let control: Redis;
  let reports: string[];
  let heard: string[];

  before(async () => {
    server = await startServer(ServerKind.Redis);
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    control = new Redis({ host: server.host, port: server.port, watchdog: false });
    await control.config("RESETSTAT");
  });
  afterEach(async () => {
    await Promise.all([redis, control].map(closeClient));
    await proxy.stop();
  });

  async function connect(options: RedisOptions): Promise<void> {
    redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1, ...options });
    heard = [];
    reports = peerReports(redis);
    for (const name of ["message", "pmessage", "smessage", "pong"])
      redis.on(name, (...words: unknown[]) => heard.push([name, ...words].join(" ")));
    await untilReady(redis);
  }

  /** Publishes until a message has arrived. */
  async function untilHeard(word: string, timeoutMs = 5000): Promise<void> {
    const arrives = async (): Promise<boolean> => {
      await control.publish("news", word);
      return heard.some((line) => line.endsWith(` news ${word}`));
    };
    await waitUntil(arrives, { timeoutMs, what: "the message" });
  }

  function cutSilently(direction?: Direction): void {
    injections.add();
    proxy.isolate(direction);
  }

  async function untilReported(count = 1): Promise<void> {
    const isTold = (): Promise<boolean> => Promise.resolve(reports.length >= count);
    await waitUntil(isTold, { timeoutMs: 5000, what: "the event" });
  }

  /** How often the server was asked, and how often it refused. */
  async function pings(): Promise<{ calls: number; refused: number }> {
    const stats = /cmdstat_ping:calls=(\d+).*rejected_calls=(\d+)/.exec(await control.info("commandstats"));
    return { calls: Number(stats?.[1] ?? 0), refused: Number(stats?.[2] ?? 0) };
  }

  for (const protocol of [2, 3] as const) {
    describe(`protocol ${protocol}`, () => {
      for (const direction of [undefined, Direction.ToClient, Direction.ToServer]) {
        it(`their line is left when it is dead ${direction ?? "both ways"}`, async () => {
          await connect({ watchdog: QUICK, protocol });
          await redis.subscribe("news");
          await redis.psubscribe("n*");
          await untilHeard("before");
          cutSilently(direction);
          await untilReported();
          await untilHeard("after");
          expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
        });
      }

      it("those of shard channels as well", async () => {
        await connect({ watchdog: QUICK, protocol });
        await redis.ssubscribe("shard");
        cutSilently();
        const arrives = async (): Promise<boolean> => {
          await control.spublish("shard", "there");
          return heard.includes("smessage shard there");
        };
        await waitUntil(arrives, { timeoutMs: 5000, what: "the message" });
        expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
      });

      it("with default options, in seconds", async function () {
        this.timeout(60_000);
        await connect({ protocol });
        await redis.subscribe("news");
        cutSilently();
        const startedAt = performance.now();
        await untilHeard("after", 20_000);
        expect(performance.now() - startedAt).to.be.below(12_000);
        expect(reports).to.deep.equal(["DEAD_CONNECTION"]);
      });

      it("a line that lives is asked, stays, and nobody hears of it", async () => {
        await connect({ watchdog: QUICK, protocol });
        await redis.subscribe("news");
        const asked = async (): Promise<boolean> => (await pings()).calls >= 3;
        await waitUntil(asked, { timeoutMs: 5000, what: "three questions" });
        await untilHeard("there");
        expect(new Set(heard)).to.deep.equal(new Set(["message news there"]));
        expect(await redis.ping("own")).to.deep.equal(protocol === 2 ? ["pong", "own"] : "own");
        expect(await redis.unsubscribe("news")).to.equal(0);
        expect([reports, proxy.counters.connections]).to.deep.equal([[], 1]);
      });

      it("nothing is asked while messages arrive", async () => {
        await connect({ watchdog: { idleMs: 3000 }, protocol });
        await redis.subscribe("news");
        for (let i = 0; i < 25; i++) {
          await control.publish("news", "tick");
          await sleep(100);
        }
        expect((await pings()).calls).to.equal(0);
      });

      it("who may not ask does so once, and keeps the line", async () => {
        await control.acl("SETUSER", "listener", "on", ">pw", "allchannels", "+@all", "-ping");
        await connect({ watchdog: QUICK, protocol, username: "listener", password: "pw" });
        await redis.subscribe("news");
        await sleep(500);
        expect((await pings()).refused).to.equal(1);
        await untilHeard("there");
        expect([reports, proxy.counters.connections]).to.deep.equal([[], 1]);
      });

      it("a stopped server is waited for", async () => {
        await connect({ watchdog: PATIENT, protocol });
        await redis.subscribe("news");
        process.kill(server.pid, "SIGSTOP");
        try {
          await untilReported();
        } finally {
          process.kill(server.pid, "SIGCONT");
        }
        await untilHeard("there");
        expect(reports).to.deep.equal(["SERVER_BUSY"]);
      });
    });
  }

  it("nothing is put into a transaction that was opened by hand", async () => {
    await connect({ watchdog: QUICK, protocol: 3 });
    await redis.subscribe("news");
    await redis.multi({ pipeline: false });
    await redis.set("silent:a", 1);
    await sleep(300);
    expect(await redis.exec()).to.deep.equal([[null, "OK"]]);
    await sleep(300);
    expect((await pings()).calls).to.be.above(0);
  });

  it("nothing is asked without subscriptions, nor when it is switched off", async () => {
    await connect({ watchdog: QUICK });
    await redis.subscribe("news");
    await redis.unsubscribe("news");
    const { calls } = await pings();
    await sleep(300);
    expect((await pings()).calls).to.equal(calls);
    await closeClient(redis);
    await connect({ watchdog: false });
    await redis.subscribe("news");
    await sleep(300);
    expect((await pings()).calls).to.equal(calls);
  });

  it("many times over", async function () {
    this.timeout(240_000);
    await connect({ watchdog: { idleMs: 30, probeTimeoutMs: 300 } });
    await redis.subscribe("news");
    for (let round = 1; round <= ROUNDS; round++) {
      cutSilently(round % 3 === 0 ? Direction.ToServer : undefined);
      await untilReported(round);
      await untilHeard(String(round));
    }
    expect(reports).to.have.length(ROUNDS);
  });
});
