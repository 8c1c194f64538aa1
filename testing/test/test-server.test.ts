/**
 * The test server with the client in front of it: transports, time, faults, snapshots, direct looks.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Redis, type RedisOptions } from "../../src/index";
import { closeClient } from "../../test/support/matrix";
import { TestServer } from "../src";
import { WireClient } from "./support/wire-client";

describe("TestServer", () => {
  let server: TestServer;
  const clients: Redis[] = [];

  function connect(options: RedisOptions = {}): Redis {
    const redis = new Redis({
      host: server.host,
      port: server.port,
      retryStrategy: () => 1,
      ...options,
    });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
    await server.stop();
  });

  for (const protocol of [2, 3] as const) {
    it(`serves the client over TCP, protocol ${protocol}`, async () => {
      const redis = connect({ protocol });
      await redis.set("key", "ä\0ö");
      expect(await redis.get("key")).to.equal("ä\0ö");
      expect(await redis.pipeline().hset("hash", { a: "1" }).hgetall("hash").exec()).to.deep.equal([
        [null, 1],
        [null, { a: "1" }],
      ]);
      expect(server.state.get("hash")).to.deep.equal({ a: "1" });
    });
  }

  it("says with HELP which subcommands there are, and which it does not support", async () => {
    const lines = (await connect().call("SCRIPT", "HELP")) as string[];
    expect(lines[0]).to.equal("SCRIPT takes one of these words:");
    expect(lines.slice(lines.indexOf("LOAD")).slice(0, 2)).to.deep.equal(["LOAD", "    Takes 1 argument."]);
    expect(lines[lines.indexOf("DEBUG") + 1]).to.equal("    Not supported by TestServer.");
  });

  it("serves the client in memory, with no socket at all", async () => {
    const silent = await TestServer.start({ listen: false });
    const redis = new Redis({ Connector: silent.Connector });
    expect(await redis.incr("n")).to.equal(1);
    expect(silent.port).to.equal(0);
    await closeClient(redis);
    await silent.stop();
  });

  it("serves the client on a unix socket", async () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-"));
    const local = await TestServer.start({ path: join(directory, "s") });
    const redis = new Redis(join(directory, "s"));
    expect(await redis.ping()).to.equal("PONG");
    await closeClient(redis);
    await local.stop();
    rmSync(directory, { recursive: true });
  });

  it("moves its clock: keys expire, waiting commands end", async () => {
    const redis = connect();
    await redis.set("key", "value", "EX", 60);
    expect(server.state.ttl("key")).to.be.within(59_000, 60_000);
    const waiting = connect().blpop("list", 30);
    await redis.ping();
    while (!(await redis.info("clients")).includes("blocked_clients:1"));
    server.advance(31_000);
    expect(await waiting).to.equal(null);
    expect(await redis.get("key")).to.equal("value");
    server.advance(30_000);
    expect(await redis.get("key")).to.equal(null);
  });

  it("repeats what is random from the same seed", async () => {
    const redis = connect();
    await redis.sadd("set", ...Array.from({ length: 50 }, (_, index) => `m${index}`));
    server.seed(7);
    const first = await redis.srandmember("set", 5);
    server.seed(7);
    expect(await redis.srandmember("set", 5)).to.deep.equal(first);
    server.seed(8);
    expect(await redis.srandmember("set", 5)).not.to.deep.equal(first);
  });

  it("goes back to a snapshot", async () => {
    const redis = connect();
    await redis.rpush("list", "a", "b");
    await redis.set("key", "old", "EX", 100);
    const clean = server.snapshot();
    for (let round = 0; round < 3; round++) {
      await redis.rpush("list", "c");
      await redis.set("key", "new");
      await redis.hset("hash", "a", "1");
      if (round === 1) await redis.flushall();
      server.advance(200_000);
      server.restore(clean);
      expect(server.state.keys()).to.deep.equal(["key", "list"]);
      expect(server.state.get("list")).to.deep.equal(["a", "b"]);
      expect(await redis.get("key")).to.equal("old");
      expect(await redis.ttl("key")).to.be.within(98, 100);
    }
  });

  it("says that a snapshot is gone", async () => {
    const first = server.snapshot();
    const second = server.snapshot();
    server.restore(first);
    expect(() => server.restore(second)).to.throw(/an older one was restored/);
  });

  it("keeps no process alive for late commands of clients that are gone", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
    const silent = TestServer.inMemory();
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn(); // the runner's own time limit begins when the test has returned
    const before = timers();
    silent.faults.latency(60_000);
    silent.connect().write("*2\r\n$3\r\nget\r\n$3\r\nkey\r\n");
    while (timers() === before) await turn();
    await silent.stop();
    await turn();
    expect(timers()).to.equal(before);
  });

  it("answers with faults", async () => {
    const redis = connect();
    server.faults.reply("get", "-ERR out of order", { times: 1 });
    await redis.get("key").then(
      () => expect.fail("no error"),
      (error: Error) => expect(error.message).to.match(/out of order/),
    );
    expect(await redis.get("key")).to.equal(null);
    server.faults.oom();
    await redis.set("key", "value").then(
      () => expect.fail("no error"),
      (error: Error) => expect(error.message).to.match(/^OOM/),
    );
    server.faults.clear();
    server.faults.latency(30);
    const start = performance.now();
    await redis.set("key", "value");
    expect(performance.now() - start).to.be.greaterThan(25);
  });

  it("says what it does not support instead of guessing", async () => {
    await connect()
      .call("failover")
      .then(
        () => expect.fail("no error"),
        (error: Error) =>
          expect(error.message).to.match(/TestServer does not support FAILOVER of version 8\.2/),
      );
  });

  it("cuts connections, and goes away and comes back with its data", async () => {
    const redis = connect();
    await redis.set("key", "value");
    server.disconnectAll();
    expect(await redis.get("key")).to.equal("value");
    await server.down();
    const waiting = redis.get("key");
    await server.up();
    expect(await waiting).to.equal("value");
  });

  it("answers those who wait in the order in which they came", async () => {
    const [first, second, writer] = [connect(), connect(), connect()];
    const a = first.blpop("list", 0);
    while (!(await writer.info("clients")).includes("blocked_clients:1"));
    const b = second.blpop("list", 0);
    while (!(await writer.info("clients")).includes("blocked_clients:2"));
    await writer.multi().rpush("list", "1").rpush("list", "2").exec();
    expect(await a).to.deep.equal(["list", "1"]);
    expect(await b).to.deep.equal(["list", "2"]);
  });

  it("delivers messages of channels, patterns and shards", async () => {
    const subscriber = connect();
    const got: string[] = [];
    subscriber.on("message", (channel, text) => got.push(`${channel} ${text}`));
    subscriber.on("pmessage", (pattern, channel, text) => got.push(`${pattern} ${channel} ${text}`));
    await subscriber.subscribe("news");
    await subscriber.psubscribe("n*");
    const publisher = connect();
    expect(await publisher.publish("news", "hello")).to.equal(2);
    await subscriber.ping();
    expect(got).to.deep.equal(["news hello", "n* news hello"]);
  });

  it("refuses a transaction whose watched key has changed", async () => {
    const [redis, other] = [connect(), connect()];
    await redis.watch("key");
    await other.set("key", "other");
    expect(await redis.multi().set("key", "mine").exec()).to.equal(null);
    expect(await redis.get("key")).to.equal("other");
  });

  it("runs scripts, also in a transaction and under their SHA", async () => {
    const redis = connect({
      scripts: { addTo: { lua: "return redis.call('incrby', KEYS[1], ARGV[1])", numberOfKeys: 1 } },
    });
    const added = redis as Redis & { addTo(key: string, by: number): Promise<number> };
    expect(await added.addTo("n", 5)).to.equal(5);
    expect(await added.addTo("n", 5)).to.equal(10);
    expect(
      await redis.multi().eval("return {KEYS[1], cjson.encode({1, 2})}", 1, "key").get("n").exec(),
    ).to.deep.equal([
      [null, ["key", "[1,2]"]],
      [null, "10"],
    ]);
  });

  it("pauses its clients: all of them, or those that write", async () => {
    const [redis, other] = [connect(), connect()];
    await Promise.all([redis.ping(), other.ping()]);
    await redis.client("PAUSE", 60_000, "WRITE");
    expect(await other.get("key")).to.equal(null);
    let isDone = false;
    const written = other.set("key", "value").then(() => {
      isDone = true;
    });
    expect(await redis.get("key")).to.equal(null);
    expect(isDone).to.equal(false);
    await redis.client("UNPAUSE");
    await written;
    await redis.client("PAUSE", 60_000);
    const reply = other.get("key");
    server.advance(60_001);
    expect(await reply).to.equal("value");
  });

  it("notes what the access control list refuses", async () => {
    const redis = connect();
    await redis.acl("SETUSER", "u", "on", ">p", "~a*", "+get", "+@connection", "(+set", "~b*)");
    const limited = connect({ username: "u", password: "p" });
    expect(await limited.set("b", "1")).to.equal("OK");
    for (const [command, key] of [
      ["set", "a"],
      ["del", "a"],
    ] as const) {
      const error = await limited.call(command, key, "1").catch((reason: Error) => reason);
      expect((error as Error).message).to.match(/^NOPERM/);
    }
    const entries = (await redis.acl("LOG")) as string[][];
    expect(
      entries.map((entry) => [entry[3], entry[7]]).filter(([, object]) => object !== "info"),
    ).to.deep.equal([
      ["command", "del"],
      ["key", "a"],
    ]);
    expect(await limited.eval("return redis.acl_check_cmd('get', 'a1')", 0).catch(() => "refused")).to.equal(
      "refused",
    );
    await redis.acl("SETUSER", "u", "+eval");
    expect(
      await limited.eval(
        "return {redis.acl_check_cmd('get', 'a1'), redis.acl_check_cmd('get', 'b1'), redis.acl_check_cmd('del', 'a1')}",
        0,
      ),
    ).to.deep.equal([1, null, null]);
  });

  it("sends keyspace notifications and invalidations of tracked keys", async () => {
    const writer = connect();
    await writer.config("SET", "notify-keyspace-events", "KEA");
    const subscriber = connect();
    const events: string[] = [];
    subscriber.on("message", (channel: string, message: string) => events.push(`${channel} ${message}`));
    await subscriber.subscribe("__keyspace@0__:key", "__keyevent@0__:expired");
    const reader = await WireClient.connect({ port: server.port });
    await reader.run([
      ["hello", "3"],
      ["client", "tracking", "on"],
      ["get", "key"],
    ]);
    await writer.set("key", "1", "PX", 100);
    await reader.run([["ping"]]);
    expect(reader.pushes).to.deep.equal([
      [
        ">",
        [
          ["$", "invalidate"],
          ["*", [["$", "key"]]],
        ],
      ],
    ]);
    await reader.close();
    server.advance(200);
    await writer.exists("key");
    await subscriber.ping();
    expect(events).to.deep.equal([
      "__keyspace@0__:key set",
      "__keyspace@0__:key expire",
      "__keyspace@0__:key expired",
      "__keyevent@0__:expired key",
    ]);
  });

  it("asks for its password", async () => {
    const guarded = await TestServer.start({ password: "secret" });
    const redis = new Redis(guarded.url);
    expect(await redis.ping()).to.equal("PONG");
    await closeClient(redis);
    await guarded.stop();
  });
});
