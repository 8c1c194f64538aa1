/** `scaleReads` in all its forms on real replicas: which node serves, and what happens without one. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { Cluster, type Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { serverKinds } from "../support/shared-servers";

const fixture = new ClusterFixture();
const KEYS = Array.from({ length: 60 }, (_, i) => `key:${i}`);

/** How often each node has executed a command, by port. */
async function callsOf(name: string): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const node of fixture.cluster.nodes) {
    const stats = String(await node.command("INFO", "commandstats"));
    counts.set(node.port, Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0));
  }
  return counts;
}

async function difference(
  name: string,
  work: () => Promise<unknown>,
): Promise<{ masters: number; replicas: number }> {
  const before = await callsOf(name);
  await work();
  const after = await callsOf(name);
  const masters = new Set((await fixture.cluster.masters()).map(({ port }) => port));
  const sum = { masters: 0, replicas: 0 };
  for (const [port, count] of after) {
    sum[masters.has(port) ? "masters" : "replicas"] += count - (before.get(port) ?? 0);
  }
  return sum;
}

/** Starts at masters only, so that replicas are connected for reads alone. */
async function connect(options: ClusterOptions): Promise<Cluster> {
  const masters = await fixture.cluster.masters();
  const cluster = fixture.connectTo(
    masters.map(({ host, port }) => ({ host, port })),
    options,
  );
  await untilClusterReady(cluster);
  return cluster;
}

describe("cluster: reading from replicas", () => {
  fixture.install();

  before(async function () {
    this.timeout(60_000);
    const [first] = (await fixture.cluster.masters()) as [ServerProcess];
    const cluster = new Cluster([{ host: first.host, port: first.port }]);
    for (const key of KEYS) await cluster.set(key, key);
    await cluster.quit();
    await fixture.untilReplicasAreListed();
    await waitUntil(async () => (await fixture.cluster.replicas()).length === 3, {
      timeoutMs: 5000,
      what: "replicas",
    });
  });

  it("does not happen by default", async () => {
    const cluster = await connect({});
    expect(cluster.nodes("slave")).to.have.length(3);
    const counts = await difference("get", () => Promise.all(KEYS.map((key) => cluster.get(key))));
    expect(counts).to.deep.equal({ masters: 60, replicas: 0 });
    expect(cluster.nodes("slave").map((node) => node.status)).to.deep.equal(["wait", "wait", "wait"]);
  });

  it('"slave" sends reads to replicas and writes to masters', async () => {
    const cluster = await connect({ scaleReads: "slave" });
    const reads = await difference("get", async () => {
      expect(await Promise.all(KEYS.map((key) => cluster.get(key)))).to.deep.equal(KEYS);
    });
    expect(reads).to.deep.equal({ masters: 0, replicas: 60 });
    const writes = await difference("set", () => Promise.all(KEYS.map((key) => cluster.set(key, key))));
    expect(writes.masters).to.equal(60);
    for (const node of cluster.nodes("slave")) expect(node.options.readOnly).to.equal(true);
  });

  it("splits a pipeline, reads apart from writes", async () => {
    const cluster = await connect({ scaleReads: "slave" });
    const counts = await difference("get", async () => {
      const pipeline = cluster.pipeline();
      for (const key of KEYS) pipeline.get(key).set(key, key);
      const rows = await pipeline.exec();
      expect(rows?.every(([error]) => error === null)).to.equal(true);
    });
    expect(counts).to.deep.equal({ masters: 0, replicas: 60 });
  });

  it("runs transactions on the master", async () => {
    const cluster = await connect({ scaleReads: "slave" });
    const counts = await difference("get", () =>
      cluster
        .multi()
        .get(KEYS[0] as string)
        .exec(),
    );
    expect(counts).to.deep.equal({ masters: 1, replicas: 0 });
  });

  it("reads apart from writes with auto-pipelining too", async () => {
    const cluster = await connect({ scaleReads: "slave", enableAutoPipelining: true });
    const counts = await difference("get", () =>
      Promise.all(KEYS.flatMap((key) => [cluster.set(key, key), cluster.get(key)])),
    );
    expect(counts).to.deep.equal({ masters: 0, replicas: 60 });
  });

  it('"all" spreads reads over the master and its replicas', async () => {
    const cluster = await connect({ scaleReads: "all" });
    const { masters, replicas } = await difference("get", () =>
      Promise.all([...KEYS, ...KEYS, ...KEYS, ...KEYS].map((key) => cluster.get(key))),
    );
    expect(masters + replicas).to.equal(240);
    expect(masters).to.be.within(60, 180);
  });

  it("takes an upper-case word for a write, and a read-only script for a read", async () => {
    const cluster = await connect({
      scaleReads: "slave",
      scripts: {
        readIt: { lua: "return redis.call('get', KEYS[1])", numberOfKeys: 1, readOnly: true },
        writeIt: { lua: "return redis.call('get', KEYS[1])", numberOfKeys: 1 },
      },
    });
    const key = KEYS[0] as string;
    const scripts = cluster as unknown as Record<string, (key: string) => Promise<string>>;
    expect(await difference("get", () => cluster.call("GET", key))).to.deep.equal({
      masters: 1,
      replicas: 0,
    });
    expect(await difference("get", () => cluster.call("get", key))).to.deep.equal({
      masters: 0,
      replicas: 1,
    });
    expect(await difference("get", () => scripts["readIt"]?.(key) as Promise<string>)).to.deep.equal({
      masters: 0,
      replicas: 1,
    });
    expect(await difference("get", () => scripts["writeIt"]?.(key) as Promise<string>)).to.deep.equal({
      masters: 1,
      replicas: 0,
    });
  });

  it("a function chooses: a node, a list, or nothing for the master", async () => {
    const seen: { count: number; name: string }[] = [];
    const cluster = await connect({
      scaleReads: (nodes: Redis[], command: { name: string }) => {
        seen.push({ count: nodes.length, name: command.name });
        expect(nodes[0]?.options.readOnly).to.equal(false);
        return nodes[1] as Redis;
      },
    });
    expect(await difference("get", () => cluster.get(KEYS[0] as string))).to.deep.equal({
      masters: 0,
      replicas: 1,
    });
    expect(seen).to.deep.equal([{ count: 2, name: "get" }]);
    await cluster.ping();
    await cluster.set(KEYS[0] as string, KEYS[0] as string);
    expect(seen).to.have.length(1);
    const lists = await connect({ scaleReads: (nodes: Redis[]) => nodes.slice(1) });
    expect(await difference("get", () => lists.get(KEYS[0] as string))).to.deep.equal({
      masters: 0,
      replicas: 1,
    });
    const none = await connect({ scaleReads: () => undefined });
    expect(await difference("get", () => none.get(KEYS[0] as string))).to.deep.equal({
      masters: 1,
      replicas: 0,
    });
  });

  it("has names for replicas that clients of one server use too", async () => {
    const cluster = await connect({ scaleReads: "replica" });
    const reads = (client: Cluster): Promise<unknown> => Promise.all(KEYS.map((key) => client.get(key)));
    expect(await difference("get", () => reads(cluster))).to.deep.equal({ masters: 0, replicas: 60 });
    const nearest = await connect({ scaleReads: "nearest" });
    const { masters, replicas } = await difference("get", () => reads(nearest));
    expect(masters + replicas).to.equal(60);
    const onRequest = await connect({ scaleReads: "primary" });
    expect(await difference("get", () => reads(onRequest))).to.deep.equal({ masters: 60, replicas: 0 });
    const chosen = onRequest.with({ readFrom: "replica" });
    expect(await difference("get", () => reads(chosen))).to.deep.equal({ masters: 0, replicas: 60 });
    expect(() => fixture.connectTo([], {}).with({ readFrom: "replica" })).to.throw("scaleReads");
  });

  it("reads its own writes from masters, by key", async () => {
    const cluster = await connect({ scaleReads: "replica", readYourWrites: 60_000 });
    const [written, other] = [KEYS.slice(0, 10), KEYS.slice(10, 20)];
    const counts = await difference("get", async () => {
      await Promise.all(written.map((key) => cluster.set(key, key)));
      expect(await Promise.all(written.map((key) => cluster.get(key)))).to.deep.equal(written);
      const rows = await cluster
        .pipeline()
        .get(other[0] as string)
        .set(other[0] as string, other[0] as string)
        .exec();
      expect(rows).to.deep.equal([
        [null, other[0]],
        [null, "OK"],
      ]);
    });
    expect(counts).to.deep.equal({ masters: 11, replicas: 0 });
    const others = await difference("get", () => Promise.all(other.slice(1).map((key) => cluster.get(key))));
    expect(others).to.deep.equal({ masters: 0, replicas: 9 });
  });

  it("reads from masters what it has written over leased connections, or on every node", async () => {
    const cluster = await connect({ scaleReads: "replica", readYourWrites: 60_000 });
    const [leased = "", other = ""] = KEYS;
    const reads = (): Promise<unknown> => Promise.all([cluster.get(leased), cluster.get(other)]);
    await cluster.withConnection((own) => own.set(leased, leased), { key: leased });
    expect(await difference("get", reads)).to.deep.equal({ masters: 1, replicas: 1 });
    await cluster.onAll("eval", ["return 1", 0]);
    expect(await difference("get", reads)).to.deep.equal({ masters: 2, replicas: 0 });
  });

  it("keeps the cursor of a hash at its master", async () => {
    const cluster = await connect({ scaleReads: "slave" });
    const counts = await difference("hscan", async () => {
      for await (const _chunk of cluster.hscanStream("no hash")) {
      }
    });
    expect(counts).to.deep.equal({ masters: 1, replicas: 0 });
  });

  it("refuses other values", () => {
    expect(() => fixture.connect({ scaleReads: "zz" as "all" })).to.throw(
      'Invalid option scaleReads "zz". Expected "all", "master", "slave", "replica", "nearest", "primary" or a custom function',
    );
  });

  it("falls back to the master when no replica can be reached", async () => {
    const cluster = await connect({ scaleReads: "slave" });
    await Promise.all(KEYS.map((key) => cluster.get(key)));
    const replicas = await fixture.cluster.replicas();
    try {
      await Promise.all(replicas.map((replica) => replica.kill()));
      expect(await Promise.all(KEYS.map((key) => cluster.get(key)))).to.deep.equal(KEYS);
      expect(await Promise.all(KEYS.map((key) => cluster.get(key)))).to.deep.equal(KEYS);
    } finally {
      await Promise.all(replicas.map((replica) => replica.start()));
      await fixture.cluster.untilHealthy();
    }
  }).timeout(60_000);
});

describe("cluster: reading in the same zone", () => {
  if (!serverKinds().includes(ServerKind.Valkey)) return;
  const zoned = new ClusterFixture(ServerKind.Valkey, { masters: 1, replicasPerMaster: 2 }).install();

  it("prefers replicas of the zone that servers tell", async function () {
    this.timeout(60_000);
    const [master] = (await zoned.cluster.masters()) as [ServerProcess];
    const replicas = await zoned.cluster.replicas();
    await master.command("CONFIG", "SET", "availability-zone", "zone-a");
    for (const [i, replica] of replicas.entries()) {
      await replica.command("CONFIG", "SET", "availability-zone", `zone-${"ab"[i]}`);
    }
    await master.command("SET", "key", "value");
    const areZonesTold = async (): Promise<boolean> => {
      for (const node of zoned.cluster.nodes) {
        const told = JSON.stringify(await node.command("CLUSTER", "SHARDS"));
        const count = (word: string): number => told.split(`"${word}"`).length - 1;
        if (count("zone-a") !== 2 || count("zone-b") !== 1 || count("online") !== 3) return false;
      }
      return true;
    };
    await waitUntil(areZonesTold, { timeoutMs: 15_000, what: "the zones to be told" });
    await zoned.untilReplicasAreListed();
    for (const [zone, port] of [
      ["zone-a", (replicas[0] as ServerProcess).port],
      ["zone-b", (replicas[1] as ServerProcess).port],
    ] as const) {
      const start = [{ host: master.host, port: master.port }];
      const cluster = zoned.connectTo(start, { scaleReads: "slave", availabilityZone: zone });
      await untilClusterReady(cluster);
      for (let i = 0; i < 10; i++) expect(await cluster.get("key")).to.equal("value");
      const used = cluster.nodes("slave").filter((node) => node.status === "ready");
      expect(used.map((node) => node.options.port)).to.deep.equal([port]);
    }
  });
});
