/**
 * `commandTimeout` is no limit for the time that a command asks the server to block. What a
 * blocking command states itself counts, and a grace; `with({ timeout })` is meant as it is said.
 */

import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

/** Each of them blocks for 200 ms where nothing comes. */
const calls: Record<string, [(redis: Redis) => Promise<unknown>, unknown]> = {
  BLPOP: [(redis) => redis.blpop("none", 0.2), null],
  BZMPOP: [(redis) => redis.bzmpop(0.2, 1, "none", "MIN"), null],
  BLMOVE: [(redis) => redis.blmove("none", "to", "LEFT", "RIGHT", 0.2), null],
  "XREAD BLOCK": [(redis) => redis.xread("BLOCK", 200, "STREAMS", "none", "$"), null],
  WAIT: [(redis) => redis.wait(1, 200), 0],
  "BLPOP by call()": [(redis) => redis.call("BLPOP", "none", "0.2"), null],
  "BLPOP in a pipeline": [(redis) => redis.pipeline().blpop("none", 0.2).exec(), [[null, null]]],
};

describe("commandTimeout and blocking calls", () => {
  const fixture = new ServerFixture().install();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  async function connect(options: RedisOptions = {}): Promise<Redis> {
    const redis = fixture.connectDirectly({ commandTimeout: 60, ...options });
    await untilReady(redis);
    return redis;
  }

  for (const [name, [call, answer]] of Object.entries(calls)) {
    for (const blockingConnections of [0, 1]) {
      it(`${name}, ${blockingConnections === 0 ? "shared" : "leased"} connection`, async () => {
        // A reply on a busy machine is later than the default grace.
        const redis = await connect({ blockingConnections, blockingTimeoutGrace: 2000 });
        expect(await call(redis)).to.deep.equal(answer);
      });
    }
  }

  it("a call that may block for ever gets what comes late", async () => {
    const redis = await connect();
    const taken = redis.blpop("late", 0);
    await pause(200);
    await fixture.control.rpush("late", "x");
    expect(await taken).to.deep.equal(["late", "x"]);
  });

  it("with({ timeout }) holds for blocking calls", async () => {
    const redis = await connect({ commandTimeout: undefined });
    expect(await codeOf(redis.with({ timeout: 50 }).blpop("none", 0.2))).to.equal("COMMAND_TIMEOUT");
    expect(await codeOf(redis.with({ timeout: 50 }).blpop("none", 0))).to.equal("COMMAND_TIMEOUT");
  });

  it("it holds in the queue, and for commands that do not block", async () => {
    const offline = fixture.connectDirectly({ port: 1, commandTimeout: 40, retryStrategy: () => 1000 });
    expect(await codeOf(offline.blpop("none", 0))).to.equal("COMMAND_TIMEOUT");
    const fake = await FakeServer.start(([name]) => (name === "xread" ? NO_REPLY : undefined));
    try {
      const graceMs = 5000;
      const redis = await connect({ host: fake.host, port: fake.port, blockingTimeoutGrace: graceMs });
      const startMs = performance.now();
      expect(await codeOf(redis.xread("STREAMS", "none", "0"))).to.equal("COMMAND_TIMEOUT");
      expect(performance.now() - startMs).to.be.below(graceMs);
    } finally {
      await fake.stop();
    }
  });

  it("a server that keeps a blocking call for longer than it asked for is not waited for", async () => {
    const fake = await FakeServer.start(([name]) => (name === "blpop" ? NO_REPLY : undefined));
    try {
      const redis = await connect({
        host: fake.host,
        port: fake.port,
        commandTimeout: 20,
        blockingTimeoutGrace: 60,
      });
      const startMs = performance.now();
      expect(await codeOf(redis.blpop("none", 0.1))).to.equal("COMMAND_TIMEOUT");
      expect(performance.now() - startMs).to.be.at.least(155);
    } finally {
      await fake.stop();
    }
  });
});
