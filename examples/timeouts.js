// Limits for single calls: a timeout, an AbortSignal, and the retry policy.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);

  // BLPOP blocks for one second. This call ends after 100 ms.
  const impatient = redis.with({ timeout: 100 });
  await impatient.blpop("nothing", 1).catch((error) => {
    console.log(error.code, error.details.phase); // COMMAND_TIMEOUT waiting
  });

  // An aborted request aborts its commands.
  const request = new AbortController();
  const handler = redis.with({ signal: request.signal, retry: "reads-only" });
  const answer = handler.pipeline().get("a").get("b").exec();
  request.abort();
  console.log((await answer).map(([error]) => error.code)); // ABORTED_BY_SIGNAL twice

  // The connection still works: the client has dropped the late replies.
  console.log(await redis.set("a", "1"), await redis.get("a")); // OK 1
  await redis.del("a");

  console.log(await redis.quit({ timeout: 2000 })); // isDrained: true
}

main();
