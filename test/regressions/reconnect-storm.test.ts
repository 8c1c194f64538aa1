/**
 * A server that ends each connection soon after it is ready is dialled less and less often, as if
 * the attempts had failed; a connection that has lived counts as a success.
 */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY, status } from "../support/fake-server";
import { closeClient } from "../support/matrix";
import { codeOf } from "../support/outcome";

describe("connections that are lost soon after they are ready", () => {
  let fake: FakeServer;
  let redis: Redis;
  let told: number[];
  let livesMs: (connection: number) => number;

  beforeEach(async () => {
    told = [];
    fake = await FakeServer.start((words, { socket, number }) => {
      if (words[0] === "set") return status("OK");
      if (words[0] !== "info") return words[0] === "get" ? NO_REPLY : undefined;
      setTimeout(() => socket.destroy(), livesMs(number)).unref();
      return "redis_version:7.0.0\r\nloading:0\r\n";
    });
  });
  afterEach(async () => {
    await closeClient(redis);
    await fake.stop();
  });

  function connect(delay: (times: number) => number): void {
    redis = new Redis({
      host: fake.host,
      port: fake.port,
      retryStrategy: (times) => {
        told.push(times);
        return delay(times);
      },
    });
    redis.on("error", () => {});
  }

  async function untilTold(count: number): Promise<void> {
    while (told.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  it("the delay grows", async () => {
    livesMs = () => 0;
    connect((times) => times * 50);
    const startedAt = performance.now();
    await untilTold(4);
    expect(told).to.deep.equal([1, 2, 3, 4]);
    expect(performance.now() - startedAt).to.be.above(50 + 100 + 150);
  });

  it("a connection that lived for 50 ms begins anew, even if the delay before it was longer", async () => {
    livesMs = (number) => (number === 4 ? 200 : 0);
    connect((times) => times * 100);
    await untilTold(5);
    expect(told).to.deep.equal([1, 2, 3, 1, 2]);
  });

  it("a reconnect that was asked for does not count", async () => {
    livesMs = () => 1000;
    connect((times) => times * 20);
    for (let round = 1; round <= 4; round++) {
      await new Promise((resolve) => redis.once("ready", resolve));
      redis.disconnect(true);
    }
    await untilTold(4);
    expect(told).to.deep.equal([1, 1, 1, 1]);
  });

  it("the attempts of maxRetriesPerRequest are those since the last ready", async () => {
    // Long enough for the handshake on a busy machine.
    livesMs = () => 100;
    connect(() => 1);
    redis.options.maxRetriesPerRequest = 1;
    await untilTold(6);
    expect(await codeOf(redis.set("a", 1))).to.equal("fulfilled");
  });
});
