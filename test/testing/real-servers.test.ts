/**
 * Real servers and the fault proxy as users get them.
 */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FaultProxy, RealServer, TestServer } from "../../src/testing";
import { closeClient } from "../support/matrix";

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
