// A rate limit as a Lua script: an atomic read-compute-write cycle in one round trip.
const Redis = require("sluice");

const LIMIT = `
local used = redis.call("INCR", KEYS[1])
if used == 1 then redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
if used > tonumber(ARGV[1]) then return redis.call("PTTL", KEYS[1]) end
return -1`;

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { keyPrefix: "limit:" });
  redis.defineCommand("takeToken", { numberOfKeys: 1, lua: LIMIT });

  for (let call = 1; call <= 4; call++) {
    const waitMs = await redis.takeToken("alice", 3, 1000);
    console.log(call, waitMs < 0 ? "allowed" : "come back later");
  }

  // In a pipeline, after the server has dropped all scripts.
  await redis.script("FLUSH");
  const rows = await redis.pipeline().takeToken("bob", 3, 1000).takeToken("bob", 3, 1000).exec();
  console.log(rows); // [[null, -1], [null, -1]]

  await redis.del("alice", "bob");
  await redis.quit();
}

main();
