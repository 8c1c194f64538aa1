/** A line that breaks before the renewed subscription is confirmed must not end the subscription. */

import { once } from "node:events";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient } from "../support/matrix";

const CASES: Record<string, RedisOptions> = {
  "at-most-once": { retryPolicy: "at-most-once" },
  "reads-only": { retryPolicy: "reads-only" },
  "at-least-once": { retryPolicy: "at-least-once" },
  "no resending": { autoResendUnfulfilledCommands: false },
  "no retries": { maxRetriesPerRequest: 0 },
};
/** More than one command may be lost before it is given up. */
const LOSSES = 5;

for (const [name, options] of Object.entries(CASES)) {
  it(`subscriptions outlive a loss while they are restored, ${name}`, async () => {
    const fake = await FakeServer.start((words, { number, socket }) => {
      if (words[0] !== "subscribe") return undefined;
      if (number === 1 || number > 1 + LOSSES) return ["subscribe", words[1] ?? "", 1];
      socket.destroy();
      return NO_REPLY;
    });
    const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 1, ...options });
    redis.on("error", () => {});
    try {
      await redis.subscribe("news");
      fake.dropConnections();
      const asked = (): string[][] => fake.received.filter(([word]) => word === "subscribe");
      await waitUntil(async () => asked().length >= 2 + LOSSES && redis.status === "ready", {
        timeoutMs: 2000,
        what: "the last subscription",
      });
      const heard = once(redis, "message", { signal: AbortSignal.timeout(1000) });
      fake.broadcast(["message", "news", "still here"]);
      expect(await heard).to.deep.equal(["news", "still here"]);
      // Restored once for each connection, not once more for each that was lost.
      expect(asked()).to.have.length(2 + LOSSES);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  }).timeout(5000);
}
