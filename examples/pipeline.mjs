// Many commands, one socket write, one promise for all of them.

import Redis from "sluice";

const redis = new Redis(process.env.REDIS_URL);

const results = await redis.pipeline().set("foo", "bar").get("foo").incr("visits").exec();
for (const [error, result] of results) console.log(error, result);

// The same as an array; a command that fails does not fail its neighbours.
const batch = redis.pipeline([
  ["hget", "foo", "field"],
  ["get", "foo"],
]);
const [[wrong], [, value]] = await batch.exec();
console.log(batch.length, wrong.message, value);

await redis.del("foo", "visits");
await redis.quit();
