// Transactions: atomic commands, and WATCH for read-compute-write cycles.
const Redis = require("sluice");

async function withdraw(redis, account, amount) {
  for (;;) {
    await redis.watch(account);
    const balance = Number(await redis.get(account));
    if (balance < amount) {
      await redis.unwatch();
      return false;
    }
    // null: the account has changed since WATCH, so read it again.
    const rows = await redis.multi().decrby(account, amount).exec();
    if (rows !== null) return true;
  }
}

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  await redis.set("account", 100);
  console.log(await withdraw(redis, "account", 30), await redis.get("account")); // true 70
  console.log(await withdraw(redis, "account", 300), await redis.get("account")); // false 70

  // If the server refuses a command, nothing runs. The error has the reason.
  const failed = redis.multi().set("account").incr("account").exec();
  await failed.catch((error) =>
    console.log(
      error.message,
      error.previousErrors.map((one) => one.message),
    ),
  );
  await redis.quit();
}

main();
