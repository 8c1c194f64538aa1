// Many commands in one round trip: an explicit pipeline, a transaction inside it, and batches.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);

  const rows = await redis.pipeline().set("foo", "bar").get("foo").exec();
  console.log(rows); // [ [ null, 'OK' ], [ null, 'bar' ] ]

  // The array form, with a callback for one command.
  const pipeline = redis.pipeline([
    ["set", "counter", "1"],
    ["incr", "counter", (error, value) => console.log("incr answered", error, value)],
  ]);
  console.log(pipeline.length); // 2
  await pipeline.exec();

  // A failed command has its error in its own row.
  const mixed = await redis.pipeline().lpush("foo", "x").get("foo").exec();
  console.log(mixed[0][0].message, mixed[1]);

  // A transaction inside a pipeline. The inner exec() ends it.
  const inline = await redis
    .pipeline()
    .get("foo")
    .multi()
    .set("foo", "baz")
    .get("foo")
    .exec()
    .get("foo")
    .exec();
  console.log(inline);

  // A large pipeline in batches of ten thousand commands keeps the memory of server and client constant.
  const large = redis.pipeline();
  for (let i = 0; i < 50_000; i++) large.set(`large:${i % 100}`, i);
  const results = await large.exec({ batchSize: 10_000 });
  console.log(results.length); // 50000

  await redis.quit();
}

main();
