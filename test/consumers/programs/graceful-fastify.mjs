/** A Fastify service that ends on SIGTERM, as docs/recipes.md says. Its last line is what it has counted. */

import Fastify from "fastify";
import Redis from "ioredis";

const redis = new Redis({ host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) });
const counts = { served: 0, failed: 0, left: null };
// The original knows no time limit.
const limits = "bulk" in Redis.prototype ? [{ timeout: 5_000 }] : [];

const app = Fastify();
app.decorate("redis", redis);
app.addHook("onClose", async () => {
  counts.left = await redis.quit(...limits);
});
app.get("/", async () => {
  try {
    const [visits] = await Promise.all([app.redis.incr("visits"), app.redis.get("title")]);
    counts.served++;
    return { visits };
  } catch (error) {
    counts.failed++;
    throw error;
  }
});

process.once("SIGTERM", async () => {
  await app.close();
  console.log(JSON.stringify(counts));
});
console.log(await app.listen({ host: "127.0.0.1", port: 0 }));
