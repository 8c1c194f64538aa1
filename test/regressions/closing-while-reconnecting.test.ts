/** Closing between two attempts: the client ends and nothing hangs. */

import { expect } from "chai";
import { Redis } from "../../src/index";

for (const [how, close] of [
  ["disconnect()", (redis: Redis) => redis.disconnect()],
  ["quit()", (redis: Redis) => void redis.quit()],
] as const) {
  it(`${how} while waiting to reconnect ends, and what is queued rejects`, async () => {
    const redis = new Redis({ port: 1, host: "127.0.0.1", retryStrategy: () => 60_000 });
    redis.on("error", () => {});
    await new Promise((resolve) => redis.once("reconnecting", resolve));
    const ended = new Promise((resolve) => redis.once("end", resolve));
    const queued = how === "quit()" ? null : redis.get("a").catch((error: Error) => error.message);
    close(redis);
    await ended;
    expect(redis.status).to.equal("end");
    if (queued !== null) expect(await queued).to.equal("Connection is closed.");
    const late = await redis.get("b").catch((error: Error) => error.message);
    expect(late).to.equal("Connection is closed.");
  });
}
