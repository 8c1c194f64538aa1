// Channels as async iterators: a bounded buffer, gaps as entries, and automatic unsubscribing.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  const subscriber = redis.duplicate();

  const orders = subscriber.messages(["orders:eu", "orders:us"]);
  const logs = subscriber.messages("log:*", { kind: "pattern" });
  await Promise.all([orders.ready, logs.ready]);

  // A listener for these names only.
  const listening = logs.listen((entry) => console.log("log", entry));

  await redis.publish("log:web", "started");
  for (const id of [1, 2, 3]) await redis.publish("orders:eu", JSON.stringify({ id }));

  for await (const entry of orders) {
    if (entry.kind === "gap") {
      console.log(`orders may be missing: ${entry.cause}`);
      continue;
    }
    const order = JSON.parse(entry.message);
    console.log(entry.channel, order);
    if (order.id === 3) break; // unsubscribes
  }

  // A slow reader receives a gap instead of the oldest messages.
  const slow = subscriber.messages("ticks", { maxBuffered: 2 });
  await slow.ready;
  for (const tick of [1, 2, 3, 4]) await redis.publish("ticks", tick);
  await subscriber.ping();
  console.log((await slow.next()).value); // { kind: "gap", cause: "overflow", dropped: 2, lastedMs: null }
  await slow.close();

  await logs.close();
  await listening;
  await Promise.all([subscriber.quit(), redis.quit()]);
}

main();
