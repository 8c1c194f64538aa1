/**
 * Real servers and the fault proxy as users get them.
 */

import { expect } from "chai";
import { Cluster, Redis } from "../../src/index";
import { closeClient } from "../../test/support/matrix";
import { FaultProxy, RealCluster, RealSentinels, RealServer, TestServer } from "../src";

describe("RealServer", () => {
  it("starts, restarts and stops", async function () {
    this.timeout(30_000);
    const server = await RealServer.start();
    const redis = new Redis({ host: server.host, port: server.port, retryStrategy: () => 5 });
    redis.on("error", () => {});
    await redis.set("key", "value");
    await server.flush();
    expect(await redis.dbsize()).to.equal(0);
    await server.restart();
    expect(await redis.ping()).to.equal("PONG");
    await closeClient(redis);
    await server.stop();
  });

  it("takes words of the command line, and the kind and version wanted", async function () {
    this.timeout(30_000);
    const server = await RealServer.start({ kind: "redis", args: ["--maxmemory", "12mb"] });
    try {
      expect(server.binary.product).to.equal("Redis");
      expect(await server.command("CONFIG", "GET", "maxmemory")).to.deep.equal(["maxmemory", "12582912"]);
      const [version = ""] = server.binary.version.split(".");
      const other = await RealServer.start({ kind: "redis", version });
      expect(other.binary.version.startsWith(version)).to.equal(true);
      await other.stop();
    } finally {
      await server.stop();
    }
    const wrong = RealServer.start({ path: server.binary.path, version: "0.1" });
    const error = await wrong.then(
      () => null,
      (reason: Error) => reason,
    );
    expect(error?.message).to.match(/No server to test with \(.* is Redis /);
  });

  it("listens with TLS and says what a client needs", async function () {
    this.timeout(30_000);
    const server = await RealServer.start({ tls: true });
    const redis = new Redis(server.url, { tls: server.tls ?? {} });
    try {
      expect(server.url).to.match(/^rediss:/);
      expect(await redis.ping()).to.equal("PONG");
    } finally {
      await closeClient(redis);
      await server.stop();
    }
  });

  it("pauses, goes on and is killed", async function () {
    this.timeout(30_000);
    const server = await RealServer.start();
    const redis = new Redis(server.url, { retryStrategy: () => 5 });
    redis.on("error", () => {});
    try {
      await redis.ping();
      server.pause();
      let isAnswered = false;
      const reply = redis.ping().finally(() => {
        isAnswered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(isAnswered).to.equal(false);
      server.resume();
      expect(await reply).to.equal("PONG");
      await server.kill();
      expect(server.isRunning).to.equal(false);
      const late = redis.ping();
      await server.start();
      expect(await late).to.equal("PONG");
    } finally {
      await closeClient(redis);
      await server.stop();
    }
  });

  it("says what it tried if there is no such server", async () => {
    await RealServer.start({ path: "/nowhere/redis-server" }).then(
      () => expect.fail("no error"),
      (error: Error) =>
        expect(error.message).to.match(/No server to test with .*RealServer\.start\(\{ path \}\)/),
    );
  });
});

describe("FaultProxy in front of a TestServer", () => {
  let server: TestServer;
  let proxy: FaultProxy;
  let redis: Redis;

  beforeEach(async () => {
    server = await TestServer.start();
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    redis = new Redis({
      host: proxy.host,
      port: proxy.port,
      retryStrategy: () => 1,
      retryPolicy: "at-most-once",
    });
    redis.on("error", () => {});
    await redis.ping();
  });

  afterEach(async () => {
    await closeClient(redis);
    await proxy.stop();
    await server.stop();
  });

  it("tells which commands shared a write", async () => {
    proxy.resetCounters();
    await redis.pipeline().set("a", "1").get("a").incr("a").exec();
    expect(proxy.writes).to.deep.equal([
      [
        ["set", "a", "1"],
        ["get", "a"],
        ["incr", "a"],
      ],
    ]);
    expect(proxy.commands).to.have.lengthOf(3);
  });

  it("limits the rate and alters bytes", async () => {
    await redis.set("a", "x".repeat(2000));
    proxy.limitRate(20_000);
    const start = performance.now();
    await redis.get("a");
    expect(performance.now() - start).to.be.greaterThan(80);
    proxy.heal();
    proxy.corrupt((chunk) => Buffer.from(chunk.toString("latin1").replace("x", "y"), "latin1"));
    expect((await redis.get("a"))?.startsWith("yx")).to.equal(true);
  });

  it("stalls for so long: nothing is lost", async () => {
    const start = performance.now();
    proxy.stall(80);
    expect(await redis.set("a", "1")).to.equal("OK");
    expect(performance.now() - start).to.be.greaterThan(75);
    proxy.stall(60_000);
    const reply = redis.get("a");
    proxy.heal();
    expect(await reply).to.equal("1");
  });

  it("is half open: everything is swallowed and nothing closed", async () => {
    proxy.halfOpen();
    const lost = redis.set("a", "1").then(
      () => "answered",
      (error: Error & { code?: string }) => error.code,
    );
    const quiet = await Promise.race([
      lost,
      new Promise((resolve) => setTimeout(() => resolve("nothing"), 60)),
    ]);
    expect(quiet).to.equal("nothing");
    expect(proxy.openConnections).to.equal(1);
    proxy.cutAll();
    expect(await lost).to.equal("OUTCOME_UNKNOWN");
  });

  it("delays and hands over byte by byte", async () => {
    proxy.delay(40);
    const start = performance.now();
    await redis.set("a", "1");
    expect(performance.now() - start).to.be.greaterThan(75);
    proxy.delay(0);
    proxy.chunk(1);
    expect(await redis.get("a")).to.equal("1");
  });

  it("cuts after a byte: what was sent may have run", async () => {
    proxy.heal();
    await redis.set("n", "0");
    proxy.cut({ afterBytes: 0 });
    await redis.incr("n").then(
      () => expect.fail("no error"),
      (error: Error & { code?: string }) => expect(error.code).to.equal("OUTCOME_UNKNOWN"),
    );
    expect(server.state.get("n")).to.equal("1");
  });
});

describe("RealCluster and RealSentinels", function () {
  this.timeout(120_000);

  it("moves slots, fails over and is emptied", async () => {
    const servers = await RealCluster.start({ masters: 2 });
    const cluster = new Cluster(servers.seeds);
    cluster.on("error", () => {});
    try {
      await cluster.set("{a}1", "one");
      const slot = Number(await cluster.cluster("KEYSLOT", "{a}1"));
      const owner = await servers.ownerOf(slot);
      const other = (await servers.masters()).find((master) => master !== owner);
      if (other === undefined) throw new Error("The cluster has one master only");
      await servers.moveSlot(slot, other);
      expect(await servers.ownerOf(slot)).to.equal(other);
      expect(await cluster.get("{a}1")).to.equal("one");
      const successor = await servers.failover(other);
      expect(await servers.ownerOf(slot)).to.equal(successor);
      expect(await cluster.get("{a}1")).to.equal("one");
      await servers.flush();
      expect(await cluster.get("{a}1")).to.equal(null);
    } finally {
      cluster.disconnect();
      await servers.stop();
    }
  });

  it("fails over under sentinels", async () => {
    const servers = await RealSentinels.start({ replicas: 1, sentinels: 2 });
    const redis = new Redis({ sentinels: servers.addresses, name: servers.groupName });
    redis.on("error", () => {});
    try {
      const before = await servers.master();
      await redis.set("key", "value");
      await redis.wait(1, 5_000);
      expect(await servers.failover()).to.not.equal(before);
      expect(await redis.get("key")).to.equal("value");
      await servers.flush();
      expect(await redis.dbsize()).to.equal(0);
    } finally {
      await closeClient(redis);
      await servers.stop();
    }
  });
});
