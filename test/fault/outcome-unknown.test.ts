/**
 * Guarantee 5: what may have run is named. An INCR whose reply is swallowed is counted on the
 * server under each retry policy.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { closeClient } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

type Failure = Error & { code?: string };

interface Trial {
  incr: unknown;
  get: unknown;
  counted: string | null;
}

describe("what may have run is named", () => {
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  /** The server gets INCR and GET, runs them, and its answers are lost with the line. */
  async function tryPolicy(options: RedisOptions): Promise<Trial> {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    const control = new Redis({ host: server.host, port: server.port });
    const codeOf = (error: Failure): string => String(error.code);
    try {
      await control.set("unknown:n", 0);
      await redis.ping();
      proxy.fallSilent(Direction.ToClient);
      const calls = [redis.incr("unknown:n").catch(codeOf), redis.get("unknown:n").catch(codeOf)];
      while ((await control.get("unknown:n")) === "0") await new Promise((resolve) => setImmediate(resolve));
      proxy.heal();
      proxy.cutAll("reset");
      const [incr, get] = await Promise.all(calls);
      return { incr, get, counted: await control.get("unknown:n") };
    } finally {
      await Promise.all([closeClient(redis), closeClient(control)]);
      await proxy.stop();
    }
  }

  it("at-least-once (default): the write runs twice, and the caller gets its answer", async () => {
    expect(await tryPolicy({})).to.deep.equal({ incr: 2, get: "2", counted: "2" });
  });

  it("reads-only: the write ran once and its outcome is unknown, the read goes again", async () => {
    const trial = await tryPolicy({ retryPolicy: "reads-only" });
    expect(trial).to.deep.equal({ incr: "OUTCOME_UNKNOWN", get: "1", counted: "1" });
  });

  for (const options of [
    { retryPolicy: "at-most-once" },
    { autoResendUnfulfilledCommands: false },
  ] as const) {
    it(`${JSON.stringify(options)}: nothing written goes again`, async () => {
      const trial = await tryPolicy(options);
      expect(trial).to.deep.equal({ incr: "OUTCOME_UNKNOWN", get: "OUTCOME_UNKNOWN", counted: "1" });
    });
  }

  it("what was not written goes again under every policy", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = new Redis({
      host: proxy.host,
      port: proxy.port,
      retryStrategy: () => 5,
      retryPolicy: "at-most-once",
    });
    redis.on("error", () => {});
    try {
      await redis.ping();
      const gone = new Promise((resolve) => redis.once("close", resolve));
      proxy.cutAll("reset");
      await gone;
      expect(await redis.set("unknown:later", 1)).to.equal("OK");
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  });

  it("closing on purpose tells apart what was written and what was not", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = new Redis({ host: proxy.host, port: proxy.port, disconnectTimeout: 50 });
    redis.on("error", () => {});
    try {
      await redis.ping();
      proxy.fallSilent();
      const written = redis.incr("unknown:n").catch((error: Failure) => error);
      await new Promise((resolve) => setTimeout(resolve, 20));
      redis.disconnect();
      const unwritten = redis.incr("unknown:n").catch((error: Failure) => error);
      const errors = [await written, await unwritten] as Failure[];
      expect(errors.map((error) => error.message)).to.deep.equal([
        "Connection is closed.",
        "Connection is closed.",
      ]);
      expect(errors.map((error) => error.code)).to.deep.equal(["OUTCOME_UNKNOWN", "CONNECTION_CLOSED"]);
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  });

  describe("a pipeline that was answered in part is not sent again", () => {
    const KEY = "unknown:rows";
    let proxy: FaultProxy;
    let redis: Redis;
    let control: Redis;

    beforeEach(async () => {
      proxy = await FaultProxy.start({ host: server.host, port: server.port });
      redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1 });
      redis.on("error", () => {});
      control = new Redis({ host: server.host, port: server.port });
      await control.del(KEY, `${KEY}:last`);
      await redis.ping();
    });

    afterEach(async () => {
      await Promise.all([closeClient(redis), closeClient(control)]);
      await proxy.stop();
    });

    const codesOf = (rows: readonly (readonly [Error | null, ...unknown[]])[] | null): unknown[] =>
      (rows ?? []).map(([error, value]) => (error === null ? value : (error as Failure).code));

    it("what was written and not answered has run once, and says that it may have", async () => {
      let left = ":1\r\n:2\r\n".length;
      // The answers behind the second one are lost.
      proxy.corrupt((bytes) => {
        const passed = bytes.subarray(0, left);
        left -= passed.length;
        return passed;
      });
      const pipeline = redis.pipeline().incr(KEY);
      const answered = new Promise((resolve) => pipeline.incr(KEY, resolve));
      const rows = pipeline.incr(KEY).incr(KEY).exec();
      await answered;
      while ((await control.get(KEY)) !== "4") await new Promise((resolve) => setImmediate(resolve));
      proxy.corrupt(null);
      const ready = new Promise((resolve) => redis.once("ready", resolve));
      proxy.cutAll();
      const seen = await rows;
      expect(codesOf(seen)).to.deep.equal([1, 2, "OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
      expect(seen?.[2]?.[0]?.message).to.equal("Command aborted due to connection close");
      await ready;
      expect(await redis.get(KEY)).to.equal("4");
    });

    it("what was not written has not run, and says so", async () => {
      const value = Buffer.alloc(1024 * 1024);
      proxy.limitRate(value.length);
      const ready = new Promise<void>((resolve) => {
        redis.once("close", () => redis.once("ready", resolve));
      });
      const pipeline = redis.pipeline();
      pipeline.incr(KEY, () => {
        proxy.limitRate(0);
        proxy.cutAll();
      });
      for (let i = 0; i < 64; i++) pipeline.set(`${KEY}:last`, value);
      const rows = await pipeline.exec();
      expect(codesOf(rows).slice(0, 2)).to.deep.equal([1, "OUTCOME_UNKNOWN"]);
      expect(codesOf(rows).at(-1)).to.equal("ABORTED");
      await ready;
      expect(await redis.get(KEY)).to.equal("1");
    });
  });
});
