/** Messages between processes: GraphQL subscriptions, mqemitter, aedes persistence, Moleculer. */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Aedes } from "aedes";
import aedesPersistenceRedis from "aedes-persistence-redis";
import { RedisPubSub } from "graphql-redis-subscriptions";
import Redis from "ioredis";
import { ServiceBroker } from "moleculer";
import mqemitterRedis from "mqemitter-redis";
import { address, startServer, until, url } from "./support.mjs";

describe("graphql-redis-subscriptions", () => {
  it("publishes to iterators, by channel and by pattern", async () => {
    const pubsub = new RedisPubSub({ connection: address });
    const heard = [];
    const id = await pubsub.subscribe("news", (message) => heard.push(message));
    await pubsub.subscribe("room.*", (message) => heard.push(message), { pattern: true });
    const iterator = pubsub.asyncIterator("iterated");
    const first = iterator.next();
    await until(async () => (await pubsub.getPublisher().pubsub("NUMSUB", "iterated"))[1] === 1);
    await pubsub.publish("news", { n: 1 });
    await pubsub.publish("room.7", { n: 2 });
    await pubsub.publish("iterated", { n: 3 });
    assert.deepEqual(await first, { value: { n: 3 }, done: false });
    await until(() => heard.length === 2);
    assert.deepEqual(heard, [{ n: 1 }, { n: 2 }]);
    pubsub.unsubscribe(id);
    await iterator.return();
    await until(async () => (await pubsub.getPublisher().pubsub("CHANNELS")).length === 0);
    await pubsub.close();
  });

  it("goes on after the server was restarted", async () => {
    const server = await startServer();
    const options = { host: server.host, port: server.port, retryStrategy: () => 30 };
    const [publisher, subscriber] = [new Redis(options), new Redis(options)];
    for (const client of [publisher, subscriber]) client.on("error", () => {});
    const pubsub = new RedisPubSub({ publisher, subscriber });
    const heard = [];
    await pubsub.subscribe("news", (message) => heard.push(message));
    await server.kill();
    await server.start();
    await until(async () => (await publisher.pubsub("NUMSUB", "news"))[1] === 1);
    await pubsub.publish("news", "again");
    await until(() => heard.length === 1);
    await pubsub.close();
    await server.stop();
  });
});

describe("mqemitter-redis", () => {
  it("carries messages between two emitters, with wildcards", async () => {
    const [one, two] = [mqemitterRedis(address), mqemitterRedis(address)];
    const heard = [];
    const listen = (message, done) => {
      heard.push(`${message.topic} ${message.payload}`);
      done();
    };
    await new Promise((resolve) => two.on("home/+/light", listen, resolve));
    await new Promise((resolve) => one.emit({ topic: "home/kitchen/light", payload: "on" }, resolve));
    await new Promise((resolve) => one.emit({ topic: "home/kitchen/door", payload: "open" }, resolve));
    await new Promise((resolve) => two.emit({ topic: "home/hall/light", payload: "off" }, resolve));
    await until(() => heard.length === 2);
    assert.deepEqual(heard.sort(), ["home/hall/light off", "home/kitchen/light on"]);
    await new Promise((resolve) => two.removeListener("home/+/light", listen, resolve));
    await Promise.all([one, two].map((emitter) => new Promise((resolve) => emitter.close(resolve))));
  });
});

describe("aedes-persistence-redis", () => {
  it("keeps retained messages, subscriptions and wills", async () => {
    const persistence = aedesPersistenceRedis({ ...address });
    const broker = await Aedes.createBroker({ persistence, mq: mqemitterRedis(address) });
    const client = { id: "visitor", clean: false, broker, connDetails: {} };
    const packet = (topic) => ({
      cmd: "publish",
      id: 1,
      topic,
      payload: Buffer.from([0, 200, 13, 10]),
      qos: 0,
      retain: true,
      dup: false,
    });
    for (let n = 0; n < 30; n++) await persistence.storeRetained(packet(`house/${n}`));
    const retained = [];
    for await (const message of persistence.createRetainedStream("house/#")) retained.push(message);
    assert.equal(retained.length, 30);
    assert.deepEqual(retained[0].payload, Buffer.from([0, 200, 13, 10]));
    await persistence.addSubscriptions(client, [
      { topic: "house/+", qos: 1, rh: 0, rap: true, nl: false },
      { topic: "exact", qos: 0, rh: 0, rap: true, nl: false },
    ]);
    assert.equal((await persistence.subscriptionsByClient(client)).length, 2);
    await until(async () => (await persistence.subscriptionsByTopic("house/1")).length === 1);
    assert.deepEqual(await persistence.countOffline(), { subsCount: 1, clientsCount: 1 });
    await persistence.putWill(client, { ...packet("will"), qos: 1 });
    assert.equal((await persistence.getWill(client)).topic, "will");
    await persistence.delWill(client);
    await persistence.cleanSubscriptions(client);
    await new Promise((resolve) => broker.close(resolve));
    await persistence.destroy();
  });
});

describe("moleculer", () => {
  it("calls, balances, broadcasts and caches over the server", async () => {
    const make = (nodeID) =>
      new ServiceBroker({
        nodeID,
        logger: false,
        transporter: url,
        cacher: { type: "Redis", options: { redis: address, ttl: 30, prefix: "mol", lock: { ttl: 5 } } },
        metrics: false,
      });
    const [caller, worker] = [make("caller"), make("worker")];
    const heard = [];
    let calls = 0;
    worker.createService({
      name: "math",
      actions: {
        add: ({ params }) => params.a + params.b,
        slow: {
          cache: { keys: ["n"] },
          async handler({ params }) {
            calls++;
            await sleep(20);
            return { n: params.n };
          },
        },
      },
      events: {
        "user.*": {
          handler(context) {
            heard.push(context.params);
          },
        },
      },
    });
    await Promise.all([caller.start(), worker.start()]);
    await caller.waitForServices("math");
    assert.equal(await caller.call("math.add", { a: 2, b: 3 }), 5);
    await Promise.all([...Array(20).keys()].map((n) => caller.call("math.add", { a: n, b: 1 })));
    assert.deepEqual(await caller.call("math.slow", { n: 1 }), { n: 1 });
    assert.deepEqual(await caller.call("math.slow", { n: 1 }), { n: 1 });
    assert.equal(calls, 1);
    await worker.cacher.clean("math.**");
    await caller.call("math.slow", { n: 1 });
    assert.equal(calls, 2);
    caller.broadcast("user.created", { id: 7 });
    await until(() => heard.length === 1);
    assert.deepEqual(heard, [{ id: 7 }]);
    await Promise.all([caller.stop(), worker.stop()]);
  });
});
