// A transaction: all or nothing, sent in one piece.

const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);

  const results = await redis.multi().set("stock", 10).decr("stock").get("stock").exec();
  console.log(results);

  // WATCH: exec() gives null when somebody else was quicker.
  const other = redis.duplicate();
  await redis.watch("stock");
  await other.set("stock", 0);
  console.log(await redis.multi().decr("stock").exec());

  await redis.del("stock");
  await Promise.all([redis.quit(), other.quit()]);
}

main();
