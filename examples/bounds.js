// Limits for outstanding commands: the client rejects further commands instead of queueing them.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { bounds: { maxCommands: 100, policy: "reject" } });
  await redis.ping();

  // 150 concurrent commands: the client sends 100 and rejects the others immediately.
  const outcomes = await Promise.allSettled(Array.from({ length: 150 }, () => redis.incr("visits")));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  console.log(await redis.get("visits"), "counted,", refused.length, "refused:", refused[0].reason.code);

  // With the policy "wait", the client sends all of them, 100 at a time.
  const patient = redis.duplicate({ bounds: { maxCommands: 100, policy: "wait" } });
  await Promise.all(Array.from({ length: 150 }, () => patient.incr("visits")));
  console.log(await redis.get("visits"), "counted");

  await Promise.all([redis.del("visits"), patient.quit()]);
  await redis.quit();
}

main();
