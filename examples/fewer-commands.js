// Single reads that the client merges: the server runs a few commands instead of many.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL ?? "redis://127.0.0.1:6379", {
    enableAutoPipelining: { coalesce: true, merge: ["get", "hget", "sismember"] },
  });
  await redis.hset("example:user", { name: "Ada", mail: "ada@example.org" });
  await redis.sadd("example:admins", "ada");
  await redis.mset("example:a", "1", "example:b", "2");

  // Independent parts of a program read the values that they need.
  const page = () =>
    Promise.all([
      redis.hget("example:user", "name"),
      redis.hget("example:user", "mail"),
      redis.sismember("example:admins", "ada"),
      redis.sismember("example:admins", "bob"),
      redis.get("example:a"),
      redis.get("example:b"),
      redis.get("example:a"), // an identical read: not sent
    ]);

  // Before the first merge, the client tests whether it may use HMGET, SMISMEMBER and MGET.
  await page();
  await redis.config("RESETSTAT");
  console.log(await page()); // [ 'Ada', 'ada@example.org', 1, 0, '1', '2', '1' ]

  const counts = await redis.info("commandstats");
  const names = [...counts.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(
    ([, name, calls]) => `${calls} ${name}`,
  );
  console.log(names.filter((line) => /get|member/.test(line)).sort()); // [ '1 hmget', '1 mget', '1 smismember' ]

  // Merging for a single pipeline.
  const rows = await redis
    .pipeline({ merge: true })
    .hget("example:user", "name")
    .hget("example:user", "mail")
    .exec();
  console.log(rows); // [ [ null, 'Ada' ], [ null, 'ada@example.org' ] ]

  await redis.del("example:user", "example:admins", "example:a", "example:b");
  await redis.quit();
}

main();
