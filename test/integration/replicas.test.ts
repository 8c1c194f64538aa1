/** The option `replicas` on real servers: which server runs a command, and what a read sees. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { waitUntil } from "../../scripts/servers/wait-until";
import { OptionError } from "../../src/errors";
import { Redis } from "../../src/index";
import { randomSource } from "../support/random";
import { type FixtureReplica, lag, ReplicaFixture, readersOf } from "../support/replica-fixture";
import { serverKinds } from "../support/shared-servers";
import { type DelayLine, delayLine } from "./delay-line";

const KEYS = Array.from({ length: 40 }, (_, i) => `key:${i}`);
const ROUNDS = process.env.SLUICE_LONG === "1" ? 1_000_000 : 20_000;
/** On a busy machine, the proxies themselves need as long as the shorter time. */
const FAR_MS = process.env.SLUICE_LONG === "1" ? 1.2 : 5;
const WORKERS = 50;
const LONGEST_LAG_MS = 500;
/** On a busy machine a replica lags by more than its proxy says. */
const WINDOW_MS = process.env.SLUICE_LONG === "1" ? 1000 : 2000;

/** Long after the last write of this client, as far as its replicas are concerned. */
const ALL_REPLICATED = { readYourWrites: 0 };

// The test server has no replicas.
for (const kind of serverKinds().filter((kind) => kind !== ServerKind.Test)) {
  describe(`replicas on ${kind}`, function () {
    this.timeout(60_000);
    const fixture = new ReplicaFixture(kind).install();

    it("reads go to replicas, writes to the primary", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      const [atPrimary, ...atReplicas] = await fixture.calls("get", () =>
        Promise.all(KEYS.map((key) => redis.get(key))),
      );
      expect(atPrimary).to.equal(0);
      expect(atReplicas[0] ?? 0).to.be.greaterThan(0);
      expect(atReplicas[1] ?? 0).to.be.greaterThan(0);
      expect((atReplicas[0] ?? 0) + (atReplicas[1] ?? 0)).to.equal(KEYS.length);
      const other = await fixture.calls("incr", async () => {
        await Promise.all(KEYS.map((key) => redis.incr(key)));
        await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      });
      expect(other).to.deep.equal([KEYS.length, KEYS.length, KEYS.length]);
    });

    it("a pipeline is divided, and its rows keep their order", async () => {
      const redis = await fixture.connect({ readYourWrites: 60_000 });
      await fixture.primary.command("MSET", "a", "1", "b", "2", "c", "3");
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      const get = await fixture.calls("get", async () => {
        const rows = await redis.pipeline().get("a").set("b", "new").get("b").get("c").get("missing").exec();
        expect(rows).to.deep.equal([
          [null, "1"],
          [null, "OK"],
          [null, "new"],
          [null, "3"],
          [null, null],
        ]);
      });
      expect(get[0]).to.equal(1);
      expect((get[1] ?? 0) + (get[2] ?? 0)).to.equal(3);
    });

    it("a read before a write of its key in the same pipeline sees the old value", async () => {
      const redis = await fixture.connect();
      await fixture.primary.command("SET", "key", "old");
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      const get = await fixture.calls("get", async () => {
        const rows = await redis.pipeline().get("key").set("key", "new").exec();
        expect(rows?.[0]).to.deep.equal([null, "old"]);
      });
      expect(get).to.deep.equal([1, 0, 0]);
    });

    it("what depends on the connection or blocks stays at the primary", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      await redis.set("key", "1");
      await redis.rpush("list", "1", "2");
      const atPrimary = async (name: string, work: () => Promise<unknown>): Promise<void> => {
        const calls = await fixture.calls(name, work);
        expect(calls[0], name).to.be.greaterThan(0);
      };
      const none = async (name: string, work: () => Promise<unknown>): Promise<void> => {
        expect((await fixture.calls(name, work)).slice(1), name).to.deep.equal([0, 0]);
      };
      await none("get", async () => {
        await redis.watch("key");
        expect(await redis.get("key")).to.equal("1");
        await redis.multi({ pipeline: false });
        expect(await redis.get("key")).to.equal("QUEUED");
        expect(await redis.exec()).to.deep.equal([[null, "1"]]);
      });
      await none("get", () => redis.multi().get("key").exec());
      await none("get", () => redis.pipeline().multi().get("key").exec().get("key").exec());
      await none("scan", () => redis.scan(0));
      await none("eval", () => redis.eval("return redis.call('GET', KEYS[1])", 1, "key"));
      await atPrimary("blpop", () => redis.blpop("list", 1));
      await redis.select(1);
      expect(await redis.get("key")).to.equal(null);
      await redis.set("key", "of 1");
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      const get = await fixture.calls("get", async () => expect(await redis.get("key")).to.equal("of 1"));
      expect(get[0]).to.equal(0);
    });

    it("the view of with() chooses the server", async () => {
      const redis = await fixture.connect({ scaleReads: "primary" });
      await redis.set("key", "1");
      expect(await fixture.calls("get", () => redis.get("key"))).to.deep.equal([1, 0, 0]);
      const chosen = await fixture.calls("get", () => redis.with({ readFrom: "replica" }).get("key"));
      expect(chosen[0]).to.equal(0);
      const other = await fixture.connect(ALL_REPLICATED);
      const reader = other.with({ readFrom: "primary" });
      expect(await fixture.calls("get", () => reader.pipeline().get("a").get("b").exec())).to.deep.equal([
        2, 0, 0,
      ]);
    });

    it("calls of one automatic batch make their own choices", async () => {
      const redis = await fixture.connect({
        ...ALL_REPLICATED,
        scaleReads: "nearest",
        enableAutoPipelining: true,
      });
      const forced = redis.with({ readFrom: "replica" });
      const calls = await fixture.calls("strlen", async () => {
        for (let round = 0; round < 30; round++) await Promise.all([redis.get("key"), forced.strlen("key")]);
      });
      expect(calls[0]).to.equal(0);
      expect(calls.reduce((sum, count) => sum + count)).to.equal(30);
    });

    it("a client reads its own writes from lagging replicas", async function () {
      this.timeout(120_000 + ROUNDS);
      const redis = await fixture.connect({ readYourWrites: WINDOW_MS });
      const random = randomSource(ROUNDS);
      const below = (limit: number): number => Math.floor(random() * limit);
      /** The last acknowledged value, and when its reply arrived. */
      const written = new Map<string, { readonly value: number; readonly atMs: number }>();
      const shifts = setInterval(() => {
        for (const replica of fixture.replicas) void lag(replica, below(LONGEST_LAG_MS));
      }, 100);
      /** How long after their write these reads were issued. */
      const staleAfterMs: number[] = [];
      let rounds = 0;
      const worker = async (own: number): Promise<void> => {
        while (rounds < ROUNDS) {
          const round = rounds++;
          const key = `${own}:${below(1000)}`;
          const [value, seen] = await Promise.all([redis.incr(key), redis.get(key)]);
          written.set(key, { value, atMs: performance.now() });
          if (Number(seen) !== value) staleAfterMs.push(0);
          const other = `${own}:${below(1000)}`;
          const issuedMs = performance.now();
          const last = written.get(other) ?? { value: 0, atMs: issuedMs };
          if (Number(await redis.get(other)) !== last.value) staleAfterMs.push(issuedMs - last.atMs);
          // Keys whose last write is older than the window are read from replicas.
          if (round % 100 === 0) await new Promise((resolve) => setTimeout(resolve, below(100)));
        }
      };
      const [, ...atReplicas] = await fixture.calls("get", () =>
        Promise.all(Array.from({ length: WORKERS }, (_, own) => worker(own))),
      );
      clearInterval(shifts);
      expect(staleAfterMs).to.deep.equal([]);
      expect((atReplicas[0] ?? 0) + (atReplicas[1] ?? 0), "reads at replicas").to.be.greaterThan(
        ROUNDS / 100,
      );
    });

    it("without readYourWrites a lagging replica is outdated", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      for (const replica of fixture.replicas) await lag(replica, LONGEST_LAG_MS);
      await redis.set("key", "1");
      expect(await redis.get("key")).to.equal(null);
    });

    it("reads without known keys see own writes of any key", async () => {
      const redis = await fixture.connect({ readYourWrites: 60_000 });
      for (const replica of fixture.replicas) await lag(replica, LONGEST_LAG_MS);
      await redis.set("key", "1");
      expect(await redis.keys("*")).to.deep.equal(["key"]);
      await redis.eval("return redis.call('SET', 'undeclared', '1')", 0);
      expect(await redis.get("undeclared")).to.equal("1");
      await redis.multi().set("other", "1").exec();
      expect(await redis.get("other")).to.equal("1");
    });

    it("a client reads what it has written over its other connections", async () => {
      const redis = await fixture.connect({ readYourWrites: 60_000, blockingConnections: 1 });
      await fixture.primary.command("RPUSH", "from", "b", "a");
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      for (const replica of fixture.replicas) await lag(replica, LONGEST_LAG_MS);
      await redis.withConnection((own) => own.set("leased", "1"));
      expect(await redis.get("leased")).to.equal("1");
      await redis.transaction("watched", (own) => own.multi().set("watched", "1"));
      expect(await redis.get("watched")).to.equal("1");
      await redis.call("sort", "from", "ALPHA", Buffer.from("STORE"), Buffer.from("sorted"));
      expect(await redis.lrange("sorted", 0, -1)).to.deep.equal(["a", "b"]);
      await redis.blmove("from", "to", "LEFT", "LEFT", 1);
      expect(await redis.lrange("to", 0, -1)).to.deep.equal(["b"]);
    });

    it("quit waits for reads at replicas, and ends their connections", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      const reads = KEYS.map((key) => redis.get(key));
      expect(await redis.quit()).to.equal("OK");
      expect(await Promise.all(reads)).to.have.length(KEYS.length);
      expect(redis.stats().replicas).to.deep.equal({});
      const other = await fixture.connect(ALL_REPLICATED);
      const read = other.get("key");
      expect(await other.quit({ timeout: 5000 })).to.deep.equal({
        isDrained: true,
        unanswered: 0,
        unsent: 0,
      });
      expect(await read).to.equal(null);
    });

    it("a second quit() ends with the first one while a replica is silent", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      const [replica] = fixture.replicas;
      replica?.server.pause();
      const pending = redis.get("key").catch(() => null);
      const outcomes = await Promise.allSettled([redis.quit(), redis.quit()]);
      replica?.server.resume();
      expect(outcomes[0]).to.deep.equal({ status: "fulfilled", value: "OK" });
      expect(redis.status).to.equal("end");
      await pending;
    });

    it("a lost replica takes no reads, and the primary answers those in flight", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      const reads = KEYS.map((key) => redis.get(key));
      await Promise.all(fixture.replicas.map(({ server }) => server.kill()));
      reads.push(...KEYS.map((key) => redis.get(key)));
      expect(new Set(await Promise.all(reads))).to.deep.equal(new Set([null]));
      expect(readersOf(redis)).to.deep.equal([]);
      await fixture.replicas[0]?.server.start();
      await fixture.untilReading(redis, 0);
    });

    it("a read that comes back runs in its database, and outside of an open transaction", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      await redis.set("key", "of 0");
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      for (const { server } of fixture.replicas) server.pause();
      const reads = [redis.get("key"), redis.get("key")];
      await redis.select(1);
      await redis.multi({ pipeline: false });
      const queued = redis.get("key");
      await Promise.all(fixture.replicas.map(({ server }) => server.kill()));
      expect(await queued).to.equal("QUEUED");
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await redis.exec()).to.deep.equal([[null, null]]);
      expect(await Promise.all(reads)).to.deep.equal(["of 0", "of 0"]);
      expect(await redis.get("key")).to.equal(null);
    });

    it("a frozen replica, and one without its primary, take no reads until they are back", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      const [frozen, cutOff] = fixture.replicas as [FixtureReplica, FixtureReplica];
      frozen.server.pause();
      await cutOff.feed.cutOff();
      await fixture.untilReading(redis, 0, 5000);
      expect(await redis.get("key")).to.equal(null);
      frozen.server.resume();
      await cutOff.feed.heal();
      await fixture.untilReading(redis, 2);
    });

    it("a replica that refuses reads gets no more of them, and the primary runs the refused ones", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      for (const { server, feed } of fixture.replicas) {
        await server.command("CONFIG", "SET", "replica-serve-stale-data", "no");
        await feed.cutOff();
      }
      const read = async (): Promise<void> => {
        expect(await redis.get("key")).to.equal(null);
      };
      while (readersOf(redis).length > 0) await Promise.all(KEYS.map(read));
      for (const { server } of fixture.replicas)
        expect(String(await server.command("INFO", "errorstats"))).to.include("MASTERDOWN");
      const calls = await fixture.calls("get", () => Promise.all(KEYS.map(read)));
      expect(calls[0]).to.equal(KEYS.length);
    });

    it("the primary runs the reads that a replica refuses while it loads its data", async () => {
      const value = "x".repeat(4096);
      await fixture.primary.command("MSET", ...KEYS.flatMap((key) => [key, value]));
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      const redis = await fixture.connect(ALL_REPLICATED);
      const reload = Promise.all(
        fixture.replicas.map(async ({ server }) => {
          // In microseconds for each key. The server answers LOADING after each 1024 bytes of the file.
          await server.command("CONFIG", "SET", "key-load-delay", "20000");
          await server.command("CONFIG", "SET", "rdbcompression", "no");
          await server.command("CONFIG", "SET", "loading-process-events-interval-bytes", "1024");
          return server.command("DEBUG", "RELOAD");
        }),
      );
      let isLoading = true;
      void reload.then(() => {
        isLoading = false;
      });
      const atPrimary = await fixture.calls("get", async () => {
        while (isLoading) for (const key of KEYS) expect(await redis.get(key)).to.equal(value);
      });
      expect(await reload).to.deep.equal(["OK", "OK"]);
      expect(atPrimary[0]).to.be.greaterThan(0);
      for (const { server } of fixture.replicas)
        expect(String(await server.command("INFO", "errorstats"))).to.include("LOADING");
    });

    it("a script that only reads runs at replicas, and one that writes at the primary", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      await redis.set("key", "1");
      await Promise.all(fixture.replicas.map((replica) => fixture.untilSynced(replica)));
      redis.defineCommand("peek", {
        numberOfKeys: 1,
        lua: "return redis.call('GET', KEYS[1])",
        readOnly: true,
      });
      redis.defineCommand("poke", { numberOfKeys: 1, lua: "return redis.call('INCR', KEYS[1])" });
      const scripts = redis as unknown as Record<"peek" | "poke", (key: string) => Promise<unknown>>;
      const reads = await fixture.calls("get", async () => {
        for (let round = 0; round < KEYS.length; round++) expect(await scripts.peek("key")).to.equal("1");
      });
      expect(reads[0]).to.equal(0);
      expect(await scripts.poke("key")).to.equal(2);
    });

    it("finds the replicas that the primary reports, and follows their changes", async () => {
      const redis = await fixture.connect({ ...ALL_REPLICATED, replicas: true });
      const [atPrimary] = await fixture.calls("get", () => Promise.all(KEYS.map((key) => redis.get(key))));
      expect(atPrimary).to.equal(0);
      const [left, right] = fixture.replicas.map(({ server }) => `127.0.0.1:${server.port}`) as [
        string,
        string,
      ];
      expect(Object.keys(redis.stats().replicas ?? {}).sort()).to.deep.equal([left, right].sort());
      await fixture.replicas[0]?.server.command("REPLICAOF", "NO", "ONE");
      await waitUntil(async () => !(left in (redis.stats().replicas ?? {})), {
        timeoutMs: 10_000,
        what: "a replica that has left",
      });
      expect(readersOf(redis)).to.deep.equal([right]);
      await fixture.replicas[0]?.server.command("REPLICAOF", "127.0.0.1", fixture.primary.port);
      await fixture.untilReading(redis, 2);
    });

    it("reaches the reported replicas by the addresses of natMap", async () => {
      const [first, second] = fixture.replicas as [FixtureReplica, FixtureReplica];
      const hidden = `127.0.0.1:${first.server.port}`;
      const { host, port } = second.server;
      const redis = fixture.open({ replicas: true, natMap: { [hidden]: { host, port } } });
      await fixture.untilReading(redis, 1);
      expect(readersOf(redis)).to.deep.equal([`127.0.0.1:${port}`]);
    });

    it("reads from the nearest server", async () => {
      const [near, far] = fixture.replicas as [FixtureReplica, FixtureReplica];
      const lines = await Promise.all([
        delayLine(near.server, 0.3),
        delayLine(far.server, FAR_MS),
        delayLine(fixture.primary, FAR_MS),
      ]);
      try {
        const [nearest, other, primary] = lines as [DelayLine, DelayLine, DelayLine];
        const redis = fixture.open({
          ...ALL_REPLICATED,
          port: primary.port,
          replicas: [nearest, other].map(({ port }) => ({ host: "127.0.0.1", port })),
          scaleReads: "nearest",
        });
        await fixture.untilReading(redis, 2);
        // The first round trips are those of the handshakes.
        await waitUntil(
          async () => {
            await redis.get("key");
            const { replicas = {} } = redis.stats();
            const means = [nearest, other].map(
              ({ port }) => replicas?.[`127.0.0.1:${port}`]?.roundTrip.meanMs ?? 9,
            );
            return (means[0] as number) * 1.5 < (means[1] as number);
          },
          { timeoutMs: 20_000, what: "round trips without noise" },
        );
        await new Promise((resolve) => setTimeout(resolve, 1000));
        const calls = await fixture.calls("get", async () => {
          for (let i = 0; i < 1000; i++) await redis.get("key");
        });
        expect(calls[1], `reads at the near one of ${calls}`).to.be.at.least(990);
      } finally {
        for (const line of lines) line.stop();
      }
    });

    if (kind === ServerKind.Valkey) {
      it("prefers the servers of its zone", async () => {
        const [first, second] = fixture.replicas as [FixtureReplica, FixtureReplica];
        await first.server.command("CONFIG", "SET", "availability-zone", "a");
        await second.server.command("CONFIG", "SET", "availability-zone", "b");
        const reads = async (availabilityZone: string): Promise<number[]> => {
          const redis = await fixture.connect({ ...ALL_REPLICATED, availabilityZone });
          return fixture.calls("get", () => Promise.all(KEYS.map((key) => redis.get(key))));
        };
        expect(await reads("b")).to.deep.equal([0, 0, KEYS.length]);
        const [, ...elsewhere] = await reads("c");
        expect(elsewhere).not.to.include(0);
      });
    }

    it("a promoted replica takes no reads", async () => {
      const redis = await fixture.connect(ALL_REPLICATED);
      await fixture.replicas[0]?.server.command("REPLICAOF", "NO", "ONE");
      await fixture.untilReading(redis, 1);
    });
  });
}

describe("the options of replicas", () => {
  it("are checked", () => {
    const make = (options: object) => () => new Redis({ lazyConnect: true, ...options });
    for (const options of [
      { replicas: [{ port: 1 }] },
      { replicas: 1 },
      { replicas: "redis://ann:secret@reader" },
      { replicas: ["redis://reader/1"] },
      { replicas: "rediss://reader" },
      { replicas: [{ host: "reader", password: "secret" }] },
      { replicas: "reader", scaleReads: "slave" },
      { replicas: "reader", readYourWrites: -1 },
    ])
      expect(make(options), JSON.stringify(options)).to.throw(OptionError);
    const redis = make({})();
    expect(() => redis.with({ readFrom: "replica" })).to.throw(OptionError, "replicas");
    expect(() => redis.with({ readFrom: "near" as "replica" })).to.throw(OptionError, "readFrom");
  });
});
