// Prints the commands that a server executes. MONITOR slows the server down, so do not use it in production.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  const monitor = await redis.monitor();
  const seen = new Promise((resolve) => {
    monitor.on("monitor", (_time, args, _source, database) => {
      if (args[0] === "set") resolve(`${args.join(" ")} (database ${database})`);
    });
  });
  await redis.set("key", "value");
  console.log(await seen); // set key value (database 0)
  monitor.disconnect();
  await redis.del("key");
  await redis.quit();
}

main();
