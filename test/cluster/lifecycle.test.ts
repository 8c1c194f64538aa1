/** Construction, status words, events, retries, offline queue, and leaving, as the contract has them. */

import { expect } from "chai";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { Cluster, Redis } from "../../src/index";
import { closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { NO_REPLY } from "../support/fake-server";

const WORDS = ["wait", "connecting", "connect", "ready", "disconnecting", "close", "reconnecting", "end"];

async function reasonOf(call: Promise<unknown>): Promise<Error & { lastNodeError?: Error }> {
  return call.then(
    (value) => {
      throw new Error(`It did not fail but gave ${JSON.stringify(value)}`);
    },
    (error: Error) => error,
  );
}

describe("cluster: life", () => {
  let fake: FakeCluster;
  const clients: Cluster[] = [];

  beforeEach(async () => {
    fake = await FakeCluster.start(3);
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeCluster));
    await fake.stop();
  });

  function connect(
    nodes: ConstructorParameters<typeof Cluster>[0] = fake.seeds,
    options: ClusterOptions = {},
  ): Cluster {
    const cluster = new Cluster(nodes, options);
    cluster.on("error", () => {});
    clients.push(cluster);
    return cluster;
  }

  /** Names of the events as they come. */
  function record(cluster: Cluster, names: readonly string[] = WORDS): string[] {
    const events: string[] = [];
    for (const name of names) cluster.on(name, () => events.push(name));
    return events;
  }

  function ended(cluster: Cluster): Promise<void> {
    return new Promise((resolve) => cluster.once("end", resolve));
  }

  describe("construction", () => {
    it("takes ports, addresses, URLs and objects", async () => {
      const { port } = fake.node(0).server;
      for (const node of [
        port,
        `127.0.0.1:${port}`,
        `redis://127.0.0.1:${port}`,
        { port },
        { host: "127.0.0.1", port },
      ]) {
        const cluster = connect([node]);
        await untilClusterReady(cluster);
        expect(cluster.nodes()).to.have.length(3);
      }
    });

    it("refuses what is no node", () => {
      expect(() => new Cluster([true as unknown as number])).to.throw("Invalid argument true");
    });

    for (const none of [undefined, "127.0.0.1:7000", { host: "127.0.0.1", port: 7000 }]) {
      it(`takes ${JSON.stringify(none)}, which is no list, for an empty one`, async () => {
        const options = { lazyConnect: true, clusterRetryStrategy: null };
        const cluster = new Cluster(none as undefined, options);
        clients.push(cluster);
        expect(cluster.startupNodes).to.deep.equal([]);
        const error = await reasonOf(cluster.connect());
        expect(error.message).to.equal("`startupNodes` should contain at least one node.");
      });
    }

    it("cannot connect to an empty list", async () => {
      const cluster = connect([], { lazyConnect: true, clusterRetryStrategy: null });
      const reasons: unknown[] = [];
      cluster.options.clusterRetryStrategy = (_times, reason) => {
        reasons.push(reason);
      };
      const error = await reasonOf(cluster.connect());
      expect(error.message).to.equal("`startupNodes` should contain at least one node.");
      expect(reasons).to.deep.equal([error]);
    });

    it("is the class of the package, and says what it is", async () => {
      const cluster = connect();
      expect(Redis).to.have.property("Cluster", Cluster);
      expect(cluster.constructor.name).to.equal("Cluster");
      expect(cluster.isCluster).to.equal(true);
      expect(cluster).to.not.have.any.keys("monitor", "end", "mode");
      for (const name of ["monitor", "end", "mode"]) expect(name in cluster).to.equal(false);
    });

    it("prefixes keys before their slot is computed", async () => {
      const cluster = connect(undefined, { redisOptions: { keyPrefix: "{p}:" } });
      expect(cluster.options.keyPrefix).to.equal("{p}:");
      await Promise.all(["a", "b", "c", "d"].map((key) => cluster.set(key, 1)));
      const used = fake.nodes.filter((node) => node.received("set").length > 0);
      expect(used).to.have.length(1);
      expect(used[0]?.received("set").map(([, key]) => key)).to.deep.equal([
        "{p}:a",
        "{p}:b",
        "{p}:c",
        "{p}:d",
      ]);
    });

    it("gives each start node its own options", async () => {
      for (const node of fake.nodes) {
        node.script = (words) => (words[0] === "auth" ? undefined : undefined);
      }
      const [first, ...others] = fake.seeds as [{ host: string; port: number }];
      const nodes = [{ ...first, password: "own" }, ...others];
      const cluster = connect(nodes, {
        redisOptions: { password: "common", protocol: 2, lazyConnect: false },
      });
      await untilClusterReady(cluster);
      await Promise.all(cluster.nodes().map((node) => node.ping()));
      expect(fake.nodes.map((node) => node.received("auth")[0]?.[1])).to.deep.equal([
        "own",
        "common",
        "common",
      ]);
    });
  });

  describe("status and events", () => {
    it("come in order when it connects and quits", async () => {
      const cluster = connect();
      expect(cluster.status).to.equal("connecting");
      const events = record(cluster, [...WORDS, "refresh", "+node"]);
      await untilClusterReady(cluster);
      expect(events).to.deep.equal(["connecting", "+node", "+node", "+node", "refresh", "connect", "ready"]);
      events.length = 0;
      const end = ended(cluster);
      expect(await cluster.quit()).to.equal("OK");
      await end;
      expect(events).to.deep.equal(["disconnecting", "close", "end"]);
      expect(cluster.status).to.equal("end");
    });

    it("disconnect() says disconnecting at once, and ends", async () => {
      const cluster = connect();
      await untilClusterReady(cluster);
      const events = record(cluster);
      cluster.disconnect();
      expect(cluster.status).to.equal("disconnecting");
      await ended(cluster);
      expect(events).to.deep.equal(["disconnecting", "close", "end"]);
    });

    it("tell of every failed attempt", async () => {
      const { seeds } = fake;
      await fake.stop();
      const times: number[] = [];
      const cluster = connect(seeds, {
        clusterRetryStrategy(attempt) {
          times.push(attempt);
          return attempt < 2 ? 10 : null;
        },
      });
      const events = record(cluster, [...WORDS, "error"]);
      await ended(cluster);
      expect(times).to.deep.equal([1, 2]);
      expect(events).to.deep.equal([
        "connecting",
        "error",
        "close",
        "reconnecting",
        "connecting",
        "error",
        "close",
        "end",
      ]);
    });

    it("of nodes are told with the node", async () => {
      const cluster = connect();
      const added: unknown[] = [];
      const gone: unknown[] = [];
      cluster.on("+node", (node) => added.push(node));
      cluster.on("-node", (node) => gone.push(node));
      await untilClusterReady(cluster);
      expect(added).to.have.length(3);
      for (const node of added) expect(node).to.be.instanceOf(Redis);
      expect(cluster.nodes()).to.have.members(added);
      cluster.nodes()[0]?.disconnect();
      await new Promise((resolve) => cluster.once("-node", resolve));
      expect(gone).to.have.length(1);
    });

    it("node error carries the error and the name of the node", async () => {
      const [first] = fake.seeds as [{ host: string; port: number }];
      const cluster = connect([{ host: first.host, port: 1 }, first]);
      const told: [Error, string][] = [];
      cluster.on("node error", (error, key) => told.push([error, key]));
      await untilClusterReady(cluster);
      for (const [error, key] of told) {
        expect(error).to.be.instanceOf(Error);
        expect(key).to.equal(`${first.host}:1`);
      }
    });
  });

  describe("the ready check", () => {
    it("waits for a cluster that serves", async () => {
      let isDown = true;
      for (const node of fake.nodes) {
        node.script = ([name, sub]) => {
          if (name !== "cluster" || sub !== "INFO" || !isDown) return undefined;
          isDown = false;
          return "cluster_state:fail\r\n";
        };
      }
      const cluster = connect();
      const events = record(cluster);
      await untilClusterReady(cluster);
      expect(events).to.deep.equal([
        "connecting",
        "connect",
        "disconnecting",
        "close",
        "reconnecting",
        "connecting",
        "connect",
        "ready",
      ]);
    });

    it("can be left out", async () => {
      for (const node of fake.nodes) {
        node.script = ([name, sub]) =>
          name === "cluster" && sub === "INFO" ? "cluster_state:fail\r\n" : undefined;
      }
      await untilClusterReady(connect(undefined, { enableReadyCheck: false }));
    });
  });

  describe("connect()", () => {
    it("refuses to connect twice", async () => {
      const cluster = connect();
      expect((await reasonOf(cluster.connect())).message).to.equal("Redis is already connecting/connected");
      await untilClusterReady(cluster);
      expect((await reasonOf(cluster.connect())).message).to.equal("Redis is already connecting/connected");
    });

    it("rejects when no node can be reached, and tells why", async () => {
      const { seeds } = fake;
      await fake.stop();
      const cluster = connect(seeds, { lazyConnect: true, clusterRetryStrategy: () => null });
      const errors: (Error & { lastNodeError?: Error; nodeErrors?: object })[] = [];
      cluster.on("error", (error) => errors.push(error));
      const error = await reasonOf(cluster.connect());
      expect(error.message).to.equal("None of startup nodes is available");
      const [all] = errors;
      expect(all).to.include({ name: "ClusterAllFailedError", message: "Failed to refresh slots cache." });
      expect(all?.lastNodeError?.message).to.equal("Connection is closed.");
      expect(Object.keys(all?.nodeErrors ?? {}).sort()).to.deep.equal(
        seeds.map(({ host, port }) => `${host}:${port}`).sort(),
      );
    });

    it("passes on what a server without cluster support says", async () => {
      fake.slots = () => new Error("ERR This instance has cluster support disabled");
      const cluster = connect(undefined, { lazyConnect: true, clusterRetryStrategy: () => null });
      const errors: (Error & { lastNodeError?: Error })[] = [];
      cluster.on("error", (error) => errors.push(error));
      await reasonOf(cluster.connect());
      expect(errors[0]?.lastNodeError).to.include({
        name: "ReplyError",
        message: "ERR This instance has cluster support disabled",
      });
    });

    it("gives up on a silent node after slotsRefreshTimeout", async () => {
      fake.slots = () => NO_REPLY;
      const cluster = connect(undefined, {
        lazyConnect: true,
        slotsRefreshTimeout: 50,
        clusterRetryStrategy: () => null,
      });
      const errors: (Error & { lastNodeError?: Error })[] = [];
      cluster.on("error", (error) => errors.push(error));
      await reasonOf(cluster.connect());
      expect(errors[0]?.lastNodeError?.message).to.equal("timeout");
    });

    it("is abandoned by disconnect() and by another connect()", async () => {
      fake.slots = () => NO_REPLY;
      const first = connect(undefined, { lazyConnect: true });
      const outcome = reasonOf(first.connect());
      await new Promise((resolve) => setTimeout(resolve, 20));
      first.disconnect();
      await ended(first);
      expect((await outcome).message).to.match(
        /^(Connection is aborted|None of startup nodes is available|Cluster is disconnected\.|Connection is discarded because a new connection is made)$/,
      );
    });

    it("works again after the end", async () => {
      const cluster = connect();
      await untilClusterReady(cluster);
      const end = ended(cluster);
      await cluster.quit();
      await end;
      expect((await reasonOf(cluster.get("foo"))).message).to.equal("Connection is closed.");
      await cluster.connect();
      expect(await cluster.set("foo", 1)).to.equal("OK");
    });

    it("looks the start nodes up for each attempt", async () => {
      const { seeds } = fake;
      const asked: string[] = [];
      let attempts = 0;
      const cluster = connect(
        seeds.map(({ port }) => ({ host: "cluster.example", port })),
        {
          dnsLookup: (name, callback) => {
            asked.push(name);
            if (++attempts === 1) callback(new Error("EAI_AGAIN") as NodeJS.ErrnoException, "");
            else callback(null, "127.0.0.1", 4);
          },
          clusterRetryStrategy: (_times, reason) => (reason?.message === "EAI_AGAIN" ? 5 : null),
        },
      );
      await untilClusterReady(cluster);
      // One question for each distinct name and attempt.
      expect(asked).to.deep.equal(["cluster.example", "cluster.example"]);
    });
  });

  describe("waiting commands", () => {
    it("start a lazy client, and are sent when it is ready", async () => {
      const cluster = connect(undefined, { lazyConnect: true });
      expect(cluster.status).to.equal("wait");
      const values = [cluster.set("a", 1), cluster.get("a"), cluster.pipeline().get("a").exec()];
      expect(await Promise.all(values)).to.deep.equal(["OK", "1", [[null, "1"]]]);
    });

    it("are refused without an offline queue", async () => {
      const cluster = connect(undefined, { enableOfflineQueue: false });
      const message = "Cluster isn't ready and enableOfflineQueue options is false";
      expect((await reasonOf(cluster.get("a"))).message).to.equal(message);
      const rows = await cluster.pipeline().get("a").exec();
      expect(rows?.[0]?.[0]?.message).to.equal(message);
    });

    it("reject when the client ends", async () => {
      const { seeds } = fake;
      await fake.stop();
      const cluster = connect(seeds, { clusterRetryStrategy: () => null });
      expect((await reasonOf(cluster.get("a"))).message).to.equal("None of startup nodes is available");
      const rows = await reasonOf(
        connect(seeds, { clusterRetryStrategy: () => null })
          .multi()
          .get("a")
          .exec(),
      );
      expect(rows.message).to.equal("None of startup nodes is available");
    });

    it("reject when it is closed while it waits to reconnect, and it ends", async () => {
      for (const leave of ["disconnect", "quit"] as const) {
        const cluster = connect([{ host: "127.0.0.1", port: 1 }], { clusterRetryStrategy: () => 60_000 });
        await new Promise((resolve) => cluster.once("reconnecting", resolve));
        const failure = reasonOf(cluster.get("a"));
        const end = ended(cluster);
        void cluster[leave]();
        await end;
        expect((await failure).message).to.equal("None of startup nodes is available");
      }
    });

    it("are kept when all connections are lost", async () => {
      const cluster = connect(undefined, { redisOptions: { lazyConnect: false } });
      await untilClusterReady(cluster);
      await Promise.all([cluster.set("a", 1), ...cluster.nodes().map((node) => node.ping())]);
      const events = record(cluster);
      for (const node of fake.nodes) node.server.dropConnections();
      await new Promise((resolve) => cluster.once("close", resolve));
      expect(await cluster.get("a")).to.equal("1");
      expect(events).to.deep.equal(["close", "reconnecting", "connecting", "connect", "ready"]);
    });
  });

  describe("leaving", () => {
    it("quit() waits for what was issued before, and QUITs every connection", async () => {
      const cluster = connect();
      await untilClusterReady(cluster);
      const results = Promise.all(Array.from({ length: 20 }, (_, i) => cluster.set(`key:${i}`, i)));
      expect(await cluster.quit()).to.equal("OK");
      expect(await results).to.have.length(20);
      for (const node of fake.nodes) expect(node.received("quit").length).to.be.at.most(1);
    });

    it("quit() of a lazy client ends it, also with a callback", async () => {
      const cluster = connect(undefined, { lazyConnect: true });
      const end = ended(cluster);
      expect(await cluster.quit()).to.equal("OK");
      await end;
      const other = connect(undefined, { lazyConnect: true });
      expect(await new Promise((resolve) => void other.quit((_error, result) => resolve(result)))).to.equal(
        "OK",
      );
    });

    it("commands issued while it leaves are refused", async () => {
      const cluster = connect();
      await untilClusterReady(cluster);
      const leaving = cluster.quit();
      const refused = reasonOf(cluster.get("a"));
      await leaving;
      expect((await refused).message).to.match(
        /^(None of startup nodes is available|Connection is closed\.)$/,
      );
    });

    it("disconnect() rejects what is unanswered", async () => {
      const cluster = connect();
      await untilClusterReady(cluster);
      // The connection is ready, so nothing is sent and answered behind the read.
      await cluster.get("a");
      for (const node of fake.nodes) node.script = ([name]) => (name === "get" ? NO_REPLY : undefined);
      const failure = reasonOf(cluster.get("a"));
      await new Promise((resolve) => setTimeout(resolve, 30));
      cluster.disconnect();
      expect((await failure).message).to.equal("Connection is closed.");
    });

    it("disconnect(true) begins anew and keeps what was unanswered", async () => {
      let isSilent = false;
      for (const node of fake.nodes)
        node.script = ([name]) => (name === "get" && isSilent ? NO_REPLY : undefined);
      const cluster = connect();
      await untilClusterReady(cluster);
      await cluster.get("a");
      isSilent = true;
      const value = cluster.get("a");
      await new Promise((resolve) => setTimeout(resolve, 30));
      isSilent = false;
      cluster.disconnect(true);
      expect(await value).to.equal(null);
      expect(cluster.status).to.equal("ready");
    });

    it("disconnect(true) while it waits to reconnect keeps the planned attempt", async () => {
      const cluster = connect([{ host: "127.0.0.1", port: 1 }], { clusterRetryStrategy: () => 150 });
      const events = record(cluster);
      const plannedAtMs: number[] = [];
      cluster.on("reconnecting", () => {
        plannedAtMs.push(performance.now());
        cluster.disconnect(true);
      });
      await new Promise((resolve) => setTimeout(resolve, 400));
      const round = ["connecting", "close", "reconnecting", "disconnecting"];
      expect(events).to.deep.equal([...round, ...round, ...round].slice(0, plannedAtMs.length * 4));
      expect(plannedAtMs).to.have.length(3);
      expect((plannedAtMs[1] as number) - (plannedAtMs[0] as number)).to.be.at.least(149);
      cluster.startupNodes = fake.seeds;
      const value = cluster.set("a", 1);
      expect(await value).to.equal("OK");
    });

    for (const leave of ["disconnect", "quit"] as const) {
      for (const isAskedBefore of [false, true]) {
        it(`${leave}() while it waits to reconnect${isAskedBefore ? ", after disconnect(true)," : ""} ends without a second close`, async () => {
          const cluster = connect([{ host: "127.0.0.1", port: 1 }], { clusterRetryStrategy: () => 100 });
          const events = record(cluster);
          await new Promise((resolve) => cluster.once("reconnecting", resolve));
          if (isAskedBefore) cluster.disconnect(true);
          const end = ended(cluster);
          const left = await cluster[leave]();
          if (leave === "quit") expect(left).to.equal("OK");
          await end;
          await new Promise((resolve) => setTimeout(resolve, 150));
          expect(cluster.status).to.equal("end");
          expect(events.filter((word) => word === "close")).to.have.length(1);
          expect(events.slice(-2)).to.deep.equal(["disconnecting", "end"]);
          await cluster.connect().catch(() => {});
          cluster.disconnect();
        });
      }
    }

    it("the callback of quit() runs before close where nothing is connected", async () => {
      for (const options of [{ lazyConnect: true }, {}]) {
        const cluster = connect(undefined, options);
        const heard: string[] = [];
        const end = ended(cluster);
        for (const name of ["disconnecting", "close", "end"]) cluster.on(name, () => heard.push(name));
        void cluster.quit((error, reply) => void heard.push(error?.message ?? `callback ${reply}`));
        expect(cluster.status).to.equal("disconnecting");
        await end;
        expect(heard.filter((word) => word !== "disconnecting")).to.deep.equal([
          "callback OK",
          "close",
          "end",
        ]);
      }
    });

    it("connect() right behind quit() of a lazy client connects", async () => {
      const cluster = connect(undefined, { lazyConnect: true });
      void cluster.quit();
      await cluster.connect();
      expect(await cluster.set("a", 1)).to.equal("OK");
      expect(cluster.status).to.equal("ready");
    });

    it("disconnect(true) of a lazy client starts connecting", async () => {
      const cluster = connect(undefined, { lazyConnect: true });
      const events = record(cluster);
      cluster.disconnect(true);
      await untilClusterReady(cluster);
      expect(events).to.deep.equal([
        "wait",
        "disconnecting",
        "close",
        "reconnecting",
        "connecting",
        "connect",
        "ready",
      ]);
    });

    for (const refusing of [1, 3]) {
      it(`quit() rejects with the error of ${refusing} of 3 nodes that refuse QUIT, and closes them`, async () => {
        const cluster = connect(undefined, { redisOptions: { lazyConnect: false } });
        await untilClusterReady(cluster);
        await Promise.all(cluster.nodes().map((node) => node.ping()));
        for (const node of fake.nodes.slice(0, refusing))
          node.script = ([name]) => (name === "quit" ? new Error("NOPERM no permission to QUIT") : undefined);
        const events = record(cluster);
        const end = ended(cluster);
        expect((await reasonOf(cluster.quit())).message).to.equal("NOPERM no permission to QUIT");
        await end;
        expect(events).to.deep.equal(["disconnecting", "close", "end"]);
        expect(cluster.nodes()).to.deep.equal([]);
      });
    }

    it("quit() after disconnect() resolves OK", async () => {
      const cluster = connect(undefined, { redisOptions: { lazyConnect: false } });
      await untilClusterReady(cluster);
      await Promise.all(cluster.nodes().map((node) => node.ping()));
      const events = record(cluster);
      const end = ended(cluster);
      cluster.disconnect();
      expect(await cluster.quit()).to.equal("OK");
      await end;
      expect(events).to.deep.equal(["disconnecting", "close", "end"]);
      expect(await cluster.quit()).to.equal("OK");
    });

    it("await using closes it", async () => {
      let inner: Cluster;
      {
        await using cluster = connect();
        inner = cluster;
        await cluster.set("a", 1);
      }
      expect(inner.status).to.be.oneOf(["disconnecting", "close", "end"]);
    });
  });

  describe("nodes()", () => {
    it("are clients over the same connections, lazy until they are used", async () => {
      const cluster = connect();
      await untilClusterReady(cluster);
      await Promise.all(Array.from({ length: 30 }, (_, i) => cluster.set(`key:${i}`, i)));
      const before = fake.nodes.map((node) => node.server.connectionCount);
      const nodes = cluster.nodes("master");
      expect(nodes.map((node) => node.status)).to.deep.equal(["ready", "ready", "ready"]);
      await Promise.all(nodes.map((node) => node.ping()));
      expect(fake.nodes.map((node) => node.server.connectionCount)).to.deep.equal(before);
      expect(cluster.nodes("slave")).to.deep.equal([]);
      expect(() => cluster.nodes("x" as "all")).to.throw(
        'Invalid role "x". Expected "all", "master" or "slave"',
      );
    });

    it("answer redirects as they are to who asks a node directly", async () => {
      for (const node of fake.nodes) {
        node.script = ([name]) => (name === "get" ? new Error("MOVED 1 127.0.0.1:1") : undefined);
      }
      const cluster = connect();
      await untilClusterReady(cluster);
      const [node] = cluster.nodes() as [Redis];
      expect((await reasonOf(node.get("a"))).message).to.equal("MOVED 1 127.0.0.1:1");
    });

    it("that left the slot table are let go, and new ones come", async () => {
      const extra = await FakeCluster.start(1);
      try {
        const cluster = connect();
        await untilClusterReady(cluster);
        const { server } = extra.node(0);
        fake.slots = () => [[0, 16_383, [server.host, server.port, "id"]]];
        extra.slots = fake.slots;
        await cluster.refreshSlotsCache();
        expect(cluster.nodes().map((node) => node.options.port)).to.deep.equal([server.port]);
        expect(await cluster.set("a", 1)).to.equal("OK");
        expect(extra.node(0).received("set")).to.have.length(1);
        await closeCluster(cluster);
      } finally {
        await extra.stop();
      }
    });
  });

  it("duplicate() takes nodes and options over", async () => {
    const cluster = connect(undefined, { redisOptions: { connectionName: "one" }, maxRedirections: 3 });
    const copy = cluster.duplicate([], { redisOptions: { clientInfoTag: "tag" } });
    clients.push(copy as Cluster);
    expect(copy.startupNodes).to.deep.equal(cluster.startupNodes);
    expect(copy.options.maxRedirections).to.equal(3);
    expect(copy.options.redisOptions).to.include({ connectionName: "one", clientInfoTag: "tag" });
    await untilClusterReady(copy as Cluster);
  });
});
