/**
 * A command that was written to a line that is lost, and then waits for another try, may have
 * run: whatever ends it in the end must not say that it did not.
 */

import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis, ReplyError } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient } from "../support/matrix";

type Failure = Error & { code?: string };

/** Writes INCR, loses the line, and lets `end` decide what becomes of the command that waits. */
async function failureAfterLoss(
  options: RedisOptions,
  end: (redis: Redis, fake: FakeServer) => unknown,
): Promise<Failure> {
  const fake = await FakeServer.start((words) => (words[0] === "incr" ? NO_REPLY : undefined));
  const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 30, ...options });
  redis.on("error", () => {});
  try {
    await redis.ping();
    const failure = redis.incr("n").then(
      () => new Error("it was answered"),
      (error: Failure) => error,
    );
    while (!fake.received.some(([word]) => word === "incr")) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const lost = new Promise((resolve) => redis.once("close", resolve));
    fake.dropConnections();
    await lost;
    await end(redis, fake);
    return await failure;
  } finally {
    await closeClient(redis);
    await fake.stop();
  }
}

describe("a command that was written before", () => {
  it("disconnect() while it waits for another try", async () => {
    const failure = await failureAfterLoss({}, (redis) => redis.disconnect());
    expect(failure.message).to.equal("Connection is closed.");
    expect(failure.code).to.equal("OUTCOME_UNKNOWN");
  });

  it("the client gives up", async () => {
    const failure = await failureAfterLoss({ retryStrategy: () => null }, () => {});
    expect(failure.message).to.equal("Connection is closed.");
    expect(failure.code).to.equal("OUTCOME_UNKNOWN");
  });

  it("the next connection is refused", async () => {
    const failure = await failureAfterLoss({ password: "old" }, (_redis, fake) => {
      const { handler } = fake;
      fake.handler = (words, connection) =>
        words[0] === "auth" ? new Error("WRONGPASS invalid password") : handler(words, connection);
    });
    expect(failure).to.be.an.instanceOf(ReplyError);
    expect(failure.message).to.equal("WRONGPASS invalid password");
    expect(failure.code).to.equal("OUTCOME_UNKNOWN");
  });

  it("the limit of retries", async () => {
    const failure = await failureAfterLoss({ maxRetriesPerRequest: 1 }, (_redis, fake) => fake.stop());
    expect(failure.name).to.equal("MaxRetriesPerRequestError");
    expect(failure.message).to.match(/^Reached the max retries per request limit \(which is 1\)/);
    expect(failure.code).to.equal("OUTCOME_UNKNOWN");
  });

  it("a time limit does not claim that it was not sent", async () => {
    const fake = await FakeServer.start((words) => (words[0] === "incr" ? NO_REPLY : undefined));
    const redis = new Redis({ host: fake.host, port: fake.port, retryStrategy: () => 60_000 });
    redis.on("error", () => {});
    try {
      await redis.ping();
      const failure = redis
        .with({ timeout: 100 })
        .incr("n")
        .catch((error: Failure) => error);
      while (!fake.received.some(([word]) => word === "incr")) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      fake.dropConnections();
      const { code, message } = (await failure) as Failure;
      expect(code).to.equal("COMMAND_TIMEOUT");
      expect(message).to.include("It was written to an earlier connection, which was lost. It may have run");
      expect(message).not.to.include("it was not sent");
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });

  it("what was never written still says so", async () => {
    const redis = new Redis({ port: 1, lazyConnect: true, retryStrategy: () => 60_000 });
    redis.on("error", () => {});
    const failure = redis.incr("n").catch((error: Failure) => error);
    await new Promise((resolve) => redis.once("reconnecting", resolve));
    redis.disconnect();
    expect(((await failure) as Failure).code).to.equal("CONNECTION_CLOSED");
  });
});
