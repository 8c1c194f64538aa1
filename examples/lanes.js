// Small commands beside large values: a connection of its own for what is large.
const Redis = require("sluice");

const LARGE = "x".repeat(8 * 1024 * 1024);

async function timeOfSmall(redis) {
  const large = redis.get("report:1");
  const startMs = performance.now();
  await redis.get("name:1");
  const ms = performance.now() - startMs;
  await large;
  return ms;
}

async function main() {
  for (const bulk of [0, 1]) {
    const redis = new Redis(process.env.REDIS_URL, { connections: { bulk } });
    await redis.mset("report:1", LARGE, "name:1", "Ada");
    // The first large reply shows that reports are large.
    await timeOfSmall(redis);
    const ms = await timeOfSmall(redis);
    console.log(`bulk: ${bulk}: a small GET beside one of 8 MiB took ${ms.toFixed(1)} ms`);
    await redis.del("report:1", "name:1");
    await redis.quit();
  }
}

main();
