/** The module as these packages find it: forms of import, sub-paths, names that detectors look for. */

const assert = require("node:assert/strict");
const Redis = require("ioredis");
const MockRedis = require("ioredis-mock");

const address = { host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) };

describe("module shape", () => {
  it("is the class, with its named exports, also for import", async () => {
    const namespace = await import("ioredis");
    assert.equal(Redis.default, Redis);
    assert.equal(namespace.default, Redis);
    for (const name of ["Redis", "Cluster", "Command", "Pipeline", "ReplyError", "ScanStream", "print"]) {
      assert.equal(typeof Redis[name], "function", name);
      assert.equal(namespace[name], Redis[name], name);
    }
    assert.equal(Redis.Redis, Redis);
    assert.equal(Redis.name, "Redis");
    assert.equal(Redis.Cluster.name, "Cluster");
  });

  it("has the sub-paths that are in use", () => {
    assert.equal(require("ioredis/built/utils").CONNECTION_CLOSED_ERROR_MSG, "Connection is closed.");
    assert.equal(typeof require("ioredis/built/utils/index").parseURL, "function");
    const { argument, reply } = require("ioredis/built/Command").default._transformer;
    assert.deepEqual(Object.keys(argument).sort(), ["hmset", "hset", "mset", "msetnx"]);
    assert.equal(typeof reply.hgetall, "function");
    assert.match(require("ioredis/package.json").version, /^6\./);
  });

  it("is told apart from other clients by what it does not have", async () => {
    const redis = new Redis({ ...address, lazyConnect: true, skipVersionCheck: true });
    const absent = [
      "scanIterator",
      "sSubscribe",
      "pSubscribe",
      "masters",
      "isOpen",
      "isReady",
      "then",
      "getter",
      "setter",
    ];
    const scripts = ["pause", "promote", "drain", "free", "init", "submit", "register", "onModuleInit"];
    for (const name of [...absent, ...scripts]) assert.equal(redis[name], undefined, name);
    assert.equal(redis.pipeline().then, undefined);
    assert.equal(redis.multi().then, undefined);
    assert.equal(redis.constructor.name, "Redis");
    assert.equal(redis.isCluster, false);
    assert.ok("family" in redis.options);
    assert.equal(redis.options.skipVersionCheck, true);
    redis.disconnect();
  });

  it("can be written to, extended and bound", async () => {
    const redis = new Redis(address);
    redis.blocked = true;
    redis[Symbol.for("own")] = 1;
    assert.equal(delete redis[Symbol.for("own")], true);
    redis.options.connectionName = "later";
    const { get } = redis;
    assert.equal(await get.bind(redis)("missing"), null);
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    redis.disconnect(true);
    await ready;
    assert.equal(await redis.client("GETNAME"), "later");
    const closed = new Promise((resolve) => redis.once("end", resolve));
    await redis.quit();
    await closed;
    redis.status = "end";
    assert.equal(redis.status, "end");
  });
});

describe("ioredis-mock", () => {
  it("plays the server with this package's transformers", async () => {
    const mock = new MockRedis({ data: { known: "value" } });
    assert.equal(await mock.get("known"), "value");
    await mock.hset("h", { a: 1, b: "2" });
    assert.deepEqual(await mock.hgetall("h"), { a: "1", b: "2" });
    await mock.mset({ x: "1", y: "2" });
    assert.deepEqual(await mock.mget("x", "y"), ["1", "2"]);
    const rows = await mock.multi().incr("n").incr("n").exec();
    assert.deepEqual(rows, [
      [null, 1],
      [null, 2],
    ]);
    mock.defineCommand("twice", { numberOfKeys: 1, lua: "return redis.call('incrby', KEYS[1], 2)" });
    assert.equal(await mock.twice("n"), 4);
    const subscriber = new MockRedis();
    const heard = new Promise((resolve) => subscriber.on("message", (...args) => resolve(args)));
    await subscriber.subscribe("news");
    await mock.publish("news", "hello");
    assert.deepEqual(await heard, ["news", "hello"]);
    subscriber.disconnect();
    mock.disconnect();
  });

  it("takes URLs as the client does", async () => {
    const mock = new MockRedis("redis://127.0.0.1:1234/5");
    assert.equal(mock.options.port, 1234);
    mock.disconnect();
  });
});
