// Deletes keys by pattern without blocking the server: SCAN, then UNLINK.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  const users = Object.fromEntries(Array.from({ length: 1000 }, (_, id) => [`user:${id}`, "x"]));
  await redis.mset(users);
  await redis.hset("profile", { name: "Ada", city: "London" });

  let deleted = 0;
  for await (const keys of redis.scanStream({ match: "user:*", count: 200 })) {
    if (keys.length > 0) deleted += await redis.unlink(keys);
  }
  console.log(deleted); // 1000

  for await (const fields of redis.hscanStream("profile")) console.log(fields);

  // As a Readable: pause() stops further SCAN calls.
  const stream = redis.scanStream();
  stream.on("data", (keys) => {
    stream.pause();
    setTimeout(() => stream.resume(), keys.length);
  });
  await new Promise((resolve) => stream.on("end", resolve));

  await redis.del("profile");
  await redis.quit();
}

main();
