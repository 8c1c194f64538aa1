// Automatic batches: commands that are issued while a batch is in flight form the next batch.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { enableAutoPipelining: true });
  await redis.mset({ "user:1": "Ada", "user:2": "Grace", "user:3": "Edsger" });

  // Commands of one event-loop turn form one batch. Each settles when its own reply arrives.
  const names = await Promise.all([1, 2, 3].map((id) => redis.get(`user:${id}`)));
  console.log(names);

  // A failed command does not affect the other commands of its batch.
  const outcomes = await Promise.allSettled([redis.lpush("user:1", "x"), redis.get("user:1")]);
  console.log(outcomes.map((outcome) => outcome.status)); // [ 'rejected', 'fulfilled' ]

  console.log(redis.autoPipelineQueueSize); // 0
  await redis.quit();
}

main();
