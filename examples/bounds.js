// Limits on what may wait for the server: refuse what is too much instead of hoarding it.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { bounds: { maxCommands: 100, policy: "reject" } });
  await redis.ping();

  // 150 at once: 100 are sent, the others fail at once and were never sent.
  const outcomes = await Promise.allSettled(Array.from({ length: 150 }, () => redis.incr("visits")));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  console.log(await redis.get("visits"), "counted,", refused.length, "refused:", refused[0].reason.code);

  // With the policy "wait" all of them are sent, 100 at a time.
  const patient = redis.duplicate({ bounds: { maxCommands: 100, policy: "wait" } });
  await Promise.all(Array.from({ length: 150 }, () => patient.incr("visits")));
  console.log(await redis.get("visits"), "counted");

  await Promise.all([redis.del("visits"), patient.quit()]);
  await redis.quit();
}

main();
