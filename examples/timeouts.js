// Limits for single calls: a time, an AbortSignal, and whether to repeat after a lost connection.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);

  // The server holds BLPOP for a second; this caller has a tenth of it.
  const impatient = redis.with({ timeout: 100 });
  await impatient.blpop("nothing", 1).catch((error) => {
    console.log(error.code, error.details.phase); // COMMAND_TIMEOUT waiting
  });

  // A request that goes away takes its commands along.
  const request = new AbortController();
  const handler = redis.with({ signal: request.signal, retry: "reads-only" });
  const answer = handler.pipeline().get("a").get("b").exec();
  request.abort();
  console.log((await answer).map(([error]) => error.code)); // ABORTED_BY_SIGNAL twice

  // The connection is in order: late replies were passed over.
  console.log(await redis.set("a", "1"), await redis.get("a")); // OK 1
  await redis.del("a");

  console.log(await redis.quit({ timeout: 2000 })); // isDrained: true
}

main();
