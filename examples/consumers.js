// A worker that consumes a stream: several messages at the same time, a second delivery after a failure, dead letters, and
// a clean shutdown.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  await redis.del("orders", "orders:dead");

  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort());

  const settings = {
    stream: "orders",
    group: "billing",
    consumer: "worker-1", // for example os.hostname()
    concurrency: 5,
    claimIdleMs: 200, // in a service some seconds
    deadLetter: { stream: "orders:dead", maxDeliveries: 2 },
    signal: stop.signal,
    onError: (error, message) => console.log(message.id, `delivery ${message.deliveries}:`, error.message),
  };
  const consuming = redis.consume(settings, async ({ fields }) => {
    if (fields.item === "poison") throw new Error("cannot be processed");
    console.log("billed", fields.item);
  });

  for (const item of ["tea", "poison", "milk"]) await redis.xadd("orders", "*", "item", item);

  // Dead letters are a stream too: an operator reads them, one after the other.
  const letters = redis.consume({ stream: "orders:dead", group: "operators", consumer: "me" });
  for await (const letter of letters) {
    console.log("given up:", letter.fields);
    await letter.ack();
    break;
  }

  stop.abort();
  await consuming; // messages in progress are finished and acknowledged
  await redis.del("orders", "orders:dead");
  await redis.quit();
}

main();
