// The JavaScript types of the replies to one call: Buffers, Map, bigint.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  await redis.del("visits", "image:1");
  await redis.set("visits", "9007199254740992");
  await redis.hset("image:1", { type: "png", bytes: Buffer.from([0x89, 0x50, 0xff]) });

  // Beyond 2^53 a number is not exact.
  const exact = redis.with({ replies: { number: "bigint" } });
  console.log(await redis.incr("visits"), await exact.incr("visits")); // 9007199254740992 9007199254740994n

  const image = await redis.with({ replies: { bulk: "buffer", map: "map" } }).hgetall("image:1");
  for (const [field, value] of image) console.log(field, value);

  const rows = await exact.pipeline().incr("visits").strlen("visits").exec();
  console.log(rows); // [[null, 9007199254740995n], [null, 16n]]

  await redis.quit();
}

main();
