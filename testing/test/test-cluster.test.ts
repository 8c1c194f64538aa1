/** The cluster of test servers with the client in front of it: slots that move, failovers, shards of channels. */

import { expect } from "chai";
import { Cluster } from "../../src/index";
import { TestServer } from "../src";
import { WireClient } from "./support/wire-client";

describe("TestServer as a cluster", () => {
  let server: TestServer;
  let cluster: Cluster;

  beforeEach(async () => {
    server = await TestServer.start({ cluster: 3 });
    cluster = new Cluster(server.seeds, { clusterRetryStrategy: () => 5 });
    cluster.on("error", () => {});
  });

  afterEach(async () => {
    cluster.disconnect();
    await server.stop();
  });

  /** Another master than the owner of the key. */
  function otherThan(key: string) {
    const owner = server.ownerOf(key);
    const other = server.nodes.find((node) => node.isMaster && node.id !== owner.id);
    if (other === undefined) throw new Error("There is one master only");
    return other;
  }

  async function slotOf(key: string): Promise<number> {
    return Number(await cluster.cluster("KEYSLOT", key));
  }

  it("has masters with all slots and a replica each", async () => {
    const keys = Array.from({ length: 100 }, (_, index) => `key:${index}`);
    await Promise.all(keys.map((key) => cluster.set(key, key)));
    expect(await Promise.all(keys.map((key) => cluster.get(key)))).to.deep.equal(keys);
    expect(server.state.size).to.equal(100);
    expect(server.state.get("key:7")).to.equal("key:7");
    expect(cluster.nodes("master")).to.have.lengthOf(3);
    expect(cluster.nodes("slave")).to.have.lengthOf(3);
    const info = String(await cluster.cluster("INFO"));
    expect(info).to.contain("cluster_state:ok").and.to.contain("cluster_known_nodes:6");
    const shards = (await cluster.cluster("SHARDS")) as unknown[];
    expect(shards).to.have.lengthOf(3);
    expect(
      String(await cluster.cluster("NODES"))
        .trim()
        .split("\n"),
    ).to.have.lengthOf(6);
  });

  it("moves a slot with its keys: the client follows MOVED", async () => {
    await cluster.set("account:1", "10");
    const target = otherThan("account:1");
    server.faults.move(await slotOf("account:1"), target);
    expect(server.ownerOf("account:1")).to.equal(target);
    expect(await cluster.incr("account:1")).to.equal(11);
    expect(target.state.get("account:1")).to.equal("11");
  });

  it("answers ASK and TRYAGAIN while a slot is on its way", async () => {
    await cluster.mset("{a}1", "one", "{a}2", "two");
    const owner = server.ownerOf("{a}");
    const target = otherThan("{a}");
    const slot = await slotOf("{a}");
    server.faults.beginMove(slot, target, ["{a}1"]);
    const wire = await WireClient.connect({ port: owner.port });
    const replies = await wire.run([
      ["get", "{a}2"],
      ["get", "{a}1"],
      ["mget", "{a}1", "{a}2"],
      ["mget", "{a}1", "other"],
      ["set", "none", "1"],
    ]);
    await wire.close();
    expect(replies.slice(0, 4)).to.deep.equal([
      ["$", "two"],
      ["-", `ASK ${slot} 127.0.0.1:${target.port}`],
      ["-", "TRYAGAIN Multiple keys request during rehashing of slot"],
      ["-", "CROSSSLOT Keys in request don't hash to the same slot"],
    ]);
    expect(await cluster.get("{a}1")).to.equal("one");
    const both = cluster.mget("{a}1", "{a}2");
    server.faults.move(slot, target);
    expect(await both).to.deep.equal(["one", "two"]);
  });

  it("fails over: nothing is lost, and blocked callers go on", async () => {
    await cluster.set("key", "value");
    const old = server.ownerOf("key");
    server.faults.failover(old);
    expect(old.isMaster).to.equal(false);
    expect(await cluster.get("key")).to.equal("value");
    expect(await cluster.set("key", "new")).to.equal("OK");
    expect(server.ownerOf("key").state.get("key")).to.equal("new");
    const master = server.ownerOf("key");
    server.faults.failover(master);
    await master.down();
    expect(await cluster.get("key")).to.equal("new");
    await master.up();
  });

  it("answers reads at replicas that were told to", async () => {
    await cluster.set("key", "value");
    const master = server.ownerOf("key");
    const replica = server.nodes.find((node) => !node.isMaster && node.state.has("key"));
    const wire = await WireClient.connect({ port: replica?.port ?? 0 });
    const replies = await wire.run([["get", "key"], ["readonly"], ["get", "key"], ["set", "key", "new"]]);
    await wire.close();
    const elsewhere = ["-", `MOVED ${await slotOf("key")} 127.0.0.1:${master.port}`];
    expect(replies).to.deep.equal([elsewhere, ["+", "OK"], ["$", "value"], elsewhere]);
  });

  it("carries channels to all nodes, and shard channels with their slot", async () => {
    const subscriber = new Cluster(server.seeds, { shardedSubscribers: true });
    const got: string[] = [];
    subscriber.on("message", (channel: string, message: string) => got.push(`${channel} ${message}`));
    subscriber.on("smessage", (channel: string, message: string) => got.push(`${channel} ${message}`));
    await subscriber.subscribe("news");
    await subscriber.ssubscribe("shard");
    await cluster.publish("news", "one");
    await cluster.spublish("shard", "two");
    while (got.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(got.sort()).to.deep.equal(["news one", "shard two"]);
    subscriber.disconnect();
  });

  it("begins anew from a snapshot", async () => {
    const clean = server.snapshot();
    await Promise.all([cluster.set("a", "1"), cluster.set("b", "2"), cluster.set("c", "3")]);
    server.faults.failover(0);
    server.restore(clean);
    expect(server.state.size).to.equal(0);
    expect(await cluster.get("a")).to.equal(null);
  });

  it("says so where there is no cluster", async () => {
    const single = await TestServer.start();
    expect(() => single.faults.move(0, 1)).to.throw(/TestServer\.start\(\{ cluster: 3 \}\)/);
    expect(() => single.ownerOf("key")).to.throw(/is no cluster/);
    await single.stop();
  });
});
