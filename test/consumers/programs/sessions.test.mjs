/** Session stores: connect-redis 7 under express-session in an Express application, koa-redis. */

import assert from "node:assert/strict";
import { once } from "node:events";
import RedisStore from "connect-redis";
import express from "express";
import session from "express-session";
import Redis from "ioredis";
import koaRedis from "koa-redis";
import { address, next } from "./support.mjs";

describe("connect-redis under express-session", () => {
  let redis;
  let store;

  beforeEach(async () => {
    redis = new Redis(address);
    await redis.flushdb();
    store = new RedisStore({ client: redis, prefix: "session:", ttl: 60 });
  });

  afterEach(() => redis.quit());

  it("keeps a visitor's session from request to request", async () => {
    const app = express();
    app.use(
      session({ store, secret: "s", resave: false, saveUninitialized: false, cookie: { maxAge: 30_000 } }),
    );
    app.get("/count", (request, response) => {
      request.session.count = (request.session.count ?? 0) + 1;
      response.send(String(request.session.count));
    });
    app.get("/leave", (request, response) => request.session.destroy(() => response.send("bye")));
    const server = app.listen(0);
    await once(server, "listening");
    const visit = (path, cookie) =>
      fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: cookie ? { cookie } : {} });
    const first = await visit("/count");
    const cookie = first.headers.get("set-cookie").split(";")[0];
    assert.equal(await first.text(), "1");
    assert.equal(await (await visit("/count", cookie)).text(), "2");
    assert.equal(await (await visit("/count")).text(), "1");
    assert.equal((await redis.keys("session:*")).length, 2);
    assert.ok((await redis.ttl((await redis.keys("session:*"))[0])) <= 30);
    await (await visit("/leave", cookie)).text();
    assert.equal((await redis.keys("session:*")).length, 1);
    assert.equal(await (await visit("/count", cookie)).text(), "1");
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("lists, counts, touches and clears more sessions than one scan returns", async () => {
    const call = (method, ...args) =>
      new Promise((resolve, reject) =>
        store[method](...args, (error, result) => (error ? reject(error) : resolve(result))),
      );
    const data = (n) => ({ n, cookie: { originalMaxAge: 20_000, expires: new Date(Date.now() + 20_000) } });
    for (let n = 0; n < 250; n++) await call("set", `id-${n}`, data(n));
    assert.equal(await call("length"), 250);
    assert.deepEqual((await call("ids")).sort().slice(0, 2), ["id-0", "id-1"]);
    assert.equal((await call("all")).length, 250);
    assert.equal((await call("get", "id-7")).n, 7);
    await call("touch", "id-7", { cookie: { expires: new Date(Date.now() + 50_000) } });
    assert.ok((await redis.ttl("session:id-7")) > 25);
    await call("clear");
    assert.equal(await call("length"), 0);
    assert.equal(await call("get", "id-7"), undefined);
  });
});

describe("koa-redis", () => {
  it("stores, reads, expires and destroys sessions and tells the state", async () => {
    const store = koaRedis(address);
    await next(store, "ready");
    assert.equal(store.connected, true);
    await store.set("sid", { user: "x" }, 5_000);
    assert.deepEqual(await store.get("sid"), { user: "x" });
    await store.destroy("sid");
    assert.equal(await store.get("sid"), null);
    await store.quit();
    const client = new Redis(address);
    const shared = koaRedis({ client, db: 2 });
    await shared.set("sid", { user: "y" });
    assert.deepEqual(await shared.get("sid"), { user: "y" });
    await client.quit();
  });
});
