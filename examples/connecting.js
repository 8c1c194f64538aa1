// Connection lifecycle: lazy connecting, events, and closing within a time limit.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, {
    lazyConnect: true,
    connectionName: "example",
    retryStrategy: (times) => Math.min(times * 50, 2000),
  });
  for (const event of ["wait", "connecting", "connect", "ready", "close", "end"]) {
    redis.on(event, () => console.log(event));
  }
  redis.on("error", (error) => console.log("error", error.message));

  await redis.connect();
  console.log(await redis.client("GETNAME")); // example

  // A second client with the same options and one change.
  const other = redis.duplicate({ lazyConnect: false, db: 1 });
  await other.set("key", "in database 1");
  console.log(await redis.get("key"), await other.get("key"));
  await other.del("key");

  // quit() reports the commands without a reply after one second.
  console.log(await other.quit({ timeout: 1000 }));
  await redis.quit();
}

main();
