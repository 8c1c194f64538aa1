// The same code, batched by itself: commands that wait while a batch is on its way leave together.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { enableAutoPipelining: true });
  await redis.mset({ "user:1": "Ada", "user:2": "Grace", "user:3": "Edsger" });

  // Issued in one turn, from wherever: they leave together and each settles on its own reply.
  const names = await Promise.all([1, 2, 3].map((id) => redis.get(`user:${id}`)));
  console.log(names);

  // One failing command never fails a neighbour.
  const outcomes = await Promise.allSettled([redis.lpush("user:1", "x"), redis.get("user:1")]);
  console.log(outcomes.map((outcome) => outcome.status)); // [ 'rejected', 'fulfilled' ]

  console.log(redis.autoPipelineQueueSize); // 0
  await redis.quit();
}

main();
