// Channels, patterns and Buffers. With RESP3, a subscriber can also send commands.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  const subscriber = redis.duplicate();

  const seen = [];
  const enough = new Promise((resolve) => {
    const note = (text) => seen.push(text) === 3 && resolve();
    subscriber.on("message", (channel, message) => note(`${channel}: ${message}`));
    subscriber.on("pmessage", (pattern, channel, message) => note(`${pattern} ${channel}: ${message}`));
  });
  console.log(await subscriber.subscribe("news", "sport")); // 2
  console.log(await subscriber.psubscribe("log:*")); // 3

  await redis.publish("news", "hello");
  await redis.publish("log:web", "started");
  await subscriber.publish("sport", "from the subscriber itself");
  await enough;
  console.log(seen.sort());

  console.log(await subscriber.unsubscribe()); // 1: the pattern remains
  await subscriber.quit();
  await redis.quit();
}

main();
