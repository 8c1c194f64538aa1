// needs: replicas
// One client for a primary and its replicas. It reads keys that it has just written from the primary, and others from a
// replica.
const Redis = require("sluice");

async function main() {
  const [primary, ...replicas] = (process.env.REPLICA_NODES ?? "localhost:6379,localhost:6380").split(",");
  const redis = new Redis(primary, { replicas });

  // The primary serves this read, because the client has just written the key.
  await redis.set("greeting", "hello");
  console.log(await redis.get("greeting")); // hello

  // The client splits a pipeline. The rows keep their order.
  const rows = await redis.pipeline().incr("visits").get("greeting").exec();
  console.log(rows[1]); // [ null, 'hello' ]

  // The choice for one call. A replica may not have the newest value yet.
  const value = await redis.with({ readFrom: "replica" }).get("greeting");
  console.log(value === "hello" || value === null); // true

  console.log(Object.keys(redis.stats().replicas).length > 0); // true

  await redis.del("greeting", "visits");
  await redis.quit();
}

main();
