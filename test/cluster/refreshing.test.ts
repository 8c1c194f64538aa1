/** When the slot table is asked for, what becomes of slots that it does not name, and roles that change. */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY, SLOT } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";
import { failureOf } from "../support/outcome";

describe("cluster: refreshing the slot table", () => {
  const fixture = new FakeClusterFixture().install();

  async function connect(options: ConstructorParameters<typeof Cluster>[1] = {}): Promise<Cluster> {
    const cluster = fixture.connect(options);
    await untilClusterReady(cluster);
    return cluster;
  }

  const questions = (): number =>
    fixture.fake.nodes.flatMap((node) => node.received("cluster")).filter(([, word]) => word === "SLOTS")
      .length;
  const node = (index: number): [string, number] => [
    fixture.fake.node(index).server.host,
    fixture.fake.node(index).server.port,
  ];

  it("happens once for all who ask at the same time, with a promise or a callback", async () => {
    const cluster = await connect();
    const before = questions();
    let events = 0;
    cluster.on("refresh", () => events++);
    const called = new Promise<unknown>((resolve) => cluster.refreshSlotsCache((error) => resolve(error)));
    const all = await Promise.all([cluster.refreshSlotsCache(), cluster.refreshSlotsCache(), called]);
    expect(all).to.deep.equal([undefined, undefined, null]);
    expect(questions() - before).to.equal(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).to.equal(1);
  });

  it("happens periodically only if asked for", async () => {
    const quiet = await connect();
    const before = questions();
    const cluster = await connect({ slotsRefreshInterval: 20 });
    await waitUntil(() => Promise.resolve(questions() - before >= 5), { timeoutMs: 5000, what: "refreshes" });
    cluster.disconnect();
    await new Promise((resolve) => cluster.once("end", resolve));
    const after = questions();
    await quiet.get(KEY);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(questions()).to.equal(after);
  });

  it("leaves slots that are not named with their owner", async () => {
    const cluster = await connect();
    const before = cluster.slots[SLOT];
    fixture.fake.slots = () => [
      [0, 99, node(1)],
      [100, 200, node(0)],
    ];
    await cluster.refreshSlotsCache();
    expect(cluster.slots[0]).to.deep.equal([fixture.fake.node(1).key]);
    expect(cluster.slots[SLOT]).to.deep.equal(before);
  });

  it("commands of a slot without an owner go to any node, which knows better", async () => {
    fixture.fake.slots = () => [
      [0, 99, node(0)],
      [100, 200, node(1)],
    ];
    fixture.fake.node(0).script = ([name]) =>
      name === "get" ? new Error(`MOVED ${SLOT} ${fixture.fake.node(1).key}`) : undefined;
    fixture.fake.node(1).values.set(KEY, "here");
    const cluster = await connect();
    expect(cluster.slots[SLOT]).to.deep.equal([]);
    for (let i = 0; i < 5; i++) expect(await cluster.get(KEY)).to.equal("here");
  });

  it("tells of each node that failed, and passes over it", async () => {
    const cluster = await connect();
    // Nodes with a connection are asked first.
    await Promise.all(cluster.nodes().map((node) => node.ping()));
    fixture.fake.node(0).script = ([name]) => (name === "cluster" ? new Error("ERR broken") : undefined);
    const told: [string, string][] = [];
    cluster.on("node error", (error, key) => told.push([error.message, key]));
    for (let i = 0; i < 20; i++) await cluster.refreshSlotsCache();
    expect(told.length).to.be.greaterThan(0);
    for (const one of told) expect(one).to.deep.equal(["ERR broken", fixture.fake.node(0).key]);
    for (const one of fixture.fake.nodes)
      one.script = ([name]) => (name === "cluster" ? new Error("ERR broken") : undefined);
    const failure = await failureOf(cluster.refreshSlotsCache());
    expect(failure).to.include({ name: "ClusterAllFailedError", message: "Failed to refresh slots cache." });
    expect(await cluster.set(KEY, 1)).to.equal("OK");
  });

  it("is void when the client is closed meanwhile", async () => {
    const cluster = await connect();
    fixture.fake.slots = () => NO_REPLY;
    const outcome = failureOf(cluster.refreshSlotsCache());
    await new Promise((resolve) => setTimeout(resolve, 20));
    cluster.disconnect();
    expect((await outcome).message).to.equal("Cluster is disconnected.");
  });

  it("commands that wait to be sent again end with the client", async () => {
    fixture.fake.node(1).script = ([name]) => (name === "get" ? new Error("CLUSTERDOWN no") : undefined);
    const cluster = await connect({ retryDelayOnClusterDown: 60_000 });
    const outcome = failureOf(cluster.get(KEY));
    await waitUntil(() => Promise.resolve(fixture.fake.node(1).received("get").length === 1), {
      timeoutMs: 5000,
      what: "the command",
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    cluster.disconnect();
    expect(await outcome).to.include({ name: "AbortError", message: "Cluster is ended." });
  });

  describe("shard channels", () => {
    it("of a slot that nobody is known to serve are refused", async () => {
      fixture.fake.slots = () => [[0, 99, node(0)]];
      const cluster = await connect({ shardedSubscribers: true });
      expect(await failureOf(cluster.ssubscribe(KEY))).to.include({
        name: "AbortError",
        message: `No sharded subscriber for slot: ${SLOT}`,
      });
    });

    it("SSUBSCRIBE without channels gets the server's answer and ends no subscription", async () => {
      for (const one of fixture.fake.nodes) {
        one.script = ([name, channel]) => {
          if (name !== "ssubscribe") return undefined;
          return channel === undefined
            ? new Error("ERR wrong number of arguments for 'ssubscribe' command")
            : ["ssubscribe", channel, 1];
        };
      }
      const cluster = await connect({ shardedSubscribers: true });
      await cluster.ssubscribe(KEY);
      const failure = await failureOf(cluster.ssubscribe());
      expect(failure.message).to.equal("ERR wrong number of arguments for 'ssubscribe' command");
      expect(fixture.fake.nodes.flatMap((one) => one.received("sunsubscribe"))).to.deep.equal([]);
    });

    it("get their connections beforehand with redisOptions.lazyConnect false", async () => {
      const opened: string[] = [];
      const options = { shardedSubscribers: true, redisOptions: { lazyConnect: false } };
      const cluster = fixture.connect(options);
      cluster.on("+subscriber", () => opened.push("+subscriber"));
      await untilClusterReady(cluster);
      await waitUntil(() => Promise.resolve(opened.length === 2), { timeoutMs: 5000, what: "subscribers" });
      const named = (index: number): number =>
        fixture.fake
          .node(index)
          .server.received.filter((words) => words.includes("sluice-cluster(ssubscriber)")).length;
      await waitUntil(() => Promise.resolve(named(0) > 0 && named(1) > 0), {
        timeoutMs: 5000,
        what: "their names",
      });
    });

    it("a connection that fails is told by nodeError", async () => {
      const cluster = await connect({ shardedSubscribers: true });
      const { key } = fixture.fake.node(1);
      const told = new Promise((resolve) =>
        cluster.once("nodeError", (error: Error, name: string) => resolve([error instanceof Error, name])),
      );
      await fixture.fake.node(1).server.stop();
      cluster.ssubscribe(KEY).catch(() => {});
      expect(await told).to.deep.equal([true, key]);
    });
  });
});

describe("cluster: roles that change", () => {
  const fixture = new ClusterFixture().install();

  it("are taken over from the table, and told to the connections", async () => {
    await fixture.untilReplicasAreListed();
    const cluster = fixture.connect({ redisOptions: { lazyConnect: false }, scaleReads: "slave" });
    await untilClusterReady(cluster);
    const owner = await fixture.cluster.ownerOf(SLOT);
    const [replica] = (await fixture.cluster.replicas(owner)) as [ServerProcess];
    await replica.command("CLUSTER", "FAILOVER");
    const hasChanged = async (): Promise<boolean> => {
      await cluster.refreshSlotsCache();
      return cluster.slots[SLOT]?.[0] === `${replica.host}:${replica.port}`;
    };
    await waitUntil(hasChanged, { timeoutMs: 15_000, what: "the failover" });
    const rolesOf = (role: "master" | "slave"): unknown[] =>
      cluster.nodes(role).map(({ options }) => options.port);
    expect(rolesOf("master")).to.include(replica.port);
    // A node that has not heard of it yet would take it back in the client's table.
    await fixture.cluster.untilHealthy();
    await fixture.untilReplicasAreListed();
    await cluster.refreshSlotsCache();
    expect(rolesOf("slave")).to.include(owner.port);
    // The server shows a connection that has sent READONLY with the flag r.
    const flagsAt = async (server: ServerProcess): Promise<string[]> => {
      const list = String(await server.command("CLIENT", "LIST", "TYPE", "NORMAL"));
      return [...list.matchAll(/ lib-name=sluice| flags=(\w+)/g)].map(([, flags = ""]) => flags);
    };
    await cluster.set(KEY, "value");
    await waitUntil(async () => (await flagsAt(owner)).some((flags) => flags.includes("r")), {
      timeoutMs: 15_000,
      what: "READONLY at the new replica",
    });
    expect((await flagsAt(replica)).every((flags) => !flags.includes("r"))).to.equal(true);
    await waitUntil(async () => (await cluster.get(KEY)) === "value", {
      timeoutMs: 5000,
      what: "the replica",
    });
  }).timeout(60_000);
});
