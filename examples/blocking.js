// A worker and a service on one client. With `blockingConnections`, blocking commands use extra connections and do not
// delay other commands.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { blockingConnections: 2 });

  const worker = (async () => {
    for (;;) {
      const [, job] = await redis.blpop("jobs", 0);
      if (job === "stop") return;
      console.log("worked on", job);
    }
  })();

  // The worker waits without a time limit. This command does not wait for it.
  await redis.set("greeting", "hello");
  console.log(await redis.get("greeting"));

  for (const job of ["one", "two", "stop"]) await redis.rpush("jobs", job);
  await worker;

  // A signal ends a blocking command without a time limit.
  const controller = new AbortController();
  const waiting = redis.with({ signal: controller.signal }).blpop("jobs", 0);
  setTimeout(() => controller.abort(), 50);
  console.log(await waiting.catch((error) => error.code)); // ABORTED_BY_SIGNAL

  await redis.del("greeting");
  await redis.quit();
}

main();
