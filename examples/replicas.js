// needs: replicas
// One client for a primary and its replicas: it reads its own writes, and other keys from a replica.
const Redis = require("sluice");

async function main() {
  const [primary, ...replicas] = (process.env.REPLICA_NODES ?? "localhost:6379,localhost:6380").split(",");
  const redis = new Redis(primary, { replicas });

  // Keys that this client has just written are read from the primary.
  await redis.set("greeting", "hello");
  console.log(await redis.get("greeting")); // hello

  // A pipeline is divided; the rows keep their order.
  const rows = await redis.pipeline().incr("visits").get("greeting").exec();
  console.log(rows[1]); // [ null, 'hello' ]

  // One call may choose: a replica may not have the newest value yet.
  const value = await redis.with({ readFrom: "replica" }).get("greeting");
  console.log(value === "hello" || value === null); // true

  console.log(Object.keys(redis.stats().replicas).length > 0); // true

  await redis.del("greeting", "visits");
  await redis.quit();
}

main();
