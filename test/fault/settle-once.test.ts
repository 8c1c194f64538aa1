/**
 * Guarantee 1: every call settles exactly once, in every state. A fixed program of calls runs
 * over a line that is cut after every k-th byte, in both directions, with resending and the
 * offline queue on and off. The root hook compares commands made with commands settled.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { type CutStyle, Direction, FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";

interface Outcome {
  settled: number;
  doubled: number;
}

/** Counts how often each call of a program settles. */
class Ledger {
  private readonly counts: number[] = [];

  note(call: Promise<unknown>): Promise<void> {
    const index = this.counts.push(0) - 1;
    const count = (): void => {
      this.counts[index] = (this.counts[index] ?? 0) + 1;
    };
    return call.then(count, count);
  }

  /** The same for a callback. */
  withCallback(call: (callback: () => void) => void): Promise<void> {
    const index = this.counts.push(0) - 1;
    return new Promise((resolve) => {
      call(() => {
        this.counts[index] = (this.counts[index] ?? 0) + 1;
        resolve();
      });
    });
  }

  outcome(): Outcome {
    return {
      settled: this.counts.filter((count) => count > 0).length,
      doubled: this.counts.filter((count) => count > 1).length,
    };
  }

  get calls(): number {
    return this.counts.length;
  }
}

function runProgram(redis: Redis, ledger: Ledger): Promise<void>[] {
  const calls: Promise<unknown>[] = [
    redis.set("settle:a", "äöü€😀"),
    redis.get("settle:a"),
    redis.getBuffer("settle:a"),
    redis.incr("settle:n"),
    redis.pipeline().incr("settle:n").get("settle:a").lpush("settle:l", "1", "2").exec() as Promise<unknown>,
    redis.multi().incr("settle:n").get("settle:a").exec() as Promise<unknown>,
    redis.hset("settle:h", { f: "v", g: "w" }),
    redis.hgetall("settle:h"),
    redis.get("settle:a", "too many" as never),
    redis.mget("settle:a", "settle:b", "settle:n"),
    redis.eval("return {1,{2,'x'}}", 0),
    redis.blpop("settle:nothing", 0.01),
    redis.select(0),
    redis.ping(),
  ];
  const byCallback = ledger.withCallback((callback) => redis.get("settle:a", callback));
  return [byCallback, ...calls.map((call) => ledger.note(call))];
}

async function settleUnderCut(server: ServerProcess, cut: CutCase): Promise<Outcome & { calls: number }> {
  const proxy = await FaultProxy.start({ host: server.host, port: server.port });
  const redis = new Redis({
    host: proxy.host,
    port: proxy.port,
    retryStrategy: () => 1,
    autoResendUnfulfilledCommands: cut.isResending,
    enableOfflineQueue: cut.hasOfflineQueue,
    enableAutoPipelining: cut.isAutomatic,
    maxRetriesPerRequest: 5,
    // Without INFO and client info nearly all bytes are those of the program.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  redis.on("error", () => {});
  const ledger = new Ledger();
  try {
    await new Promise((resolve) => redis.once("ready", resolve));
    proxy.cutAll("end");
    proxy.cutAfter({ direction: cut.direction, bytes: cut.bytes, style: cut.style });
    await new Promise((resolve) => redis.once("ready", resolve)).catch(() => {});
    await Promise.all(runProgram(redis, ledger));
    return { ...ledger.outcome(), calls: ledger.calls };
  } finally {
    await closeClient(redis);
    await proxy.stop();
  }
}

interface CutCase {
  bytes: number;
  direction: Direction;
  style: CutStyle;
  isResending: boolean;
  hasOfflineQueue: boolean;
  isAutomatic: boolean;
}

describe("every call settles exactly once", () => {
  const injections = countInjections("cuts of the line under a program of calls");
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  for (const isResending of [true, false]) {
    for (const hasOfflineQueue of [true, false]) {
      for (const direction of [Direction.ToClient, Direction.ToServer]) {
        const title = `cut ${direction}, resend ${isResending}, offline queue ${hasOfflineQueue}`;
        it(title, async function () {
          this.timeout(240_000);
          const step = LONG ? 1 : 31;
          for (let bytes = 20; bytes < 1500; bytes += step) {
            const isAutomatic = bytes % 2 === 0;
            const style: CutStyle = bytes % 3 === 0 ? "reset" : "end";
            const cut = { bytes, direction, style, isResending, hasOfflineQueue, isAutomatic };
            const outcome = await settleUnderCut(server, cut);
            injections.add();
            expect(outcome, `cut at ${bytes}`).to.deep.equal({
              calls: outcome.calls,
              settled: outcome.calls,
              doubled: 0,
            });
          }
        });
      }
    }
  }

  const ways = {
    disconnect: (redis: Redis): unknown => redis.disconnect(),
    quit: (redis: Redis): unknown => redis.quit().catch(() => {}),
  };
  for (const [way, leave] of Object.entries(ways)) {
    it(`${way} while dialling, handshaking, reconnecting and draining`, async () => {
      const silent = await FakeServer.start(() => NO_REPLY);
      try {
        for (const moment of ["same run", "dialling", "handshaking", "reconnecting"] as const) {
          const port = moment === "reconnecting" ? 1 : silent.port;
          const redis = new Redis({
            host: "127.0.0.1",
            port,
            retryStrategy: () => 30,
            disconnectTimeout: 50,
          });
          redis.on("error", () => {});
          const ledger = new Ledger();
          const ended = new Promise((resolve) => redis.once("end", resolve));
          const calls = [
            ledger.note(redis.get("a")),
            ledger.note(redis.pipeline().get("b").exec() as Promise<unknown>),
          ];
          if (moment === "dialling") await new Promise((resolve) => setImmediate(resolve));
          if (moment === "handshaking") await new Promise((resolve) => redis.once("connect", resolve));
          if (moment === "reconnecting") await new Promise((resolve) => redis.once("reconnecting", resolve));
          leave(redis);
          if (way === "quit") redis.disconnect();
          await Promise.all(calls);
          await ended;
          expect(ledger.outcome(), moment).to.deep.equal({ settled: 2, doubled: 0 });
          expect(redis.status).to.equal("end");
        }
      } finally {
        await silent.stop();
      }
    });
  }

  it("a server that accepts and never answers fails the attempt within connectTimeout", async () => {
    const silent = await FakeServer.start(() => NO_REPLY);
    const redis = new Redis({
      host: silent.host,
      port: silent.port,
      connectTimeout: 60,
      retryStrategy: () => null,
    });
    const errors: (Error & { code?: string; hint?: string })[] = [];
    redis.on("error", (error: Error) => errors.push(error));
    try {
      const failure = await redis.get("a").then(
        () => null,
        (error: Error) => error,
      );
      expect(failure?.message).to.equal("Connection is closed.");
      expect(errors).to.have.length(1);
      expect(errors[0]?.code).to.equal("ETIMEDOUT");
      expect(errors[0]?.hint, "tells it from a port that is closed").to.match(/handshake/);
    } finally {
      await silent.stop();
    }
  });

  it("a callback or listener that throws harms nobody else", async () => {
    const redis = new Redis({ host: server.host, port: server.port });
    const thrown: string[] = [];
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => thrown.push(error.message));
    try {
      await redis.ping();
      redis.on("select", () => {
        throw new Error("from listener");
      });
      redis.get("a", () => {
        throw new Error("from callback");
      });
      const rows = await (redis
        .pipeline()
        .set("settle:t", 1)
        .get("settle:t", () => {
          throw new Error("from pipeline callback");
        })
        .select(0)
        .select(1)
        .exec() as Promise<unknown>);
      expect(rows).to.deep.equal([
        [null, "OK"],
        [null, "1"],
        [null, "OK"],
        [null, "OK"],
      ]);
      expect(await redis.ping()).to.equal("PONG");
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(thrown.sort()).to.deep.equal(["from callback", "from listener", "from pipeline callback"]);
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const listener of listeners) process.on("uncaughtException", listener);
      await closeClient(redis);
    }
  });

  it("a blocking command on a cut line goes again", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 5 });
    redis.on("error", () => {});
    const other = new Redis({ host: server.host, port: server.port });
    try {
      await redis.ping();
      const popped = redis.blpop("settle:list", 0);
      await other.ping();
      proxy.cutAll("reset");
      await new Promise((resolve) => redis.once("ready", resolve));
      await other.rpush("settle:list", "x");
      expect(await popped).to.deep.equal(["settle:list", "x"]);
    } finally {
      await Promise.all([closeClient(redis), closeClient(other)]);
      await proxy.stop();
    }
  });

  it("a command that kills its connection each time is given up and frees those behind it", async () => {
    let sent = 0;
    const fake = await FakeServer.start((words, connection) => {
      if (words[0] === "poison") {
        sent++;
        connection.socket.destroy();
        return NO_REPLY;
      }
      return words[0] === "get" ? "value" : undefined;
    });
    const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1 });
    redis.on("error", () => {});
    try {
      const poison = redis.call("poison").then(
        () => null,
        (error: Error & { code?: string }) => error,
      );
      const behind = redis.get("a");
      expect((await poison)?.code).to.equal("COMMAND_LOST");
      expect(await behind).to.equal("value");
      expect(sent).to.equal(3);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
