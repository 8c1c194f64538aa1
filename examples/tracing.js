// Events of the client in node:diagnostics_channel: commands, transactions, connection attempts.
const { AsyncLocalStorage } = require("node:async_hooks");
const { tracingChannel } = require("node:diagnostics_channel");
const Redis = require("sluice");

// The store identifies the request of each command, although commands of many requests share a write.
const request = new AsyncLocalStorage();
const startedAt = new WeakMap();

tracingChannel("ioredis:command").subscribe({
  start(context) {
    startedAt.set(context, { time: performance.now(), request: request.getStore() });
  },
  asyncEnd(context) {
    const { time, request: name = "nobody" } = startedAt.get(context);
    const outcome = context.error ? `failed: ${context.error.message}` : "ok";
    const elapsed = (performance.now() - time).toFixed(1);
    console.log(`${name}: ${context.command} ${context.args.join(" ")} ${outcome}, ${elapsed} ms`);
  },
});

tracingChannel("ioredis:connect").subscribe({
  asyncEnd({ serverAddress, serverPort, connectionEpoch, error }) {
    console.log(
      `attempt ${connectionEpoch} at ${serverAddress}:${serverPort}: ${error ? error.message : "connected"}`,
    );
  },
});

async function main() {
  const redis = new Redis(process.env.REDIS_URL, { lazyConnect: true });
  await redis.connect();
  await Promise.all([
    request.run("request 1", () => redis.set("user:1", "secret")), // set user:1 ?
    request.run("request 2", () => redis.get("user:1")),
    request.run("request 3", () => redis.multi().incr("n").expire("n", 60).exec()),
  ]);
  await request.run("request 4", () => redis.call("hget", "user:1", "name")).catch(() => {});
  await redis.quit();
}

main();
