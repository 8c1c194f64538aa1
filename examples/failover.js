// Two databases: the client fails over when the first one is lost, and returns to it when it is healthy again.
// `REDIS_URL` and `OTHER_REDIS_URL` name them; without the second one, the first serves twice.

const Redis = require("sluice");

const first = process.env.REDIS_URL ?? "redis://localhost:6379";
const second = process.env.OTHER_REDIS_URL ?? first;

async function main() {
  const redis = new Redis.Failover(
    [
      { url: first, weight: 2 },
      { url: second, weight: 1 },
    ],
    { failback: 60_000, probe: { timeoutMs: 300 } },
  );
  redis.on("failover", ({ from, to, error }) => {
    console.log(`${from} -> ${to}`, error === null ? "because it is preferred" : error.message);
  });
  redis.on("error", (error) => console.error(error.message));

  console.log(await redis.set("example:failover", "ready")); // OK
  console.log(await redis.get("example:failover")); // ready
  await redis.del("example:failover");
  await redis.quit();
}

main();
