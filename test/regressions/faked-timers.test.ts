/**
 * With faked timers, as test frameworks set them up, everything is written and answered; time limits
 * and retry delays follow the faked clock, and no timer of the client's own is in its list.
 */

import { expect } from "chai";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { type Cluster, Redis } from "../../src/index";
import { ClusterFixture, closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

type Methods = NonNullable<Exclude<Parameters<typeof useFakeTimers>[0], number | Date | undefined>["toFake"]>;
/** The functions that vitest fakes by default. Jest fakes ticks besides, but not those that sockets use. */
const NO_TICKS: Methods = [
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "setImmediate",
  "clearImmediate",
  "Date",
  "performance",
];

const real = { ...globalThis };
const realSleep = (ms: number): Promise<void> => new Promise((resolve) => real.setTimeout(resolve, ms));

for (const [framework, toFake] of Object.entries({ vitest: NO_TICKS, sinon: undefined })) {
  describe(`with faked timers as those of ${framework}`, () => {
    let server: ServerProcess;
    let clock: SinonFakeTimers | null = null;
    let pump: NodeJS.Timeout | undefined;
    let redis: Redis;
    before(async () => {
      server = await sharedServer(ServerKind.Redis);
    });
    afterEach(async () => {
      real.clearInterval(pump);
      clock?.restore();
      clock = null;
      await closeClient(redis);
    });

    /** Sockets of servers in this process, and errors of dialling, need ticks that are not faked. */
    function runTicks(faked: SinonFakeTimers): void {
      pump = real.setInterval(() => faked.runMicrotasks(), 1);
    }

    function fake(): SinonFakeTimers {
      clock = useFakeTimers(toFake === undefined ? {} : { toFake });
      return clock;
    }

    function open(options: object = {}): Redis {
      redis = new Redis({ port: server.port, host: server.host, ...options });
      redis.on("error", () => {});
      return redis;
    }

    async function exercise(client: Redis | Cluster): Promise<void> {
      expect(await client.set("key", "value")).to.equal("OK");
      expect(await Promise.all(Array.from({ length: 100 }, () => client.get("key")))).to.deep.equal(
        Array(100).fill("value"),
      );
      expect(await client.pipeline().get("key").get("key").exec()).to.deep.equal([
        [null, "value"],
        [null, "value"],
      ]);
      expect(await client.multi().get("key").exec()).to.deep.equal([[null, "value"]]);
      const summary = await client.bulk(Array.from({ length: 50 }, () => ["get", "key"])).summary();
      expect(summary.succeeded).to.equal(50);
      // Replies are outstanding, so that the next flush is that of a busy connection.
      const under = client.get("key");
      await new Promise((resolve) => real.setTimeout(resolve, 0));
      expect(await Promise.all([under, client.get("key")])).to.deep.equal(["value", "value"]);
      await new Promise<void>((resolve) => client.get("key", () => resolve()));
    }

    for (const enableAutoPipelining of [false, true]) {
      const on = enableAutoPipelining ? "on" : "off";

      it(`faked before connecting, auto-pipelining ${on}`, async () => {
        const faked = fake();
        await exercise(open({ enableAutoPipelining, commandTimeout: 1000 }));
        faked.runAll();
        await exercise(redis);
        faked.restore();
        await exercise(redis);
      });

      it(`faked after connecting, with calls outstanding, auto-pipelining ${on}`, async () => {
        open({ enableAutoPipelining, commandTimeout: 60_000, socketTimeout: 60_000 });
        await untilReady(redis);
        const before = [redis.get("x"), redis.ping()];
        const faked = fake();
        const between = [redis.get("x"), redis.ping()];
        expect(await Promise.all([...before, ...between])).to.deep.equal([null, "PONG", null, "PONG"]);
        await exercise(redis);
        if (toFake !== undefined) expect(faked.countTimers()).to.equal(0);
        const behind = redis.ping();
        faked.restore();
        expect(await behind).to.equal("PONG");
        await exercise(redis);
      });
    }

    it("runAll() ends while calls are outstanding, and fires their limits alone", async () => {
      let answerLate = (): void => {};
      const silent = await FakeServer.start(([name], { socket }) => {
        if (name !== "get") return undefined;
        answerLate = () => socket.write("$-1\r\n".repeat(50));
        return NO_REPLY;
      });
      try {
        const faked = fake();
        runTicks(faked);
        open({ port: silent.port, host: silent.host, commandTimeout: 30_000, watchdog: { idleMs: 20 } });
        await redis.ping();
        const calls = Array.from({ length: 50 }, () => redis.get("x").catch((error: Error) => error.message));
        await realSleep(50);
        faked.runAll();
        expect(new Set(await Promise.all(calls))).to.deep.equal(new Set(["Command timed out"]));
        answerLate();
        expect(await redis.ping()).to.equal("PONG");
      } finally {
        real.clearInterval(pump);
        clock?.restore();
        await closeClient(redis);
        await silent.stop();
      }
    });

    it("time limits are over exactly at their time by the faked clock", async () => {
      const silent = await FakeServer.start(([name]) =>
        name === "get" || name === "blpop" ? NO_REPLY : undefined,
      );
      try {
        open({ port: silent.port, host: silent.host, commandTimeout: 500, watchdog: false });
        await untilReady(redis);
        const faked = fake();
        runTicks(faked);
        const told: string[] = [];
        const note = (name: string) => () => void told.push(name);
        redis.get("x").catch(note("commandTimeout"));
        redis.with({ timeout: 300 }).get("x").catch(note("with()"));
        redis.blpop("x", 2).catch(note("blocking"));
        await realSleep(30);
        const settle = (): Promise<void> => realSleep(0);
        const steps: [number, string[]][] = [
          [299, []],
          [1, ["with()"]],
          [199, ["with()"]],
          [1, ["with()", "commandTimeout"]],
        ];
        for (const [ms, expected] of steps) {
          faked.tick(ms);
          await settle();
          expect(told).to.deep.equal(expected);
        }
        faked.tick(2000 + 100);
        await settle();
        expect(told).to.include("blocking");
      } finally {
        real.clearInterval(pump);
        clock?.restore();
        await closeClient(redis);
        await silent.stop();
      }
    });

    it("the delay of retryStrategy follows the faked clock, and goes on without it", async () => {
      const attempts: number[] = [];
      open({
        port: 1,
        host: "127.0.0.1",
        retryStrategy: (times: number) => {
          attempts.push(times);
          return 1000;
        },
        lazyConnect: true,
      });
      const faked = fake();
      runTicks(faked);
      const failed = async (count: number): Promise<void> => {
        for (let i = 0; i < 200 && attempts.length < count; i++) await realSleep(5);
        expect(attempts.length).to.equal(count);
      };
      redis.connect().catch(() => {});
      await failed(1);
      await realSleep(20);
      faked.tick(999);
      await realSleep(20);
      expect(attempts.length).to.equal(1);
      faked.tick(1);
      await failed(2);
      faked.restore();
      clock = null;
      await realSleep(1200);
      expect(attempts.length).to.be.at.least(3);
    });

    describe("a cluster", () => {
      const fixture = new ClusterFixture().install();

      it("connects, answers, and leaves no timer in the list", async () => {
        const faked = fake();
        const cluster = fixture.connect({ slotsRefreshInterval: 500 });
        try {
          await untilClusterReady(cluster);
          await exercise(cluster);
          faked.runAll();
          await exercise(cluster);
        } finally {
          faked.restore();
          clock = null;
          await closeCluster(cluster);
        }
      });
    });
  });
}
