/**
 * Client-side caching on real clusters: whose answers are kept, and what drops them: slots that change hands,
 * lost connections, failovers, flushed nodes. Keys that are missing go with their slot like all others.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { CacheOptions } from "../../src/client/options/common-options";
import { Cluster } from "../../src/index";
import { BusCuts } from "../support/bus-cuts";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { serverKinds } from "../support/shared-servers";

const TIMEOUT_MS = 60_000;

/** A key of the tag that is answered from the cache when this returns. */
async function fill(client: Cluster, key: string): Promise<void> {
  // The first answer of a node comes before its connection is tracked.
  while (client.cache.peek("get", key) === undefined) await client.get(key);
}

/** Reads that the servers have executed. */
async function reads(nodes: readonly ServerProcess[]): Promise<number> {
  const counts = nodes.map(async (node) => {
    const text = String(await node.command("INFO", "commandstats"));
    return Number(/cmdstat_get:calls=(\d+)/.exec(text)?.[1] ?? 0);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

function invalidated(client: Cluster): Promise<string[] | null> {
  return new Promise((resolve) => client.once("invalidate", resolve));
}

for (const kind of serverKinds()) {
  describe(`cluster: a cache, ${kind}`, function () {
    this.timeout(TIMEOUT_MS);
    const fixture = new ClusterFixture(kind);
    fixture.install();

    const open = async (cache: boolean | CacheOptions, options: ClusterOptions = {}): Promise<Cluster> => {
      const client = fixture.connect({ cache, ...options });
      await untilClusterReady(client);
      return client;
    };

    /** A tag whose slot is served by the given node, and a master that does not serve it. */
    const place = async (
      tag: string,
    ): Promise<{ slot: number; owner: ServerProcess; other: ServerProcess }> => {
      const slot = calculateSlot(`{${tag}}`);
      const owner = await fixture.cluster.ownerOf(slot);
      const masters = await fixture.cluster.masters();
      return { slot, owner, other: masters.find((one) => one !== owner) as ServerProcess };
    };

    beforeEach(async () => {
      await fixture.cluster.untilHealthy();
      await fixture.flush();
    });

    for (const mode of ["optin", "all", "broadcast"] as const) {
      it(`${mode}: answers again without asking, until somebody changes the key, at every node`, async () => {
        const client = await open({ mode });
        const writer = fixture.connect();
        const keys = Array.from({ length: 30 }, (_, index) => `key:${index}`);
        for (const key of keys) await writer.set(key, "1");
        for (const key of keys) await fill(client, key);
        const masters = await fixture.cluster.masters();
        const before = await reads(masters);
        for (const key of keys) expect(await client.get(key)).to.equal("1");
        expect(await reads(masters)).to.equal(before);
        for (const key of keys) {
          while (client.cache.peek("get", key) === undefined) await client.get(key);
          // In the mode `broadcast` words about earlier changes may still be on their way.
          const told = new Promise<void>((resolve) =>
            client.on("invalidate", (named) => named?.includes(key) && resolve()),
          );
          await writer.set(key, "2");
          await told;
          expect(client.cache.peek("get", key)).to.equal(undefined);
          expect(await client.get(key)).to.equal("2");
          client.removeAllListeners("invalidate");
        }
      });
    }

    it("fills rows of pipelines of any slots, and sends only the rest; with callbacks and automatic batches", async () => {
      for (const enableAutoPipelining of [false, true]) {
        const client = await open(true, { enableAutoPipelining });
        const keys = Array.from({ length: 12 }, (_, index) => `row:${enableAutoPipelining}:${index}`);
        for (const key of keys) await client.set(key, key);
        for (const key of keys.slice(0, 9)) await fill(client, key);
        const masters = await fixture.cluster.masters();
        const before = await reads(masters);
        const pipeline = client.pipeline();
        for (const key of keys) pipeline.get(key);
        expect(await pipeline.exec()).to.deep.equal(keys.map((key) => [null, key]));
        expect(await reads(masters)).to.equal(before + 3);
        expect(await Promise.all(keys.map((key) => client.get(key)))).to.deep.equal(keys);
        const heard = await new Promise((resolve) =>
          client.get(keys[0] as string, (_error, value) => resolve(value)),
        );
        expect(heard).to.equal(keys[0]);
        expect(await reads(masters)).to.equal(before + 3);
        expect(client.stats().commands.failed).to.equal(0);
      }
    });

    it("sends one command for a thousand concurrent misses", async () => {
      const client = await open(true);
      await client.set("one", "1");
      await client.get("one");
      const masters = await fixture.cluster.masters();
      const before = await reads(masters);
      client.cache.clear();
      const answers = await Promise.all(Array.from({ length: 1000 }, () => client.get("one")));
      expect(new Set(answers)).to.deep.equal(new Set(["1"]));
      expect(await reads(masters)).to.equal(before + 1);
    });

    it("lets a client read what it has written, awaited or not, in pipelines, transactions and scripts", async () => {
      const client = await open(true);
      for (let round = 0; round < 100; round++) {
        const key = `own:${round % 7}`;
        const value = String(round);
        await client.get(key);
        if (round % 2 === 0) await client.set(key, value);
        else void client.set(key, value);
        expect(await client.get(key)).to.equal(value);
        void client.eval("return redis.call('set', KEYS[1], ARGV[1])", 1, key, `script ${value}`);
        expect(await client.get(key)).to.equal(`script ${value}`);
        void client.multi().set(key, `exec ${value}`).exec();
        expect(await client.get(key)).to.equal(`exec ${value}`);
        const rows = await client.pipeline().get(key).set(key, `row ${value}`).get(key).exec();
        expect(rows?.map(([, result]) => result)).to.deep.equal([`exec ${value}`, "OK", `row ${value}`]);
      }
    });

    it("sees what other clients of the process have written, at whichever node", async () => {
      const client = await open(true);
      const other = fixture.connect();
      await untilClusterReady(other);
      const keys = Array.from({ length: 12 }, (_, index) => `key:${index}`);
      let stale = 0;
      for (let round = 0; round < 30; round++) {
        for (const key of keys) {
          await client.get(key);
          const pending = client.get(key);
          if (round % 2 === 0) await other.set(key, round);
          else await other.pipeline().set(key, round).get("other").exec();
          if ((await client.get(key)) !== String(round)) stale++;
          await pending;
        }
      }
      expect(stale).to.equal(0);
      expect(client.cache.stats().hits).to.be.greaterThan(0);
    });

    it("gives each caller what it may change, follows the terms of views, and shares frozen values", async () => {
      const client = await open(true);
      await client.hset("h", "f", "v");
      for (let round = 0; round < 4; round++) {
        const hash = await client.hgetall("h");
        const bytes = (await client.hgetBuffer("h", "f")) as Buffer;
        expect([hash, bytes.toString()]).to.deep.equal([{ f: "v" }, "v"]);
        (hash as Record<string, string>)["f"] = "changed";
        bytes.fill(0);
      }
      expect(client.cache.stats().hits).to.be.greaterThan(3);
      const { hits } = client.cache.stats();
      await client.with({ cache: false }).hgetall("h");
      await client.with({ cache: 0.001 }).hgetall("h");
      expect(client.cache.stats().hits).to.equal(hits);
      await client.with({ cache: 10_000 }).hgetall("h");
      await client.with({ cache: 10_000 }).hgetall("h");
      expect(client.cache.stats().hits).to.equal(hits + 1);
      const frozen = await open({ frozen: true });
      while (frozen.cache.peek("hgetall", "h") === undefined) await frozen.hgetall("h");
      expect(await frozen.hgetall("h")).to.equal(await frozen.hgetall("h"));
      expect(frozen.cache.peek("hgetall", "h")).to.satisfy(Object.isFrozen);
    });

    it("drops everything when a node is flushed", async () => {
      const client = await open(true);
      await client.set("a", "1");
      await fill(client, "a");
      const told = invalidated(client);
      await (await place("a")).owner.command("FLUSHALL");
      expect(await told).to.equal(null);
      expect(await client.get("a")).to.equal(null);
    });

    it("drops a slot that a redirect speaks of, missing keys included", async () => {
      const client = await open({ maxStale: 60_000 });
      const { slot, other } = await place("moved");
      await client.set("{moved}here", "1");
      await fill(client, "{moved}here");
      await fill(client, "{moved}none");
      await fill(client, "elsewhere");
      await fixture.cluster.moveSlot(slot, other);
      await other.command("SET", "{moved}none", "at last");
      // Any command of the slot is told MOVED.
      expect(await client.exists("{moved}third")).to.equal(0);
      expect(client.cache.peek("get", "{moved}none")).to.equal(undefined);
      expect(await client.get("{moved}none")).to.equal("at last");
      expect(await client.get("{moved}here")).to.equal("1");
    });

    it("drops a slot that a table gives to another node, missing keys included", async () => {
      const client = await open({ maxStale: 60_000 });
      const { slot, other } = await place("table");
      await fill(client, "{table}none");
      await fixture.cluster.moveSlot(slot, other);
      await other.command("SET", "{table}none", "at last");
      await client.refreshSlotsCache();
      while (client.slots[slot]?.[0] !== `${other.host}:${other.port}`) await client.refreshSlotsCache();
      expect(client.cache.peek("get", "{table}none")).to.equal(undefined);
      expect(await client.get("{table}none")).to.equal("at last");
    });

    it("does not believe a missing key for longer than maxStale when nobody tells that its slot has moved", async () => {
      const maxStale = 600;
      const client = await open({ maxStale });
      const { slot, other } = await place("silent");
      await fill(client, "{silent}none");
      await fixture.cluster.moveSlot(slot, other);
      await other.command("SET", "{silent}none", "at last");
      const movedAtMs = performance.now();
      while (client.cache.peek("get", "{silent}none") === null) await sleep(5);
      expect(performance.now() - movedAtMs).to.be.lessThan(maxStale + 400);
      expect(await client.get("{silent}none")).to.equal("at last");
    });

    it("keeps nothing that an importing node has answered, and what a migrating node has only with its slot", async () => {
      const client = await open(true);
      const { slot, owner, other } = await place("open");
      await client.set("{open}stays", "1");
      await client.set("{open}goes", "1");
      await fill(client, "{open}stays");
      await fixture.cluster.beginMigration(slot, other);
      await owner.command("MIGRATE", other.host, other.port, "{open}goes", 0, 5000);
      for (let round = 0; round < 5; round++) {
        expect(await client.get("{open}goes")).to.equal("1");
        expect(client.cache.peek("get", "{open}goes")).to.equal(undefined);
        expect(await client.get("{open}none")).to.equal(null);
        expect(client.cache.peek("get", "{open}none")).to.equal(undefined);
      }
      // TRYAGAIN until both are at the same node.
      const both = client.mget("{open}stays", "{open}goes");
      await fixture.cluster.moveKeys(slot, owner, other);
      await fixture.cluster.endMigration(slot, other);
      expect(await both).to.deep.equal(["1", "1"]);
      await client.set("{open}none", "2");
      expect(await client.mget("{open}stays", "{open}goes", "{open}none")).to.deep.equal(["1", "1", "2"]);
      await fill(client, "{open}goes");
    });

    it("drops what came over a connection that is lost, and nothing else", async () => {
      const client = await open(true);
      const { owner } = await place("mine");
      const masters = await fixture.cluster.masters();
      const tags = Array.from({ length: 200 }, (_, index) => `t${index}`);
      const owners = await Promise.all(tags.map((tag) => place(tag)));
      const ofOther = tags.find((_tag, index) => owners[index]?.owner !== owner) as string;
      expect(masters.length).to.equal(3);
      await client.set("{mine}", "1");
      await client.set(`{${ofOther}}`, "1");
      await fill(client, "{mine}");
      await fill(client, `{${ofOther}}`);
      const told = invalidated(client);
      await owner.command("CLIENT", "KILL", "TYPE", "normal");
      expect(await told).to.equal(null);
      expect(client.cache.peek("get", "{mine}")).to.equal(undefined);
      expect(client.cache.peek("get", `{${ofOther}}`)).to.equal("1");
      expect(client.cache.stats().entries).to.equal(1);
      await fill(client, "{mine}");
    });

    it("gives no answer of a former master after a failover", async () => {
      const client = await open(true);
      const { owner } = await place("office");
      await client.set("{office}", "old");
      await fill(client, "{office}");
      await fill(client, "{office}none");
      const successor = await fixture.cluster.failover(owner);
      const name = `${successor.host}:${successor.port}`;
      while (client.slots[calculateSlot("{office}")]?.[0] !== name) await client.refreshSlotsCache();
      await successor.command("MSET", "{office}", "new", "{office}none", "there");
      expect(client.cache.peek("get", "{office}")).to.equal(undefined);
      expect(await client.get("{office}")).to.equal("new");
      expect(await client.get("{office}none")).to.equal("there");
    });

    it("stops answering when the application switches tracking off at a node", async () => {
      const client = await open(true);
      await fill(client, "{off}");
      for (const node of client.nodes("master")) await node.client("TRACKING", "OFF");
      expect(client.cache.peek("get", "{off}")).to.equal(undefined);
      expect(await client.get("{off}")).to.equal(null);
      expect(client.cache.peek("get", "{off}")).to.equal(undefined);
    });

    it("keeps what replicas answer over their own connections, and is told of changes there", async () => {
      await fixture.untilReplicasAreListed();
      const client = await open(true, { scaleReads: "slave" });
      const writer = fixture.connect();
      await writer.set("{copy}", "1");
      while (client.cache.peek("get", "{copy}") !== "1") await client.get("{copy}");
      const [replica] = await fixture.cluster.replicas((await place("copy")).owner);
      const before = await reads([replica as ServerProcess]);
      expect(await client.get("{copy}")).to.equal("1");
      expect(await reads([replica as ServerProcess])).to.equal(before);
      const told = invalidated(client);
      await writer.set("{copy}", "2");
      expect(await told).to.deep.equal(["{copy}"]);
      expect(await client.get("{copy}")).to.equal("2");
    });

    it("with scaleReads, drops an old answer of a replica as soon as that has the write, also after it took its master's office", async () => {
      await fixture.untilReplicasAreListed();
      const client = await open({ ttl: Number.POSITIVE_INFINITY, maxStale: 60_000 }, { scaleReads: "all" });
      const until = async (key: string, value: string): Promise<void> => {
        while ((await client.get(key)) !== value) await sleep(1);
      };
      // Everybody may answer, and what is kept of an answer that is too old must not stay.
      for (let round = 1; round <= 60; round++) {
        const key = `{copies}${round % 3}`;
        const isAwaited = round % 2 === 0;
        const written = client.set(key, String(round));
        if (isAwaited) await written;
        await client.get(key);
        await until(key, String(round));
      }
      const { hits } = client.cache.stats();
      const { owner } = await place("copies");
      const successor = await fixture.cluster.failover(owner);
      await successor.command("MSET", "{copies}0", "new", "{copies}1", "new", "{copies}2", "new");
      for (const key of ["{copies}0", "{copies}1", "{copies}2"]) await until(key, "new");
      await until("{copies}0", "new");
      await fill(client, "{copies}0");
      await client.get("{copies}0");
      expect(client.cache.stats().hits).to.be.greaterThan(hits);
    });

    if (kind === ServerKind.Redis) {
      it("stops within maxStale when a master is cut off from its cluster, though it still answers PING", async () => {
        const { owner } = await place("cut");
        const client = await open({ maxStale: 500 }, { slotsRefreshTimeout: 1000 });
        await client.set("{cut}", "old");
        await fill(client, "{cut}");
        const cuts = await BusCuts.between(fixture.cluster);
        try {
          await fill(client, "{cut}");
          await cuts.isolate(fixture.cluster, owner);
          const refuses = async (): Promise<boolean> =>
            owner.command("GET", "{cut}").then(
              () => false,
              () => true,
            );
          while (!(await refuses())) {
            client.cache.peek("get", "{cut}");
            await sleep(20);
          }
          const atMs = performance.now();
          while (client.cache.peek("get", "{cut}") !== undefined) await sleep(5);
          expect(performance.now() - atMs).to.be.lessThan(900);
        } finally {
          await fixture.closeClients();
          cuts.heal();
          await cuts.stop();
        }
      });
    }
  });
}

describe("cluster: a cache that cannot be", () => {
  it("is refused with RESP2 and with settings that mean nothing", () => {
    const make = (options: ClusterOptions) => () => new Cluster([7000], { lazyConnect: true, ...options });
    expect(make({ cache: true, redisOptions: { protocol: 2 } })).to.throw(/"cache" needs protocol 3/);
    expect(make({ redisOptions: { cache: true, protocol: 2 } })).to.throw(/"cache" needs protocol 3/);
    expect(make({ cache: { maxBytes: 0 } })).to.throw(/Invalid option cache/);
    expect(make({ redisOptions: { cache: { ttl: -1 } } })).to.throw(/Invalid option cache/);
  });

  it("is nothing without the option", () => {
    const client = new Cluster([7000], { lazyConnect: true });
    expect(client.cache.peek("get", "a")).to.equal(undefined);
    expect(client.cache.stats().entries).to.equal(0);
    client.cache.clear();
  });
});
