// Expiring passwords: the client logs in again on the open connection before a password expires.
const Redis = require("sluice");

async function main() {
  const admin = new Redis(process.env.REDIS_URL);
  let round = 0;

  // Replaces a token service: each password is valid for one second.
  async function fetchToken() {
    const token = `token-${++round}`;
    await admin.acl("SETUSER", "worker", "on", "~*", "&*", "+@all", "resetpass", `>${token}`);
    return { username: "worker", password: token, expiresAt: Date.now() + 1000 };
  }

  const redis = new Redis(process.env.REDIS_URL, { credentials: fetchToken });
  const connection = await redis.client("ID");
  while (round < 3) {
    await redis.incr("work");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  console.log(await redis.acl("WHOAMI"), (await redis.client("ID")) === connection); // worker true

  await redis.del("work");
  await redis.quit();
  await admin.acl("DELUSER", "worker");
  await admin.quit();
}

main();
