/**
 * Under which addresses nodes are reached: host names, nodes without a name, unknown endpoints,
 * IPv6, SRV records, NAT, names for TLS, and start nodes that have moved. On real nodes; only
 * which server name a TLS connection asked for is seen by servers of our own.
 */

import { connect as connectSocket } from "node:net";
import { networkInterfaces } from "node:os";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { Certificates } from "../../scripts/servers/certificates";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";

const KEYS = Array.from({ length: 60 }, (_, i) => `key:${i}`);

/** Keys of all nodes arrive and come back, alone and in a pipeline. */
async function exercise(cluster: Cluster): Promise<void> {
  await untilClusterReady(cluster);
  await Promise.all(KEYS.map((key) => cluster.set(key, key)));
  const pipeline = cluster.pipeline();
  for (const key of KEYS) pipeline.get(key);
  expect((await pipeline.exec())?.map((row) => row[1])).to.deep.equal(KEYS);
}

function hostsOf(cluster: Cluster): string[] {
  return [...new Set(cluster.nodes().map((node) => node.options.host as string))].sort();
}

describe("cluster: addresses", () => {
  const fixture = new ClusterFixture().install();
  const DEFAULTS = { "cluster-preferred-endpoint-type": "ip", "cluster-announce-hostname": "" };

  async function configure(nodes: readonly ServerProcess[], config: Record<string, string>): Promise<void> {
    for (const node of nodes) {
      for (const [name, value] of Object.entries(config)) await node.command("CONFIG", "SET", name, value);
    }
  }

  /** Waits until every node says the same about host names, which travel with the gossip. */
  async function untilNamed(count: number): Promise<void> {
    const isTold = async (): Promise<boolean> => {
      for (const node of fixture.cluster.nodes) {
        const told = JSON.stringify(await node.command("CLUSTER", "SLOTS"));
        if (told.split('"localhost"').length - 1 !== count) return false;
      }
      return true;
    };
    await waitUntil(isTold, { timeoutMs: 15_000, what: "host names to be told" });
  }

  before(async function () {
    this.timeout(60_000);
    await fixture.untilReplicasAreListed();
  });
  afterEach(() => configure(fixture.cluster.nodes, DEFAULTS));

  async function moveAndBack(cluster: Cluster, key: string): Promise<void> {
    const slot = calculateSlot(key);
    const owner = await fixture.cluster.ownerOf(slot);
    const masters = await fixture.cluster.masters();
    const other = masters.find((master) => master !== owner) as ServerProcess;
    await cluster.set(key, "before");
    for (const target of [other, owner]) {
      await fixture.cluster.moveSlot(slot, target);
      expect(await cluster.set(key, target.port)).to.equal("OK");
      expect(await cluster.get(key)).to.equal(String(target.port));
    }
  }

  it("host names are used where nodes prefer them", async () => {
    const config = {
      "cluster-announce-hostname": "localhost",
      "cluster-preferred-endpoint-type": "hostname",
    };
    await configure(fixture.cluster.nodes, config);
    await untilNamed(6);
    const cluster = fixture.connect();
    await exercise(cluster);
    expect(hostsOf(cluster)).to.deep.equal(["localhost"]);
    await moveAndBack(cluster, "traveller");
  }).timeout(60_000);

  it("a node that has no name is found by its address, also through MOVED", async () => {
    const masters = await fixture.cluster.masters();
    const [named] = masters as [ServerProcess];
    await configure([named], { "cluster-announce-hostname": "localhost" });
    await configure(fixture.cluster.nodes, { "cluster-preferred-endpoint-type": "hostname" });
    await untilNamed(1);
    const cluster = fixture.connect();
    await exercise(cluster);
    expect(hostsOf(cluster)).to.deep.equal(["127.0.0.1", "localhost"]);
    await moveAndBack(cluster, "traveller");
  }).timeout(60_000);

  it("unknown endpoints are at the host that was asked", async () => {
    await configure(fixture.cluster.nodes, { "cluster-preferred-endpoint-type": "unknown-endpoint" });
    const [first] = fixture.cluster.nodes as [ServerProcess];
    const told = (await first.command("CLUSTER", "SLOTS")) as [number, number, unknown[]][];
    expect(told.map(([, , master]) => master[0])).to.deep.equal([null, null, null]);
    const cluster = fixture.connect();
    await exercise(cluster);
    expect(hostsOf(cluster)).to.deep.equal(["127.0.0.1"]);
    await moveAndBack(cluster, "traveller");
  }).timeout(60_000);

  it("natMap translates them, as an object and as a function, also in MOVED", async () => {
    const entries = fixture.cluster.nodes.map(
      ({ host, port }) => [`${host}:${port}`, { host: "localhost", port }] as const,
    );
    const table = Object.fromEntries(entries);
    for (const natMap of [table, (address: string) => table[address] ?? null]) {
      const cluster = fixture.connect({ natMap });
      await exercise(cluster);
      await moveAndBack(cluster, "traveller");
      expect(hostsOf(cluster)).to.deep.equal(["localhost"]);
    }
  }).timeout(60_000);

  it("natMap holds for shard channels too", async () => {
    const natMap = (address: string) => ({ host: "localhost", port: Number(address.split(":")[1]) });
    const cluster = fixture.connect({ natMap, shardedSubscribers: true });
    const heard = new Promise((resolve) => cluster.once("smessage", (_channel, text) => resolve(text)));
    await cluster.ssubscribe("traveller");
    await cluster.spublish("traveller", "hello");
    expect(await heard).to.equal("hello");
  });

  it("SRV records name the start nodes; a dead one is passed over", async () => {
    const { port } = fixture.cluster.nodes[0] as ServerProcess;
    const asked: string[] = [];
    const cluster = fixture.connectTo([{ host: "redis.service.example" }], {
      useSRVRecords: true,
      resolveSrv: (name, callback) => {
        asked.push(name);
        callback(null, [
          { name: "lost.example", port, priority: 1, weight: 1 },
          { name: "found.example", port, priority: 2, weight: 1 },
        ]);
      },
      dnsLookup: (name, callback) => {
        asked.push(name);
        if (name === "found.example") callback(null, "127.0.0.1", 4);
        else callback(Object.assign(new Error("ENOTFOUND"), { code: "ENOTFOUND" }), "");
      },
    });
    await exercise(cluster);
    expect(asked).to.deep.equal(["redis.service.example", "lost.example", "found.example"]);
  });

  it("dnsLookup can keep the names of start nodes", async () => {
    const { port } = fixture.cluster.nodes[0] as ServerProcess;
    const cluster = fixture.connectTo([{ host: "localhost", port }], {
      dnsLookup: (name, callback) => callback(null, name),
    });
    const added: (string | undefined)[] = [];
    cluster.on("+node", (node) => added.push(node.options.host));
    await exercise(cluster);
    expect(added[0]).to.equal("localhost");
  });
});

describe("cluster: IPv6", () => {
  const hasIPv6 = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => address === "::1"),
  );
  if (!hasIPv6) return;
  const fixture = new ClusterFixture(ServerKind.Redis, {
    replicasPerMaster: 0,
    config: { bind: "127.0.0.1 ::1", "cluster-announce-ip": "::1" },
  }).install();

  it("nodes announce it, and start nodes may be given by it", async () => {
    const isTold = async (): Promise<boolean> => {
      const told = await Promise.all(
        fixture.cluster.nodes.map(async (node) => JSON.stringify(await node.command("CLUSTER", "SLOTS"))),
      );
      return told.every((text) => text.split('"::1"').length - 1 === 3);
    };
    await waitUntil(isTold, { timeoutMs: 15_000, what: "addresses to be told" });
    const [first] = fixture.cluster.nodes as [ServerProcess];
    for (const start of [
      { host: "::1", port: first.port },
      `redis://[::1]:${first.port}`,
      `[::1]:${first.port}`,
    ]) {
      const cluster = fixture.connectTo([start]);
      await exercise(cluster);
      expect(hostsOf(cluster)).to.deep.equal(["::1"]);
      expect(cluster.slots[0]?.[0]).to.match(/^::1:\d+$/);
    }
    const cluster = fixture.connectTo([{ host: "::1", port: first.port }]);
    await untilClusterReady(cluster);
    const slot = calculateSlot("traveller");
    const owner = await fixture.cluster.ownerOf(slot);
    const other = fixture.cluster.nodes.find((node) => node !== owner) as ServerProcess;
    await fixture.cluster.moveSlot(slot, other);
    expect(await cluster.set("traveller", 1)).to.equal("OK");
  }).timeout(60_000);
});

describe("cluster: names for TLS", () => {
  let fake: FakeCluster;
  let certificates: Certificates;
  let fronts: Server[] = [];
  /** The names that each front was asked for, in order. */
  let asked: string[][] = [];
  const fixture = new ClusterFixture();

  before(() => {
    certificates = new Certificates(["a.example", "b.example", "seed.example"]);
  });
  beforeEach(async () => {
    fake = await FakeCluster.start(2);
    asked = [[], []];
    fronts = await Promise.all(fake.nodes.map((node, index) => front(node.server.port, asked[index] ?? [])));
  });
  afterEach(async () => {
    await fixture.closeClients();
    await Promise.all(fronts.map((server) => new Promise((resolve) => server.close(resolve))));
    await fake.stop();
  });

  /** Ends TLS in front of a node. */
  function front(port: number, names: string[]): Promise<Server> {
    const { key, cert } = certificates.serverOptions();
    const server = createServer({ key, cert }, (socket: TLSSocket) => {
      names.push(socket.servername || "none");
      const inner = connectSocket(port, "127.0.0.1");
      inner.on("error", () => socket.destroy()).on("close", () => socket.destroy());
      socket.on("error", () => inner.destroy()).on("close", () => inner.destroy());
      socket.pipe(inner).pipe(socket);
    });
    return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
  }

  const portOf = (index: number): number => ((fronts[index] as Server).address() as { port: number }).port;
  const tls = (): { ca: Buffer } => ({ ca: certificates.authority });

  it("each node is asked for by the name that it announces", async () => {
    fake.slots = () => [
      [0, 8191, ["127.0.0.1", portOf(0), "id0", ["hostname", "a.example"]]],
      [8192, 16_383, ["127.0.0.1", portOf(1), "id1", ["hostname", "b.example"]]],
    ];
    const cluster = fixture.connectTo([{ host: "seed.example", port: portOf(0) }], {
      dnsLookup: (_name, callback) => callback(null, "127.0.0.1", 4),
      redisOptions: { tls: tls() },
    });
    await exercise(cluster);
    expect(asked).to.deep.equal([["seed.example"], ["b.example"]]);
    // The next connection to the first node is opened under the name that was announced.
    let gone = 0;
    cluster.on("-node", () => gone++);
    for (const node of cluster.nodes()) node.disconnect();
    await waitUntil(() => Promise.resolve(gone >= 2), { timeoutMs: 5000, what: "both nodes to go" });
    await exercise(cluster);
    expect(asked[0]?.at(-1)).to.equal("a.example");
    expect(new Set(asked[1])).to.deep.equal(new Set(["b.example"]));
  });

  it("a name of the options goes for all, and an address is never sent as a name", async () => {
    fake.slots = () => [
      [0, 8191, ["127.0.0.1", portOf(0), "id0", ["hostname", "127.0.0.1"]]],
      [8192, 16_383, ["127.0.0.1", portOf(1), "id1"]],
    ];
    const plain = fixture.connectTo([{ host: "127.0.0.1", port: portOf(0) }], {
      redisOptions: { tls: tls() },
    });
    await exercise(plain);
    expect(asked).to.deep.equal([["none"], ["none"]]);
    for (const names of asked) names.length = 0;
    const options = { redisOptions: { tls: { ...tls(), servername: "a.example" } } };
    await exercise(fixture.connectTo([{ host: "127.0.0.1", port: portOf(0) }], options));
    expect(asked).to.deep.equal([["a.example"], ["a.example"]]);
  });

  it("a start node that announces no name keeps the one it was looked up under", async () => {
    fake.slots = () => [[0, 16_383, ["127.0.0.1", portOf(0), "id0"]]];
    const cluster = fixture.connectTo([{ host: "seed.example", port: portOf(0) }], {
      dnsLookup: (_name, callback) => callback(null, "127.0.0.1", 4),
      clusterNodeRetryStrategy: null,
      redisOptions: { tls: tls() },
    });
    await exercise(cluster);
    const gone = new Promise((resolve) => cluster.once("-node", resolve));
    await cluster.refreshSlotsCache();
    cluster.nodes()[0]?.disconnect();
    await gone;
    await exercise(cluster);
    expect(new Set(asked[0])).to.deep.equal(new Set(["seed.example"]));
    expect(asked[0]?.length).to.be.at.least(2);
  });

  it("start nodes are looked up again when every known address is gone", async () => {
    const later = await FakeCluster.start(1);
    let answering = fake.node(0).server.port;
    fake.slots = () => [[0, 16_383, [fake.node(0).server.host, fake.node(0).server.port]]];
    try {
      const cluster = fixture.connectTo([{ host: "redis.service.example" }], {
        useSRVRecords: true,
        resolveSrv: (_name, callback) =>
          callback(null, [{ name: "127.0.0.1", port: answering, priority: 1, weight: 1 }]),
        clusterRetryStrategy: () => 5,
      });
      await exercise(cluster);
      answering = later.node(0).server.port;
      await fake.stop();
      await exercise(cluster);
      expect(later.node(0).received("set")).to.have.length(KEYS.length);
      await fixture.closeClients();
    } finally {
      await later.stop();
      fake = await FakeCluster.start(0);
    }
  });
});
