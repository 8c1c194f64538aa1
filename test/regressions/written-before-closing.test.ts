/** Commands that were issued before `disconnect()`, `end()`, `stream.end()` or `process.exit()` reach the server. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { ClusterFixture, closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const ROUNDS = 10;
const SHARDS = ["{a}", "{b}", "{c}", "{d}"];

type Way = (redis: Redis) => void;
const WAYS: Record<string, Way> = {
  "disconnect()": (redis) => redis.disconnect(),
  "end()": (redis) => redis.end(),
  "disconnect(true)": (redis) => redis.disconnect(true),
  "stream.end()": (redis) => redis.stream?.end(),
};

describe("what was issued before the end", () => {
  let server: ServerProcess;
  let redis: Redis;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  beforeEach(() => server.command("FLUSHALL"));
  afterEach(() => closeClient(redis));

  async function open(options: object = {}): Promise<void> {
    redis = new Redis({ port: server.port, host: server.host, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    await untilReady(redis);
  }

  for (const flushPolicy of ["adaptive", "turn"]) {
    it(`disconnect(true) behind a large pipeline: all of it is written, ${flushPolicy}`, async () => {
      await open({ flushPolicy });
      const pipeline = redis.pipeline();
      for (let i = 0; i < 100_000; i++) pipeline.incr("n");
      const rows = pipeline.exec();
      redis.disconnect(true);
      const failed = (await rows)?.filter(([error]) => error !== null);
      expect(failed).to.deep.equal([]);
      expect(await redis.get("n")).to.equal("100000");
    });
  }

  const stored = async (): Promise<number> => Number(await server.command("DBSIZE"));
  const untilStored = (count: number): Promise<void> =>
    waitUntil(async () => (await stored()) === count, { timeoutMs: 3000, what: `${count} keys` });

  for (const [name, end] of Object.entries(WAYS)) {
    it(`${name}: single commands, pipelines and transactions`, async () => {
      for (let round = 1; round <= ROUNDS; round++) {
        await open();
        const outcomes = [
          redis.set(`single:${round}`, 1),
          redis.pipeline().set(`pipeline:${round}`, 1).get("x").exec(),
          redis.multi().set(`multi:${round}`, 1).exec(),
        ];
        end(redis);
        expect(await outcomes[0]).to.equal("OK");
        expect(await outcomes[1]).to.deep.equal([
          [null, "OK"],
          [null, null],
        ]);
        expect(await outcomes[2]).to.deep.equal([[null, "OK"]]);
        expect(await stored()).to.equal(3 * round);
        await closeClient(redis);
      }
    });
  }

  it("disconnect(): while other commands are under way", async () => {
    await open();
    const busy = Array.from({ length: 50 }, () => redis.get("x"));
    await new Promise((resolve) => setImmediate(resolve));
    const set = redis.set("key", 1);
    redis.disconnect();
    expect(await set).to.equal("OK");
    expect(await Promise.all(busy)).to.have.length(50);
  });

  for (const [name, options] of Object.entries({
    "gathered commands": { enableAutoPipelining: true },
    "commands that wait behind bounds": { bounds: { maxCommands: 2 } },
  })) {
    it(`disconnect(): ${name}`, async () => {
      await open(options);
      const first = redis.set("first", 1);
      await new Promise((resolve) => setImmediate(resolve));
      const rest = Array.from({ length: 20 }, (_, i) => redis.set(`key:${i}`, i));
      redis.disconnect();
      expect(await Promise.all([first, ...rest])).to.deep.equal(Array(21).fill("OK"));
    });
  }

  it("disconnect(): more than the socket takes at once", async () => {
    await open();
    const value = "x".repeat(4000);
    const outcomes = Array.from({ length: 5000 }, (_, i) => redis.set(`key:${i}`, value));
    redis.disconnect();
    expect(new Set(await Promise.all(outcomes))).to.deep.equal(new Set(["OK"]));
    await untilStored(5000);
  });

  it("disconnect(): nothing that was given up meanwhile", async () => {
    await open({ flushPolicy: "turn" });
    const abort = new AbortController();
    const outcome = redis.with({ signal: abort.signal }).set("key", 1);
    abort.abort();
    redis.disconnect();
    expect(await outcome.catch((error: { code?: string }) => error.code)).to.equal("ABORTED_BY_SIGNAL");
    await closeClient(redis);
    expect(await stored()).to.equal(0);
  });

  it("process.exit() in the same run", async () => {
    const library = join(__dirname, "..", "..", "src", "index.js");
    const program = (body: string): string => `
      const { Redis } = require(${JSON.stringify(library)});
      const redis = new Redis({ port: ${server.port}, host: ${JSON.stringify(server.host)} });
      redis.once("ready", async () => { ${body} });
    `;
    const run = (body: string): Promise<unknown> =>
      promisify(execFile)(process.execPath, ["-e", program(body)]);
    await run(`redis.set("idle", 1); redis.pipeline().set("pipeline", 1).exec(); process.exit(0);`);
    await run(`redis.get("x"); setImmediate(() => { redis.set("busy", 1); process.exit(0); });`);
    await run(
      `const v = "x".repeat(1000); for (let i = 0; i < 997; i++) redis.set("k" + i, v); process.exit(0);`,
    );
    await untilStored(1000);
  });

  describe("of a cluster", () => {
    const fixture = new ClusterFixture().install();

    for (const [name, options] of Object.entries({
      "issued at once": {},
      gathered: { enableAutoPipelining: true },
      "behind bounds": { bounds: { maxCommands: 2 } },
    })) {
      it(`disconnect(): commands ${name}`, async () => {
        const cluster = fixture.connect(options);
        await untilClusterReady(cluster);
        await Promise.all(SHARDS.map((shard) => cluster.get(shard)));
        const outcomes: Promise<unknown>[] = SHARDS.map((shard) => cluster.set(shard, 1));
        outcomes.push(cluster.pipeline(SHARDS.map((shard) => ["set", `${shard}2`, "1"])).exec());
        cluster.disconnect();
        const [last, ...singles] = (await Promise.all(outcomes)).reverse();
        expect(singles).to.deep.equal(SHARDS.map(() => "OK"));
        expect(last).to.deep.equal(SHARDS.map(() => [null, "OK"]));
        await closeCluster(cluster);
      });
    }

    for (const options of [undefined, { timeout: 5000 }]) {
      it(`quit(${options === undefined ? "" : "{ timeout }"}): commands behind bounds`, async () => {
        const cluster = fixture.connect({ bounds: { maxCommands: 2 } });
        await untilClusterReady(cluster);
        const outcomes = SHARDS.map((shard) => cluster.set(shard, 1));
        const report = await (options === undefined ? cluster.quit() : cluster.quit(options));
        expect(report).to.deep.equal(
          options === undefined ? "OK" : { isDrained: true, unanswered: 0, unsent: 0 },
        );
        expect(await Promise.all(outcomes)).to.deep.equal(SHARDS.map(() => "OK"));
      });
    }
  });
});
