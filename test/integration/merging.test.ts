/**
 * Commands that become one: what travels, and that every caller gets what it would have got anyway. The wire is
 * what the server counts (INFO commandstats).
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { matrix } from "../support/matrix";

/** Calls of each command since the last look. */
async function callsOf(redis: Redis): Promise<Record<string, number>> {
  const text = await redis.info("commandstats");
  await redis.config("RESETSTAT");
  const calls: Record<string, number> = {};
  for (const [, name, count] of text.matchAll(/cmdstat_([^:]+):calls=(\d+)/g))
    calls[name as string] = Number(count);
  return calls;
}

const only = { autoPipelining: [false], replyMappings: ["legacy", "resp3"] } as const;

describe("merging", () => {
  matrix("reads of one turn that follow one another go as one", only, async ({ connect }) => {
    const redis = connect({
      enableAutoPipelining: { merge: ["get", "hget", "sismember", "zscore"] },
    });
    await redis.hset("h", { a: "1", b: "2" });
    await redis.sadd("s", "x");
    await redis.zadd("z", 1.5, "m");
    await redis.mset("k1", "é", "k2", "v2");
    const ask = () =>
      Promise.all([
        redis.hget("h", "a"),
        redis.hgetBuffer("h", "b"),
        redis.hget("h", "none"),
        redis.sismember("s", "x"),
        redis.sismember("s", "y"),
        redis.zscore("z", "m"),
        redis.zscore("z", "n"),
        redis.get("k1"),
        redis.getBuffer("k1"),
        redis.get("k2"),
        redis.get("k3"),
      ]);
    const singly = await ask();
    await callsOf(redis);
    expect(await ask()).to.deep.equal(singly);
    expect(singly.slice(0, 4)).to.deep.equal(["1", Buffer.from("2"), null, 1]);
    const calls = await callsOf(redis);
    expect(calls).to.include({ hmget: 1, smismember: 1, zmscore: 1, mget: 1 });
    expect(calls).to.not.have.any.keys("hget", "sismember", "zscore", "get");
  });
});
