// Caches replies in this process until the server reports that a key has changed.
const { once } = require("node:events");
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { cache: { maxBytes: 16 * 1024 * 1024, maxStale: 5000 } });
  const other = new Redis(process.env.REDIS_URL);
  await redis.hset("profile:1", { name: "Ann", city: "Oslo" });

  console.log(await redis.hgetall("profile:1"), "from the server");
  console.log(await redis.hgetall("profile:1"), "from the cache");
  console.log(redis.cache.peek("hgetall", "profile:1"), "at once");

  // Another client changes the key, and the server reports the change.
  const told = once(redis, "invalidate");
  await other.hset("profile:1", "city", "Bergen");
  console.log("changed:", (await told)[0]);
  console.log(await redis.hgetall("profile:1"));

  // A write of another client in this process needs no wait.
  await other.hset("profile:1", "city", "Rome");
  console.log(await redis.hget("profile:1", "city")); // Rome

  // Identical concurrent reads share one command.
  await Promise.all(Array.from({ length: 100 }, () => redis.get("missing")));
  console.log(redis.cache.stats());

  await redis.del("profile:1");
  await Promise.all([redis.quit(), other.quit()]);
}

main();
