// A worker that waits for jobs and a service that answers at once, on one client: commands that
// block go over connections of their own.
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

  // Meanwhile the worker waits without a time limit; this is not held up by it.
  await redis.set("greeting", "hello");
  console.log(await redis.get("greeting"));

  for (const job of ["one", "two", "stop"]) await redis.rpush("jobs", job);
  await worker;

  // Waiting forever can be ended from outside.
  const controller = new AbortController();
  const waiting = redis.with({ signal: controller.signal }).blpop("jobs", 0);
  setTimeout(() => controller.abort(), 50);
  console.log(await waiting.catch((error) => error.code)); // ABORTED_BY_SIGNAL

  await redis.del("greeting");
  await redis.quit();
}

main();
