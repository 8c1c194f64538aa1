// lib/redis.js of a Next.js application. Each hot reload of the development server runs this module again, so the client
// is on globalThis. The process then has one client and one connection.
import { Redis } from "sluice";

/** Connects with the first command, so a build that renders pages needs no server. */
function makeClient() {
  const client = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379", { lazyConnect: true });
  client.on("error", (error) => console.error(error.message));
  return client;
}

export const redis = (globalThis.sharedRedis ??= makeClient());

// The rest shows the effect of a reload. It does not belong in lib/redis.js.
if (process.argv[1] === import.meta.filename && !import.meta.url.includes("?")) {
  await redis.set("page", "rendered");
  const reloaded = await import("./nextjs.mjs?reloaded");
  console.log("one client after a reload:", reloaded.redis === redis);
  console.log(await reloaded.redis.get("page"));
  await redis.del("page");
  await redis.quit();
}
