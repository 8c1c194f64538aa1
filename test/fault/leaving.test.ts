/**
 * Guarantee 1, the end of a client: `disconnect()` and `quit()` at every moment of its life, with
 * and without an offline queue, resending and automatic pipelines. Every call settles exactly
 * once, the client ends, and a line that is cut in its handshake is made anew.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { outcomeOf } from "../support/outcome";
import { sharedServer } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
const CLOSED = /Connection is closed|isn't writeable|aborted|Outcome unknown/;

const MOMENTS = [
  "same run",
  "dialling",
  "handshaking",
  "waiting for replies",
  "draining",
  "reconnecting",
  "silent line",
] as const;
type Moment = (typeof MOMENTS)[number];

const WAYS: Record<string, (redis: Redis) => unknown> = {
  disconnect: (redis) => redis.disconnect(),
  quit: (redis) => redis.quit(),
  "quit with a time limit": (redis) => redis.quit({ timeout: 20 }),
  "quit, then disconnect": (redis) => {
    const left = redis.quit();
    redis.disconnect();
    return left;
  },
};

/** Calls of every kind; how often each has settled. */
function callAll(redis: Redis): { ends: Promise<unknown>[]; counts: number[] } {
  const counts: number[] = [];
  const ends: Promise<unknown>[] = [];
  const watch = (call: unknown): void => {
    const index = counts.push(0) - 1;
    const note = (): void => void (counts[index] = (counts[index] ?? 0) + 1);
    ends.push(Promise.resolve(call).then(note, note));
  };
  watch(redis.incr("leaving:n"));
  watch(redis.pipeline().incr("leaving:n").get("leaving:a").exec());
  watch(redis.multi().incr("leaving:n").get("leaving:a").exec());
  watch(redis.blpop("leaving:none", 0.01));
  watch(redis.with({ timeout: 5000 }).get("leaving:a"));
  watch(redis.eval("return 1", 0));
  const index = counts.push(0) - 1;
  ends.push(
    new Promise<void>((resolve) => {
      redis.get("leaving:a", () => {
        counts[index] = (counts[index] ?? 0) + 1;
        resolve();
      });
    }),
  );
  return { ends, counts };
}

function next(redis: Redis, event: string): Promise<void> {
  return new Promise((resolve) => redis.once(event, () => resolve()));
}

describe("leaving at any moment", function () {
  this.timeout(LONG ? 600_000 : 120_000);
  const injections = countInjections("endings and cuts of handshakes");
  let server: ServerProcess;
  let silent: FakeServer;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
    silent = await FakeServer.start(() => NO_REPLY);
  });
  after(() => silent.stop());

  /** A client at the given moment, with calls that wait. */
  async function bringTo(
    moment: Moment,
    [redis, proxy]: readonly [Redis, FaultProxy],
  ): Promise<ReturnType<typeof callAll>> {
    if (moment === "same run") return callAll(redis);
    if (moment === "dialling") {
      const calls = callAll(redis);
      await new Promise((resolve) => setImmediate(resolve));
      return calls;
    }
    if (moment === "handshaking") {
      const calls = callAll(redis);
      await next(redis, "connect");
      return calls;
    }
    await untilReady(redis);
    if (moment === "silent line") proxy.fallSilent();
    if (moment !== "reconnecting") {
      const calls = callAll(redis);
      if (moment === "draining") redis.quit().catch(() => {});
      await new Promise((resolve) => setImmediate(resolve));
      return calls;
    }
    const lost = next(redis, "reconnecting");
    proxy.cutAll("reset");
    await lost;
    return callAll(redis);
  }

  async function untilBlocked(count: number): Promise<void> {
    const isSo = async (): Promise<boolean> =>
      String(await server.command("INFO", "clients")).includes(`blocked_clients:${count}\r`);
    await waitUntil(isSo, { timeoutMs: 10_000, what: `${count} blocked clients` });
  }

  async function leaveAt(moment: Moment, way: string, options: RedisOptions): Promise<void> {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const target = moment === "dialling" || moment === "handshaking" ? silent : proxy;
    const retryStrategy = (): number => 25;
    const redis = new Redis({
      host: target.host,
      port: target.port,
      retryStrategy,
      disconnectTimeout: 30,
      ...options,
    });
    redis.on("error", () => {});
    const ended = next(redis, "end");
    try {
      const { ends, counts } = await bringTo(moment, [redis, proxy]);
      const left = outcomeOf(Promise.resolve(WAYS[way]?.(redis)), 20_000);
      // QUIT behind what is never answered waits for ever, as it should: the line is not dead yet.
      const isStuck = way === "quit" && (target === silent || moment === "silent line");
      if (isStuck) redis.disconnect();
      await Promise.all([...ends, ended]);
      const [state, value] = await left;
      if (state !== "fulfilled") expect(String(value)).to.match(CLOSED);
      expect(counts).to.deep.equal(counts.map(() => 1));
      expect(redis.status).to.equal("end");
      expect((await outcomeOf(redis.get("leaving:a")))[1]).to.match(CLOSED);
      injections.add();
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  }

  for (const way of Object.keys(WAYS)) {
    for (const moment of MOMENTS) {
      it(`${way}: ${moment}`, async () => {
        for (let round = 0; round < (LONG ? 10 : 1); round++) {
          for (const enableOfflineQueue of [true, false]) {
            for (const autoResendUnfulfilledCommands of [true, false]) {
              for (const enableAutoPipelining of [true, false]) {
                await leaveAt(moment, way, {
                  enableOfflineQueue,
                  autoResendUnfulfilledCommands,
                  enableAutoPipelining,
                });
              }
            }
          }
        }
      });
    }
  }

  for (const protocol of [2, 3] as const) {
    for (const direction of [Direction.ToServer, Direction.ToClient]) {
      it(`a handshake cut ${direction} is begun anew, protocol ${protocol}`, async () => {
        const proxy = await FaultProxy.start({ host: server.host, port: server.port });
        const step = LONG ? 1 : direction === Direction.ToServer ? 7 : 97;
        const limit = direction === Direction.ToServer ? 220 : LONG ? 1500 : 3000;
        try {
          for (let bytes = 1; bytes < limit; bytes += step) {
            proxy.cutAfter({ direction, bytes, style: bytes % 2 === 0 ? "reset" : "end" });
            const redis = new Redis({
              host: proxy.host,
              port: proxy.port,
              protocol,
              retryStrategy: () => 1,
              db: 1,
            });
            redis.on("error", () => {});
            const { ends, counts } = callAll(redis);
            await Promise.all(ends);
            expect(counts, `cut at ${bytes}`).to.deep.equal(counts.map(() => 1));
            expect(await redis.ping()).to.equal("PONG");
            await closeClient(redis);
            proxy.heal();
            injections.add();
          }
        } finally {
          await proxy.stop();
        }
      });
    }
  }

  it("a server that answers a part of the handshake and then nothing fails the attempt in time", async () => {
    for (const last of ["hello", "auth", "select", "info"]) {
      let isSilent = false;
      const fake = await FakeServer.start((words) => {
        isSilent ||= words[0] === last;
        return isSilent ? NO_REPLY : undefined;
      });
      const options = { host: fake.host, port: fake.port, username: "u", password: "p", db: 1 };
      const redis = new Redis({ ...options, connectTimeout: 40, retryStrategy: () => null });
      const errors: string[] = [];
      redis.on("error", (error: Error & { code?: string }) => errors.push(String(error.code)));
      const outcome = await outcomeOf(redis.get("a"));
      expect(outcome[1]).to.match(/^CONNECTION_CLOSED/);
      expect(errors, last).to.deep.equal(["ETIMEDOUT"]);
      await fake.stop();
      injections.add();
    }
  });

  for (const [name, call] of Object.entries({
    blpop: (redis: Redis) => redis.blpop("leaving:list", 0),
    brpop: (redis: Redis) => redis.brpop("leaving:list", 0),
    blmove: (redis: Redis) => redis.blmove("leaving:list", "leaving:other", "LEFT", "LEFT", 0),
    bzpopmin: (redis: Redis) => redis.bzpopmin("leaving:zset", 0),
    xread: (redis: Redis) => redis.xread("BLOCK", 0, "STREAMS", "leaving:stream", "$"),
  })) {
    for (const blockingConnections of [undefined, 1]) {
      it(`${name} on a cut line, ${blockingConnections ?? "no"} extra connections`, async () => {
        const proxy = await FaultProxy.start({ host: server.host, port: server.port });
        const place = { host: proxy.host, port: proxy.port, retryStrategy: () => 1, blockingConnections };
        try {
          for (let round = 0; round < (LONG ? 20 : 2); round++) {
            const redis = new Redis({ ...place, autoResendUnfulfilledCommands: false });
            redis.on("error", () => {});
            await untilReady(redis);
            const outcome = outcomeOf(call(redis));
            await untilBlocked(1);
            proxy.cutAll(round % 2 === 0 ? "reset" : "end");
            expect((await outcome)[1]).to.match(/^(OUTCOME_UNKNOWN|ABORTED)/);
            await closeClient(redis);
            await untilBlocked(0);
            injections.add();
          }
        } finally {
          await proxy.stop();
        }
      });
    }
  }
});
