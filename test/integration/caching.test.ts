/** Client-side caching on real servers: what comes from the cache, what is dropped, and what is never kept. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { CacheOptions } from "../../src/client/options/common-options";
import { type CacheContext, Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { serverKinds, sharedServer, startServer } from "../support/shared-servers";

/** Commands that the server has executed, by what it counts. */
async function countOf(server: ServerProcess, command: string): Promise<number> {
  const text = String(await server.command("INFO", "commandstats"));
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

for (const kind of serverKinds()) {
  describe(`a cache, ${kind}`, () => {
    let server: ServerProcess;
    const clients: Redis[] = [];

    const open = async (cache: boolean | CacheOptions, options: object = {}): Promise<Redis> => {
      const redis = new Redis({ host: server.host, port: server.port, cache, ...options });
      redis.on("error", () => {});
      clients.push(redis);
      // Answers to commands that wait for a connection are not kept.
      await untilReady(redis);
      return redis;
    };

    before(async () => {
      server = await sharedServer(kind);
    });
    beforeEach(() => server.command("FLUSHALL"));
    afterEach(async () => {
      await Promise.all(clients.splice(0).map(closeClient));
    });

    for (const mode of ["optin", "all", "broadcast"] as const) {
      it(`${mode}: answers again without asking, until somebody changes the key`, async () => {
        const redis = await open({ mode });
        await server.command("SET", "a", "1");
        // The word about SET may come behind the first answer.
        while (redis.cache.peek("get", "a") === undefined) expect(await redis.get("a")).to.equal("1");
        const before = await countOf(server, "get");
        expect(await redis.get("a")).to.equal("1");
        expect(redis.cache.peek("get", "a")).to.equal("1");
        expect(await countOf(server, "get")).to.equal(before);
        const told = new Promise((resolve) => redis.once("invalidate", resolve));
        await server.command("SET", "a", "2");
        expect(await told).to.deep.equal(["a"]);
        expect(redis.cache.peek("get", "a")).to.equal(undefined);
        expect(await redis.get("a")).to.equal("2");
      });

      it(`${mode}: keeps missing keys, until they are there`, async () => {
        const redis = await open({ mode });
        expect(await redis.get("none")).to.equal(null);
        expect(redis.cache.peek("get", "none")).to.equal(null);
        const told = new Promise((resolve) => redis.once("invalidate", resolve));
        await server.command("SET", "none", "here");
        await told;
        expect(await redis.get("none")).to.equal("here");
      });
    }

    it("gives each caller what it may change", async () => {
      const redis = await open(true);
      await server.command("HSET", "h", "f", "v");
      await server.command("RPUSH", "l", "x", "y");
      await server.command("XADD", "s", "1-1", "f", "v");
      for (let round = 0; round < 3; round++) {
        const hash = await redis.hgetall("h");
        const list = await redis.lrange("l", 0, -1);
        const entries = (await redis.xrange("s", "-", "+")) as unknown as [string, string[]][];
        const bytes = (await redis.hgetBuffer("h", "f")) as Buffer;
        expect([hash, list, entries]).to.deep.equal([{ f: "v" }, ["x", "y"], [["1-1", ["f", "v"]]]]);
        expect(bytes.toString()).to.equal("v");
        (hash as Record<string, string>)["f"] = "changed";
        list.push("z");
        entries[0]?.[1].push("changed");
        bytes.fill(0);
      }
      expect(redis.cache.stats().hits).to.equal(8);
    });

    it("shares frozen values if it is told to", async () => {
      const redis = await open({ frozen: true });
      await server.command("HSET", "h", "f", "v");
      const first = await redis.hgetall("h");
      expect(await redis.hgetall("h")).to.equal(first);
      expect(Object.isFrozen(first)).to.equal(true);
    });

    it("never shares Buffers, also where it shares frozen values", async () => {
      const redis = await open({ frozen: true });
      await server.command("SET", "a", "hello");
      await server.command("HSET", "h", "f", "hello");
      await server.command("RPUSH", "l", "hello");
      const reads: (() => Promise<Buffer>)[] = [
        async () => (await redis.getBuffer("a")) as Buffer,
        async () => (await redis.mgetBuffer("a"))[0] as Buffer,
        async () => (await redis.lrangeBuffer("l", 0, -1))[0] as Buffer,
        async () => (await redis.hgetallBuffer("h"))["f"] as Buffer,
        async () => (await redis.pipeline().getBuffer("a").exec())?.[0]?.[1] as Buffer,
      ];
      for (const read of reads) {
        for (let round = 0; round < 4; round++) {
          const bytes = await read();
          expect(bytes.toString()).to.equal("hello");
          bytes[0] = 88;
        }
      }
      expect(redis.cache.stats().hits).to.be.at.least(reads.length * 2);
    });

    it("gives each call a promise of its own", async () => {
      const redis = await open({ frozen: true });
      await server.command("SET", "a", "1");
      await server.command("HSET", "h", "f", "v");
      const calls = [
        () => redis.get("a"),
        () => redis.get("missing"),
        () => redis.exists("a"),
        () => redis.hgetall("h"),
        () => redis.call("get", "a"),
        () => redis.with({ cache: 1000 }).get("a"),
      ];
      for (const call of calls) {
        await call();
        await redis.ping();
        const before = redis.cache.stats().hits;
        const promises = new Set([call(), call(), call()]);
        expect([promises.size, redis.cache.stats().hits - before]).to.deep.equal([3, 3]);
      }
    });

    it("counts every call as issued, however it is answered", async () => {
      const redis = await open(true);
      while (redis.cache.peek("get", "a") === undefined) await redis.get("a");
      const before = redis.stats().commands;
      await redis.get("a");
      await redis.with({ cache: true }).get("a");
      await redis.pipeline().get("a").get("b").exec();
      const { issued, fulfilled, failed } = redis.stats().commands;
      expect([issued - before.issued, fulfilled - before.fulfilled, failed]).to.deep.equal([4, 4, 0]);
    });

    it("sends one command for a thousand concurrent misses", async () => {
      const redis = await open(true);
      await server.command("SET", "a", "1");
      await redis.ping();
      const before = await countOf(server, "get");
      const answers = await Promise.all(Array.from({ length: 1000 }, () => redis.get("a")));
      expect(new Set(answers)).to.deep.equal(new Set(["1"]));
      expect(await countOf(server, "get")).to.equal(before + 1);
      expect(redis.cache.stats()).to.include({ misses: 1, joined: 999 });
    });

    it("keeps no errors, and gives each caller an error of its own", async () => {
      const redis = await open(true);
      await server.command("RPUSH", "l", "x");
      const errors = await Promise.all(
        [1, 2].map(() =>
          redis.get("l").then(
            () => null,
            (error: Error) => error,
          ),
        ),
      );
      expect(errors[0]?.message).to.match(/^WRONGTYPE/);
      expect(errors[1]?.message).to.match(/^WRONGTYPE/);
      expect(errors[0]).not.to.equal(errors[1]);
      await server.command("DEL", "l");
      await until(() => redis.cache.stats().entries === 0);
      expect(await redis.get("l")).to.equal(null);
    });

    it("lets a client read what it has written, awaited or not", async () => {
      const redis = await open(true);
      for (let round = 0; round < 200; round++) {
        const value = String(round);
        await redis.get("a");
        if (round % 2 === 0) await redis.set("a", value);
        else redis.set("a", value);
        expect(await redis.get("a")).to.equal(value);
        redis.eval("return redis.call('set', KEYS[1], ARGV[1])", 1, "a", `script ${value}`);
        expect(await redis.get("a")).to.equal(`script ${value}`);
        redis.multi().set("a", `exec ${value}`).exec();
        expect(await redis.get("a")).to.equal(`exec ${value}`);
        const rows = await redis.pipeline().get("a").set("a", `row ${value}`).get("a").exec();
        expect(rows?.map(([, result]) => result)).to.deep.equal([`exec ${value}`, "OK", `row ${value}`]);
        redis.pipeline().set("a", `batch ${value}`).exec();
        expect(await redis.get("a")).to.equal(`batch ${value}`);
      }
    });

    it("fills rows of pipelines, and sends only the rest", async () => {
      const redis = await open(true);
      await server.command("MSET", "a", "1", "b", "2");
      await redis.get("a");
      const before = await countOf(server, "get");
      const heard: unknown[] = [];
      const rows = await redis
        .pipeline()
        .get("a", (_error, result) => heard.push(result))
        .get("b")
        .getBuffer("a")
        .exec();
      expect(rows).to.deep.equal([
        [null, "1"],
        [null, "2"],
        [null, Buffer.from("1")],
      ]);
      expect(heard).to.deep.equal(["1"]);
      expect(await countOf(server, "get")).to.equal(before + 2);
      expect(await redis.pipeline().get("a").get("b").exec()).to.deep.equal([
        [null, "1"],
        [null, "2"],
      ]);
      expect(await countOf(server, "get")).to.equal(before + 2);
    });

    it("works with callbacks, key prefixes, auto-pipelining and words in any case", async () => {
      const redis = await open({ match: ["user:"] }, { keyPrefix: "p:", enableAutoPipelining: true });
      await server.command("MSET", "p:user:1", "one", "p:other", "two");
      expect(await redis.get("user:1")).to.equal("one");
      expect(redis.cache.peek("get", "user:1")).to.equal("one");
      const heard = await new Promise((resolve) => redis.get("user:1", (_error, result) => resolve(result)));
      expect(heard).to.equal("one");
      expect(await redis.get("other")).to.equal("two");
      expect(redis.cache.peek("get", "other")).to.equal(undefined);
      expect(await redis.call("GET", "user:1")).to.equal("one");
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await server.command("SET", "p:user:1", "changed");
      expect(await told).to.deep.equal(["user:1"]);
    });

    it("tells its user of a FLUSHALL of his own, although it has dropped everything before", async () => {
      const redis = await open(true);
      await redis.get("a");
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await redis.flushall();
      expect(await told).to.equal(null);
    });

    it("goes together with merging and coalescing: what it keeps is asked for singly, the rest is merged", async () => {
      const redis = await open(
        { match: ["kept:"] },
        { enableAutoPipelining: { coalesce: true, merge: ["get", "set", "hget"] } },
      );
      const other = await open(false);
      const written = await countOf(server, "mset");
      const kept = Array.from({ length: 5 }, (_, index) => `kept:${index}`);
      const passed = Array.from({ length: 5 }, (_, index) => `passed:${index}`);
      const all = [...kept, ...passed];
      const ask = (): Promise<(string | null)[]> =>
        Promise.all([...all, ...all].map((key) => redis.get(key)));
      // The first batch with something to merge asks whether it may be.
      await ask();
      let merged = await countOf(server, "mget");
      for (let round = 0; round < 20; round++) {
        const values = all.map((key) => `${key} ${round}`);
        const writing = Promise.all(all.map((key, index) => redis.set(key, values[index] as string)));
        // Whether the writes may be merged is seen when nothing stands behind them.
        if (round === 0) await writing;
        expect(await ask()).to.deep.equal([...values, ...values]);
        await writing;
        expect(await ask()).to.deep.equal([...values, ...values]);
        const single = await countOf(server, "get");
        expect(await ask()).to.deep.equal([...values, ...values]);
        expect(await countOf(server, "get")).to.equal(single);
        for (const key of kept) expect(redis.cache.peek("get", key)).to.equal(`${key} ${round}`);
        for (const key of passed) expect(redis.cache.peek("get", key)).to.equal(undefined);
        expect(await countOf(server, "mget")).to.be.greaterThan(merged);
        merged = await countOf(server, "mget");
        // Many at once, of which one command tells: each key is dropped.
        const told = new Set<string>();
        redis.on("invalidate", (keys) => {
          for (const key of keys ?? []) told.add(key);
        });
        await other.mset(Object.fromEntries(kept.map((key) => [key, "other"])));
        await until(() => told.size === kept.length);
        redis.removeAllListeners("invalidate");
        const rows = await redis
          .pipeline({ merge: ["get"] })
          .get("kept:0")
          .get("passed:0")
          .get("passed:1")
          .set("kept:1", "row")
          .get("kept:1")
          .exec();
        expect(rows?.map(([, value]) => value)).to.deep.equal(["other", values[5], values[6], "OK", "row"]);
      }
      // One of the other client and one of this one in each round.
      expect((await countOf(server, "mset")) - written).to.equal(40);
    });

    it("what is behind a read that it keeps is merged all the same", async () => {
      const redis = await open({ match: ["kept:"] }, { enableAutoPipelining: { merge: ["hget"] } });
      await server.command("HSET", "h", "a", "1", "b", "2");
      const ask = (round: number): Promise<unknown[]> =>
        Promise.all([redis.get(`kept:${round}`), redis.hget("h", "a"), redis.hget("h", "b")]);
      // The first batch with something to merge asks whether it may be.
      await ask(0);
      const [single, merged] = [await countOf(server, "hget"), await countOf(server, "hmget")];
      for (let round = 1; round <= 3; round++) expect(await ask(round)).to.deep.equal([null, "1", "2"]);
      expect(await countOf(server, "hget")).to.equal(single);
      expect(await countOf(server, "hmget")).to.equal(merged + 3);
    });

    it("does not mix calls of several keys up under a prefix", async () => {
      const redis = await open(true, { keyPrefix: "p:" });
      await server.command("MSET", "p:a", "1", "p:b", "2", "p:p:b", "3");
      expect(await redis.mget("a", "b")).to.deep.equal(["1", "2"]);
      expect(await redis.mget("a", "p:b")).to.deep.equal(["1", "3"]);
      expect(await redis.mget("a", "b")).to.deep.equal(["1", "2"]);
      await redis.set("b", "4");
      expect(await redis.mget("a", "b")).to.deep.equal(["1", "4"]);
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await server.command("SET", "p:b", "5");
      await told;
      expect(await redis.mget("a", "b")).to.deep.equal(["1", "5"]);
    });

    it("peeks with the arguments of a call: lists, bytes, numbers, several keys, with a prefix and without", async () => {
      for (const keyPrefix of ["", "p:"]) {
        const redis = await open(true, { keyPrefix });
        await redis.mset("a", "1", "b", "2");
        await redis.rpush("l", "x", "y");
        await redis.mget(["a", "b"]);
        await redis.get(Buffer.from("a"));
        await redis.lrange("l", 0, 1);
        const { cache } = redis;
        const peeked = [
          cache.peek("mget", "a", "b"),
          cache.peek("mget", ["a", Buffer.from("b")]),
          cache.peek("get", "a"),
          cache.peek("get", Buffer.from("a")),
          cache.peek("lrange", "l", 0, 1),
          cache.peek("lrange", "l", "0", "1"),
        ];
        expect(peeked).to.deep.equal([["1", "2"], ["1", "2"], "1", "1", ["x", "y"], ["x", "y"]]);
        expect(cache.stats().hits).to.equal(6);
        for (const missing of [
          cache.peek("mget", ["b", "a"]),
          cache.peek("get", ["a", "b"]),
          cache.peek("get"),
        ]) {
          expect(missing).to.equal(undefined);
        }
      }
    });

    it("follows the terms of a view", async () => {
      const redis = await open({ match: ["none"] });
      await server.command("SET", "a", "1");
      const brief = redis.with({ cache: 10_000 });
      await brief.get("a");
      expect(redis.cache.peek("get", "a")).to.equal("1");
      const before = await countOf(server, "get");
      await brief.get("a");
      expect(await countOf(server, "get")).to.equal(before);
      await redis.with({ cache: false }).get("a");
      expect(await countOf(server, "get")).to.equal(before + 1);
      await redis.with({ cache: 0.001 }).get("a");
      expect(await countOf(server, "get")).to.equal(before + 2);
    });

    it("drops everything at FLUSHALL, SELECT, SWAPDB and a lost connection", async () => {
      const redis = await open(true);
      const fill = async (): Promise<void> => {
        await redis.get("a");
        await redis.get("a");
        expect(redis.cache.peek("get", "a")).not.to.equal(undefined);
      };
      await server.command("SET", "a", "1");
      await fill();
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await server.command("FLUSHALL");
      expect(await told).to.equal(null);
      expect(await redis.get("a")).to.equal(null);
      await redis.select(1);
      await redis.set("a", "in one");
      redis.select(0);
      expect(await redis.get("a")).to.equal(null);
      await redis.swapdb(0, 1);
      expect(await redis.get("a")).to.equal("in one");
      await fill();
      const lost = new Promise((resolve) => redis.once("close", resolve));
      await server.command("CLIENT", "KILL", "TYPE", "normal");
      await lost;
      expect(redis.cache.stats().entries).to.equal(0);
      await server.command("SET", "a", "after");
      expect(await redis.get("a")).to.equal("after");
      await untilReady(redis);
      await fill();
    });

    it("takes nothing from the cache between WATCH or MULTI and their end", async () => {
      const redis = await open(true);
      await redis.get("a");
      await redis.watch("a");
      const before = await countOf(server, "get");
      await redis.get("a");
      expect(redis.cache.peek("get", "a")).to.equal(undefined);
      expect(await countOf(server, "get")).to.equal(before + 1);
      await redis.unwatch();
      await redis.get("a");
      expect(redis.cache.peek("get", "a")).to.equal(null);
      await redis.multi({ pipeline: false });
      const queued = redis.get("a");
      expect(await queued).to.equal("QUEUED");
      expect(await redis.exec()).to.deep.equal([[null, null]]);
      await redis.get("a");
      expect(await redis.get("a")).to.equal(null);
    });

    it("stops when the application takes tracking into its own hands", async () => {
      const redis = await open(true);
      await redis.get("a");
      await redis.client("TRACKING", "OFF");
      await redis.get("a");
      await redis.get("a");
      expect(redis.cache.stats().entries).to.equal(0);
    });

    it("sees keys expire, and what is written by a script that names no keys", async () => {
      const redis = await open(true);
      await server.command("SET", "a", "1", "PX", "100");
      expect(await redis.get("a")).to.equal("1");
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await told;
      expect(await redis.get("a")).to.equal(null);
      await redis.eval("return redis.call('set', 'a', 'script')", 0);
      expect(await redis.get("a")).to.equal("script");
    });

    it("tells listeners of the channel what it has done, added up, and nobody else", async () => {
      const redis = await open({ maxBytes: 4000 });
      const other = await open(true);
      const counted = ["hits", "misses", "joined", "stores", "evictions", "invalidations"] as const;
      const before = redis.cache.stats();
      const sums = { hits: 0, misses: 0, joined: 0, stores: 0, evictions: 0, invalidations: 0 };
      let messages = 0;
      const listener = (message: unknown): void => {
        const context = message as CacheContext;
        expect(context).to.include({ serverAddress: server.host, serverPort: server.port });
        expect(context.intervalMs).to.be.greaterThan(0);
        for (const name of counted) sums[name] += context[name];
        messages++;
      };
      subscribe("sluice:cache", listener);
      try {
        await Promise.all([redis.get("a"), redis.get("a")]);
        for (let round = 0; round < 500; round++) await redis.get("a");
        for (let index = 0; index < 20; index++) await redis.get(`b${index}`);
        await server.command("SET", "b19", "1");
        await until(() => redis.cache.stats().invalidations > before.invalidations);
        await until(() => sums.invalidations > 0);
        const after = redis.cache.stats();
        for (const name of counted) expect(sums[name], name).to.equal(after[name] - before[name]);
        expect(sums.hits).to.be.at.least(500);
        expect(sums.evictions).to.be.greaterThan(0);
        expect(messages).to.be.below(50);
      } finally {
        unsubscribe("sluice:cache", listener);
      }
      expect(redis.stats().cache).to.deep.equal(redis.cache.stats());
      expect(Object.isFrozen(redis.stats().cache)).to.equal(true);
      expect(other.stats().cache?.hits).to.equal(0);
    });

    it("asks for the time to live of keys with ttl: server, with three commands a miss", async () => {
      const redis = await open({ ttl: "server" });
      await server.command("SET", "brief", "1", "PX", "60000");
      await server.command("SET", "lasting", "1");
      const before = [
        await countOf(server, "get"),
        await countOf(server, "pttl"),
        await countOf(server, "client"),
      ];
      await redis.get("brief");
      await redis.pipeline().get("lasting").get("none").exec();
      await redis.ping();
      const after = [
        await countOf(server, "get"),
        await countOf(server, "pttl"),
        await countOf(server, "client"),
      ];
      expect(after[0]).to.equal((before[0] as number) + 3);
      expect(after[1]).to.equal((before[1] as number) + 3);
      expect(redis.cache.peek("get", "brief")).to.equal("1");
      expect(redis.cache.peek("get", "lasting")).to.equal("1");
      expect(redis.cache.peek("get", "none")).to.equal(null);
      const told = new Promise((resolve) => redis.once("invalidate", resolve));
      await server.command("SET", "brief", "2", "PX", "150");
      await told;
      expect(await redis.get("brief")).to.equal("2");
      await redis.ping();
      expect(redis.cache.peek("get", "brief")).to.equal("2");
      // Without a word of the server, whose line is not read while this loops.
      const beganMs = performance.now();
      while (redis.cache.peek("get", "brief") !== undefined && performance.now() - beganMs < 5000);
      expect(redis.cache.peek("get", "brief")).to.equal(undefined);
    });

    it("stays within its bytes, whatever is asked", async () => {
      const redis = await open({ maxBytes: 64 * 1024 });
      for (let round = 0; round < 20; round++) {
        await Promise.all(Array.from({ length: 200 }, (_, index) => redis.get(`key:${round}:${index}`)));
        await Promise.all(Array.from({ length: 200 }, (_, index) => redis.hget("h", `f${round}:${index}`)));
        expect(redis.cache.stats().bytes).to.be.within(1, 64 * 1024);
      }
      expect(redis.cache.stats().evictions).to.be.greaterThan(1000);
      redis.cache.clear();
      expect(redis.cache.stats()).to.include({ entries: 0, bytes: 0 });
    });
  });
}

describe("a cache without a server that tracks", () => {
  it("is refused with RESP2", () => {
    expect(() => new Redis({ cache: true, protocol: 2, lazyConnect: true })).to.throw(
      /"cache" needs protocol 3/,
    );
  });

  it("is refused with settings that mean nothing", () => {
    const settings: unknown[] = [
      { maxBytes: 0 },
      { ttl: -1 },
      { ttl: "client" },
      { maxStale: Number.NaN },
      { mode: "loud" },
      { match: "user:" },
      { mode: "broadcast", match: () => true },
      { prefixes: ["user:"] },
    ];
    for (const cache of settings) {
      expect(() => new Redis({ cache: cache as CacheOptions, lazyConnect: true })).to.throw(
        /Invalid option cache/,
      );
    }
  });

  it("takes a boolean or milliseconds for some calls", () => {
    const redis = new Redis({ lazyConnect: true });
    for (const cache of [-1, Number.NaN, "5", null]) {
      expect(() => redis.with({ cache: cache as number })).to.throw(/Invalid cache .* of with\(\)/);
    }
    for (const cache of [true, false, 0, 1, undefined]) redis.with({ cache });
  });

  it("sends everything and says why if the server refuses", async () => {
    const server = await startServer(serverKinds()[0] ?? "redis");
    const redis = new Redis({ host: server.host, port: server.port, cache: true, lazyConnect: true });
    try {
      await server.command("ACL", "SETUSER", "default", "-client|tracking");
      const error = new Promise<Error & { code?: string }>((resolve) => redis.once("error", resolve));
      await redis.connect();
      expect((await error).code).to.equal("CACHE_UNAVAILABLE");
      await redis.set("a", "1");
      expect(await redis.get("a")).to.equal("1");
      expect(await redis.get("a")).to.equal("1");
      expect(redis.cache.stats().hits).to.equal(0);
    } finally {
      await closeClient(redis);
      await server.stop();
    }
  });

  it("keeps nothing that the server has not agreed to tell about, and says why", async () => {
    for (const enableAutoPipelining of [false, true]) {
      const server = await startServer(serverKinds()[0] ?? "redis");
      const { host, port } = server;
      const redis = new Redis({ host, port, cache: true, enableAutoPipelining, lazyConnect: true });
      try {
        await server.command("ACL", "SETUSER", "default", "-client|caching");
        await server.command("SET", "a", "1");
        const errors: (Error & { code?: string })[] = [];
        redis.on("error", (error) => errors.push(error));
        await redis.connect();
        expect(await Promise.all([redis.get("a"), redis.strlen("a")])).to.deep.equal(["1", 1]);
        await server.command("SET", "a", "22");
        expect(await Promise.all([redis.get("a"), redis.strlen("a")])).to.deep.equal(["22", 2]);
        expect(redis.cache.stats()).to.include({ hits: 0, stores: 0 });
        expect(errors.map(({ code }) => code)).to.deep.equal(["CACHE_UNAVAILABLE"]);
      } finally {
        await closeClient(redis);
        await server.stop();
      }
    }
  });

  it("holds nothing without the option", () => {
    const redis = new Redis({ lazyConnect: true });
    expect(redis.cache.peek("get", "a")).to.equal(undefined);
    expect(redis.cache.stats().entries).to.equal(0);
    redis.cache.clear();
  });
});

describe("a cache on a frozen connection", () => {
  it("stops answering within maxStale, and goes on when the server does", async function () {
    this.timeout(20_000);
    const server = await startServer(serverKinds()[0] ?? "redis");
    const redis = new Redis({
      host: server.host,
      port: server.port,
      cache: { maxStale: 300 },
      watchdog: false,
    });
    try {
      await redis.set("a", "1");
      await redis.get("a");
      expect(redis.cache.peek("get", "a")).to.equal("1");
      server.pause();
      await until(() => redis.cache.peek("get", "a") === undefined);
      const held = redis.get("a");
      expect(redis.cache.peek("get", "a")).to.equal(undefined);
      server.resume();
      expect(await held).to.equal("1");
      expect(redis.cache.peek("get", "a")).to.equal("1");
    } finally {
      server.resume();
      await closeClient(redis);
      await server.stop();
    }
  });
});
