/** DUMP and RESTORE between the test server and the real ones, in both directions. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { closeClient } from "../../test/support/matrix";
import { serverKinds, sharedServer } from "../../test/support/shared-servers";
import { TestServer, type VersionName } from "../src";

const VERSIONS: Readonly<Record<string, VersionName>> = {
  redis: "7.0",
  "redis-8": "8.2",
  valkey: "valkey-9.1",
  test: "8.2",
};

/** Small and large ones of each type, texts of any bytes and numbers in all their forms. */
async function fill(redis: Redis): Promise<void> {
  const words = Array.from({ length: 300 }, (_, index) => `word ${index} ${"x".repeat(index % 90)}`);
  const integers = [
    "0",
    "-1",
    "127",
    "-129",
    "40000",
    "-70000",
    "9000000",
    "3000000000",
    "-9007199254740993",
  ];
  const bytes = Buffer.from([0, 255, 13, 10, 128]);
  await redis.set("text", "hello");
  await redis.set("bytes", bytes);
  await redis.set("long", "abc".repeat(20_000));
  for (const integer of integers) await redis.set(`integer ${integer}`, integer);
  await redis.rpush("list", "a", "1", bytes, ...integers);
  await redis.rpush("long list", ...words, "y".repeat(20_000));
  await redis.sadd("integers", "1", "-5", "70000");
  await redis.sadd("large integers", "1", "5000000000");
  await redis.sadd("set", "a", "1", bytes);
  await redis.sadd("large set", ...words);
  await redis.hset("hash", "a", "1", "b", bytes);
  await redis.hset("large hash", Object.fromEntries(words.map((word, index) => [word, index])));
  await redis.zadd("sorted", 1, "a", -0.5, "b", "inf", "c", 70_000, "d");
  await redis.zadd("large sorted", ...words.flatMap((word, index) => [index / 8, word]));
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case "string":
      return redis.getBuffer(key);
    case "list":
      return redis.lrangeBuffer(key, 0, -1);
    case "set":
      return (await redis.smembersBuffer(key)).map((member) => member.toString("hex")).sort();
    case "hash":
      return Object.entries(await redis.hgetall(key)).sort();
    default:
      return redis.zrange(key, 0, -1, "WITHSCORES");
  }
}

async function copyAll(from: Redis, to: Redis): Promise<void> {
  const keys = await from.keys("*");
  expect(keys).to.have.lengthOf(22);
  for (const key of keys) {
    const payload = await from.dumpBuffer(key);
    expect(await to.restore(key, 0, payload as Buffer), key).to.equal("OK");
    expect(await contentOf(to, key), key).to.deep.equal(await contentOf(from, key));
    expect(await to.call("OBJECT", "ENCODING", key), key).to.equal(
      await from.call("OBJECT", "ENCODING", key),
    );
  }
}

for (const kind of serverKinds()) {
  describe(`DUMP and RESTORE, the test server and ${kind}`, function () {
    this.timeout(20_000);
    let server: TestServer;
    let test: Redis;
    let real: Redis;

    before(async () => {
      server = await TestServer.start({ version: VERSIONS[kind] ?? "8.2" });
      const { port } = await sharedServer(kind);
      test = new Redis(server.url);
      real = new Redis({ port });
    });

    beforeEach(() => Promise.all([test.flushall(), real.flushall()]));

    after(async () => {
      await Promise.all([test, real].map(closeClient));
      await server.stop();
    });

    it("reads what the real one wrote", async () => {
      await fill(real);
      await copyAll(real, test);
    });

    it("writes what the real one reads", async () => {
      await fill(test);
      await copyAll(test, real);
    });

    it("says what is wrong, in the same words", async () => {
      const calls: readonly (readonly (string | number | Buffer)[])[] = [
        ["none", 0, "nonsense"],
        ["none", -1, "nonsense"],
        ["none", "abc", "nonsense"],
        ["none", 0, "nonsense", "ODD"],
        ["none", 0, "nonsense", "FREQ", 256],
        ["there", 0, "nonsense"],
        ["there", 0, "nonsense", "REPLACE"],
      ];
      for (const redis of [test, real]) await redis.set("there", "1");
      for (const args of calls) {
        const [ours, theirs] = await Promise.all(
          [test, real].map((redis) => redis.call("RESTORE", ...args).catch((error: Error) => error.message)),
        );
        expect(ours, args.join(" ")).to.equal(theirs);
      }
      const payload = (await real.dumpBuffer("there")) as Buffer;
      for (const redis of [test, real]) {
        await redis.restore("timed", 60_000, payload);
        expect(await redis.pttl("timed")).to.be.within(1, 60_000);
        await redis.call("RESTORE", "past", 1, payload, "ABSTTL");
        expect(await redis.exists("past")).to.equal(0);
      }
    });
  });
}
