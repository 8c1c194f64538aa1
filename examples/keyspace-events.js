// Keyspace notifications as an iterator: expired keys, and the changes of some keys. The same on a cluster.
const Redis = require("sluice");

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  const subscriber = redis.duplicate();
  // Servers send none by default. Without this, `ready` rejects with the code KEYSPACE_EVENTS_OFF.
  await redis.config("SET", "notify-keyspace-events", "KEA");

  const expired = subscriber.keyspaceEvents({ events: "expired" });
  const users = subscriber.keyspaceEvents({ keys: "user:*" });
  await Promise.all([expired.ready, users.ready]);

  // A listener instead of an iteration.
  const listening = users.listen((entry) => console.log("changed:", entry));

  await redis.set("user:1", "Ada");
  await redis.set("session:1", "open", "PX", 10);
  await redis.del("user:1");

  for await (const entry of expired) {
    if (entry.kind === "gap") {
      console.log(`events may be missing: ${entry.cause}`);
      continue;
    }
    console.log("expired:", entry.key); // session:1
    break; // unsubscribes
  }

  await users.close();
  await listening;
  await redis.config("SET", "notify-keyspace-events", "");
  await Promise.all([subscriber.quit(), redis.quit()]);
}

main();
