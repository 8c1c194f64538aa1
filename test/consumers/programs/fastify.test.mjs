/** @fastify/redis and @fastify/rate-limit in an application that is injected with requests. */

import assert from "node:assert/strict";
import fastifyRateLimit from "@fastify/rate-limit";
import fastifyRedis from "@fastify/redis";
import Fastify from "fastify";
import Redis from "ioredis";
import { address, host, port, startServer, until, url } from "./support.mjs";

describe("@fastify/redis", () => {
  let app;

  beforeEach(() => {
    app = Fastify();
  });

  // Closing what never came up reports that it is closed.
  afterEach(() => app.close().catch(() => {}));

  it("gives routes a client and closes it with the application", async () => {
    await app.register(fastifyRedis, address);
    app.get("/:key", async (request) => ({ value: await app.redis.get(request.params.key) }));
    app.post("/:key", async (request) => ({ reply: await app.redis.set(request.params.key, request.body) }));
    await app.ready();
    const headers = { "content-type": "text/plain" };
    const posted = await app.inject({ method: "POST", url: "/greeting", headers, payload: "hello" });
    assert.deepEqual(posted.json(), { reply: "OK" });
    assert.deepEqual((await app.inject("/greeting")).json(), { value: "hello" });
    const client = app.redis;
    assert.equal(client.status, "ready");
    await app.close();
    await until(() => client.status === "end");
  });

  it("keeps clients apart by namespace, made from a URL and from options", async () => {
    await app
      .register(fastifyRedis, { url, namespace: "by-url" })
      .register(fastifyRedis, { host, port, db: 3, namespace: "by-options" });
    await app.ready();
    await app.redis["by-url"].set("where", "db 0");
    assert.equal(await app.redis["by-options"].get("where"), null);
    assert.equal(await app.redis["by-url"].get("where"), "db 0");
  });

  it("takes a client that is there already, and leaves it alone", async () => {
    const client = new Redis(address);
    await app.register(fastifyRedis, { client });
    await app.ready();
    assert.equal(app.redis, client);
    await app.close();
    assert.equal(await client.ping(), "PONG");
    await client.quit();
  });

  it("takes clients that are not connected yet, and closes them if asked to", async () => {
    const client = new Redis({ ...address, lazyConnect: true });
    await app.register(fastifyRedis, { client, closeClient: true });
    await app.ready();
    assert.equal(await app.redis.ping(), "PONG");
    await app.close();
    await until(() => client.status === "end");
  });

  it("fails at the start with a wrong password", async () => {
    const server = await startServer({ requirepass: "right" });
    try {
      const own = { host: server.host, port: server.port };
      app.register(fastifyRedis, { ...own, password: "wrong" });
      await assert.rejects(async () => app.ready(), /WRONGPASS|invalid password/);
      const second = Fastify();
      await second.register(fastifyRedis, { ...own, password: "right" });
      await second.ready();
      assert.equal(await second.redis.ping(), "PONG");
      await second.close();
    } finally {
      await server.stop();
    }
  });
});

describe("@fastify/rate-limit", () => {
  it("counts in the server, also for two applications together", async () => {
    const redis = new Redis({ ...address, connectTimeout: 500, maxRetriesPerRequest: 1 });
    const apps = [];
    for (let index = 0; index < 2; index++) {
      const app = Fastify();
      await app.register(fastifyRateLimit, { max: 4, timeWindow: 5_000, redis });
      app.get("/", async () => "ok");
      apps.push(app);
    }
    const codes = [];
    for (let n = 0; n < 6; n++) codes.push((await apps[n % 2].inject("/")).statusCode);
    assert.deepEqual(codes, [200, 200, 200, 200, 429, 429]);
    await Promise.all(apps.map((app) => app.close()));
    await redis.quit();
  });

  it("lets requests pass when the server is gone, if told so", async () => {
    const server = await startServer();
    const redis = new Redis({
      host: server.host,
      port: server.port,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 50,
    });
    redis.on("error", () => {});
    const app = Fastify();
    await app.register(fastifyRateLimit, { max: 1, timeWindow: 5_000, redis, skipOnError: true });
    app.get("/", async () => "ok");
    assert.equal((await app.inject("/")).statusCode, 200);
    assert.equal((await app.inject("/")).statusCode, 429);
    await server.stop();
    assert.equal((await app.inject("/")).statusCode, 200);
    await app.close();
    redis.disconnect();
  });
});
