// Leased connections: WATCH without interference, and transactions that repeat after a conflict.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  await redis.set("seats", 2);

  // Ten concurrent requests of one process try to book a seat.
  const book = () =>
    redis.transaction("seats", async (own) => {
      const seats = Number(await own.get("seats"));
      if (seats === 0) throw new Error("sold out");
      return own.multi().set("seats", seats - 1);
    });
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, book));
  console.log(outcomes.filter(({ status }) => status === "fulfilled").length, "booked"); // 2 booked

  // A subscription that ends with the function.
  const greeting = await redis.withConnection(async (own) => {
    await own.subscribe("greetings");
    const received = new Promise((resolve) => own.once("message", (_channel, message) => resolve(message)));
    await redis.publish("greetings", "hello");
    return received;
  });
  console.log(greeting); // hello

  const own = await redis.lease();
  await own.release();
  console.log(await own.get("seats").catch((error) => error.code)); // LEASE_RELEASED

  await redis.del("seats");
  await redis.quit();
}

main();
