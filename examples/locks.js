// A lock: released at the end of the block, renewed while it is held, with a fencing token.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);

  // The resource rejects numbers below the last one, so a holder that paused for too long changes nothing.
  let last = 0;
  const bill = (order, fence) => {
    if (fence < last) throw new Error("a later holder has been here");
    last = fence;
    console.log("billed", order);
  };

  async function work(order) {
    const lock = await redis.lock("billing", { ttl: 5000, wait: 2000 });
    try {
      if (!lock.signal.aborted) bill(order, lock.fence);
    } finally {
      await lock.release();
    }
  }
  await Promise.all(["order 1", "order 2", "order 3"].map(work));

  const held = await redis.lock("billing");
  console.log(await redis.lock("billing", { wait: 0 }).catch((error) => error.code)); // LOCK_TIMEOUT
  await held.release();

  await redis.del("{billing}:fence");
  await redis.quit();
}

main();
