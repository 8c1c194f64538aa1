/** Automatic batches on a cluster: one for each node, mixed slots, nobody harmed by a neighbour. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { type Cluster, Redis } from "../../src/index";
import { hooks } from "../../src/observability/hooks";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const fixture = new ClusterFixture();

async function connect(options: ClusterOptions = {}): Promise<Cluster> {
  const cluster = fixture.connect({ enableAutoPipelining: true, ...options });
  await untilClusterReady(cluster);
  await Promise.all(Array.from({ length: 50 }, (_, i) => cluster.get(`warm:${i}`)));
  return cluster;
}

describe("cluster: auto-pipelining", () => {
  fixture.install();

  beforeEach(() => fixture.flush());
  afterEach(() => {
    hooks.gathered = null;
  });

  it("makes one batch for each node of the commands of one turn", async () => {
    const cluster = await connect();
    let batches = 0;
    hooks.gathered = () => {
      batches++;
    };
    const calls = Array.from({ length: 300 }, (_, i) => cluster.set(`key:${i}`, i));
    expect(cluster.autoPipelineQueueSize).to.equal(300);
    await Promise.all(calls);
    expect(cluster.autoPipelineQueueSize).to.equal(0);
    expect(batches).to.equal(3);
  });

  it("a command over two slots fails alone", async () => {
    const cluster = await connect();
    const outcomes = await Promise.allSettled([
      cluster.set("a", 1),
      cluster.mset("a", 2, "b", 2),
      cluster.get("a"),
      cluster.incr("n"),
    ]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal([
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    expect((outcomes[1] as PromiseRejectedResult).reason.message).to.match(/^CROSSSLOT /);
  });

  it("routes scripts by their keys, by text or by hash", async () => {
    const cluster = await connect({
      scripts: { echo: { lua: "return {KEYS[1], redis.call('incr', KEYS[1])}", numberOfKeys: 1 } },
    });
    const scripts = cluster as unknown as Record<string, (key: string) => Promise<[string, number]>>;
    const keys = Array.from({ length: 40 }, (_, i) => `script:${i}`);
    const run = () => Promise.all(keys.map((key) => scripts["echo"]?.(key)));
    expect(await run()).to.deep.equal(keys.map((key) => [key, 1]));
    expect(await run()).to.deep.equal(keys.map((key) => [key, 2]));
    for (const master of await fixture.cluster.masters()) await master.command("SCRIPT", "FLUSH");
    expect(await run()).to.deep.equal(keys.map((key) => [key, 3]));
    const sha = await cluster
      .nodes("master")
      .reduce<Promise<string>>(
        async (_, node) => String(await node.script("LOAD", "return KEYS[1]")),
        Promise.resolve(""),
      );
    expect(await Promise.all(keys.map((key) => cluster.evalsha(sha, 1, key)))).to.deep.equal(keys);
  });

  it("keeps the order of issue: single commands, batches and transactions", async () => {
    const cluster = await connect();
    const results = await Promise.all([
      cluster.rpush("{o}list", "1"),
      cluster.pipeline().rpush("{o}list", "2").exec(),
      cluster.rpush("{o}list", "3"),
      cluster.multi().rpush("{o}list", "4").exec(),
      cluster.rpush("{o}list", "5"),
      cluster.blpop("{o}other", 0.01),
      cluster.rpush("{o}list", "6"),
    ]);
    expect(results).to.have.length(7);
    expect(await cluster.lrange("{o}list", 0, -1)).to.deep.equal(["1", "2", "3", "4", "5", "6"]);
  });

  it("follows redirects without holding up the batch of the old node", async () => {
    const cluster = await connect();
    const slot = calculateSlot("moving");
    const owner = await fixture.cluster.ownerOf(slot);
    const other = (await fixture.cluster.masters()).find((master) => master !== owner) as ServerProcess;
    await cluster.set("moving", 1);
    await fixture.cluster.moveSlot(slot, other);
    try {
      const keys = Array.from({ length: 200 }, (_, i) => `key:${i}`);
      const values = await Promise.all([
        cluster.incr("moving"),
        ...keys.map((key) => cluster.incr(key)),
        cluster.incr("moving"),
      ]);
      expect([values[0], values.at(-1)]).to.deep.equal([2, 3]);
      expect(await Promise.all(keys.map((key) => cluster.incr(key)))).to.deep.equal(keys.map(() => 2));
    } finally {
      await fixture.cluster.moveSlot(slot, owner);
    }
  });

  it("autoPipelineQueueSize counts what waits between connect and ready", async () => {
    for (const [enableAutoPipelining, expected] of [
      [true, [3, 0]],
      [false, [0, 0]],
    ] as const) {
      const cluster = fixture.connect({ enableAutoPipelining });
      expect(cluster.autoPipelineQueueSize).to.equal(0);
      await new Promise((resolve) => cluster.once("connect", resolve));
      const calls = [
        cluster.set("a", 1),
        cluster.get("a"),
        cluster.get("b"),
        cluster.pipeline().get("a").get("a").exec(),
        cluster.blpop("nothing", 0.01),
      ];
      expect(cluster.status).to.equal("connect");
      const sizes = [cluster.autoPipelineQueueSize];
      await Promise.all(calls);
      sizes.push(cluster.autoPipelineQueueSize);
      expect(sizes).to.deep.equal(expected);
    }
  });

  it("waits for the slot table, and fails as other commands do", async () => {
    const lazy = fixture.connect({ enableAutoPipelining: true, lazyConnect: true });
    const calls = Promise.all([lazy.set("a", 1), lazy.get("a")]);
    expect(lazy.autoPipelineQueueSize).to.equal(0);
    expect(await calls).to.deep.equal(["OK", "1"]);
    const lost = fixture.connectTo([{ host: "127.0.0.1", port: 1 }], {
      enableAutoPipelining: true,
      clusterRetryStrategy: () => null,
    });
    const error = await lost.get("a").then(
      () => null,
      (reason: Error) => reason.message,
    );
    expect(error).to.equal("None of startup nodes is available");
  });

  it("passes what a tracer has replaced, once for each send", async () => {
    const prototype = Redis.prototype as unknown as { sendCommand(command: { name: string }): unknown };
    const original = prototype.sendCommand;
    const seen: string[] = [];
    prototype.sendCommand = function (command) {
      seen.push(command.name);
      return original.call(this, command);
    };
    try {
      for (const enableAutoPipelining of [false, true]) {
        const cluster = fixture.connect({ enableAutoPipelining });
        await untilClusterReady(cluster);
        seen.length = 0;
        await Promise.all([cluster.set("a", 1), cluster.get("b")]);
        await cluster.pipeline().incr("a").multi().get("c").exec().get("d").exec();
        expect([...seen].sort()).to.deep.equal(["exec", "get", "get", "get", "incr", "multi", "set"]);
      }
    } finally {
      prototype.sendCommand = original;
    }
  });
});
