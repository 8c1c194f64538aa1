/**
 * The order of a pipeline holds when the server has forgotten a script: SCRIPT FLUSH, or the 500
 * scripts of others that push one out (Redis 7.4 and later).
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { matrix } from "../support/matrix";

const SCRIPT = { lua: "return redis.call('set', KEYS[1], ARGV[1])", numberOfKeys: 1 };

interface WithScript {
  put(
    key: string,
    value: string,
  ): Promise<unknown> & { set(key: string, value: string): { exec(): Promise<unknown> } };
}

const ways: Record<string, (redis: Redis) => Promise<unknown>> = {
  chained: (redis) => (redis.pipeline() as unknown as WithScript).put("k", "first").set("k", "second").exec(),
  array: (redis) =>
    redis
      .pipeline([
        ["put", "k", "zeroth"],
        ["put", "k", "first"],
        ["set", "k", "second"],
      ] as unknown as [string][])
      .exec(),
  "in parts": (redis) =>
    redis
      .pipeline([
        ["get", "k"],
        ["put", "k", "first"],
        ["set", "k", "second"],
      ] as unknown as [string][])
      .exec({ batchSize: 2 }),
  bulk: (redis) =>
    redis
      .bulk([
        ["put", "k", "first"],
        ["set", "k", "second"],
      ])
      .summary(),
};

async function pushOut(redis: Redis): Promise<void> {
  const pipeline = redis.pipeline();
  for (let i = 0; i < 600; i++) pipeline.eval(`return ${i}`, 0);
  await pipeline.exec();
}

for (const [name, run] of Object.entries(ways)) {
  matrix(
    `a forgotten script keeps the order of a pipeline, ${name}`,
    {},
    async ({ redis, server, connect }) => {
      redis.defineCommand("put", SCRIPT);
      await (redis as unknown as WithScript).put("k", "known");
      await server.command("SCRIPT", "FLUSH");
      await run(redis);
      expect(await redis.get("k")).to.equal("second");
      await pushOut(connect());
      await run(redis);
      expect(await redis.get("k")).to.equal("second");
    },
  );
}

matrix("a script goes out as text once in a pipeline, then by its hash", {}, async ({ redis, server }) => {
  redis.defineCommand("put", SCRIPT);
  await redis.pipeline([["put", "k", "a"]] as unknown as [string][]).exec();
  await server.command("CONFIG", "RESETSTAT");
  const calls = Array.from({ length: 50 }, (_, i) => ["put", "k", String(i)]);
  await redis.pipeline(calls as unknown as [string][]).exec();
  const stats = String(await server.command("INFO", "commandstats"));
  expect(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1]).to.equal("1");
  expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).to.equal("49");
});

describe("a forgotten script keeps the order of a pipeline of a cluster", () => {
  const fixture = new ClusterFixture(ServerKind.Redis).install();

  for (const enableAutoPipelining of [false, true]) {
    it(`auto-pipelining ${enableAutoPipelining ? "on" : "off"}`, async () => {
      const cluster = fixture.connect({ enableAutoPipelining });
      await untilClusterReady(cluster);
      cluster.defineCommand("put", SCRIPT);
      const redis = cluster as unknown as Redis;
      for (const run of Object.values(ways)) {
        await (redis as unknown as WithScript).put("k", "known");
        for (const node of fixture.cluster.nodes) await node.command("SCRIPT", "FLUSH");
        await run(redis);
        expect(await redis.get("k")).to.equal("second");
      }
    });
  }
});
