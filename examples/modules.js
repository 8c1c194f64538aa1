// Module commands as methods of clients and pipelines. JSON values are converted. Needs a server with RedisJSON.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  const [known] = await redis.command("INFO", "JSON.SET");
  if (known === null) {
    console.log("this server has no JSON commands");
    await redis.quit();
    return;
  }

  await redis.json.set("user:1", "$", { name: "Ada", tags: ["math"] });
  await redis.json.arrappend("user:1", "$.tags", "poetry");
  console.log(await redis.json.get("user:1", "$.tags")); // [["math", "poetry"]]

  const rows = await redis
    .pipeline()
    .json.set("user:2", "$", { name: "Grace" })
    .json.mget("user:1", "user:2", "$.name")
    .exec();
  console.log(rows); // [[null, "OK"], [null, [["Ada"], ["Grace"]]]]

  await redis.del("user:1", "user:2");
  await redis.quit();
}

main();
