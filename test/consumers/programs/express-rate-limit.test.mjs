/** rate-limit-redis under express-rate-limit: raw EVALSHA and SCRIPT LOAD through `call`. */

import assert from "node:assert/strict";
import { once } from "node:events";
import express from "express";
import { rateLimit } from "express-rate-limit";
import Redis from "ioredis";
import { RedisStore } from "rate-limit-redis";
import { address } from "./support.mjs";

describe("rate-limit-redis", () => {
  it("counts requests of two servers together, also after SCRIPT FLUSH", async () => {
    const redis = new Redis(address);
    const servers = [];
    for (let index = 0; index < 2; index++) {
      const app = express();
      const store = new RedisStore({ sendCommand: (command, ...args) => redis.call(command, ...args) });
      app.use(
        rateLimit({ windowMs: 60_000, limit: 4, store, legacyHeaders: false, standardHeaders: "draft-7" }),
      );
      app.get("/", (_request, response) => response.send("ok"));
      servers.push(app.listen(0));
      await once(servers[index], "listening");
    }
    const visit = (n) => fetch(`http://127.0.0.1:${servers[n % 2].address().port}/`);
    const codes = [];
    for (let n = 0; n < 6; n++) {
      if (n === 2) await redis.script("FLUSH");
      codes.push((await visit(n)).status);
    }
    assert.deepEqual(codes, [200, 200, 200, 200, 429, 429]);
    const limit = (await visit(0)).headers.get("ratelimit");
    assert.match(limit, /remaining=0/);
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await redis.quit();
  });
});
