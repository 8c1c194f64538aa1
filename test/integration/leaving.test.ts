/** `quit({ timeout })`: drains, closes in any case, and reports what was left. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, matrix, untilReady } from "../support/matrix";

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "fulfilled",
    (error: { code: string }) => error.code,
  );

describe("quit({ timeout })", () => {
  matrix("drains what was issued before", {}, async ({ redis }) => {
    const work = Promise.all([redis.set("a", "1"), redis.blpop("none", 0.05), redis.get("a")]);
    expect(await redis.quit({ timeout: 2000 })).to.deep.equal({ isDrained: true, unanswered: 0, unsent: 0 });
    expect(await work).to.deep.equal(["OK", null, "1"]);
  });

  describe("with something left", () => {
    let fake: FakeServer;
    before(async () => {
      fake = await FakeServer.start((words) =>
        words[0] === "x" || words[0] === "quit" ? NO_REPLY : undefined,
      );
    });
    after(() => fake.stop());

    it("counts what was written and unanswered", async () => {
      const redis = new Redis({ port: fake.port, host: fake.host });
      await untilReady(redis);
      const work = [codeOf(redis.call("x")), codeOf(redis.call("x"))];
      const ended = new Promise((resolve) => redis.once("end", resolve));
      const report = await redis.quit({ timeout: 40 });
      expect(report).to.deep.equal({ isDrained: false, unanswered: 2, unsent: 0 });
      expect(await Promise.all(work)).to.deep.equal(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
      await ended;
    });

    it("counts what waits behind bounds, which goes out before", async () => {
      const redis = new Redis({ port: fake.port, host: fake.host, bounds: { maxCommands: 2 } });
      await untilReady(redis);
      const work = Array.from({ length: 5 }, () => codeOf(redis.call("x")));
      const ended = new Promise((resolve) => redis.once("end", resolve));
      const report = await redis.quit({ timeout: 40 });
      expect(report).to.deep.equal({ isDrained: false, unanswered: 5, unsent: 0 });
      expect(new Set(await Promise.all(work))).to.deep.equal(new Set(["OUTCOME_UNKNOWN"]));
      await ended;
    });

    it("counts what was never sent, and has a callback form", async () => {
      const redis = new Redis({ port: 1, host: "127.0.0.1", retryStrategy: () => 1000 });
      redis.on("error", () => {});
      const work = [codeOf(redis.get("a")), codeOf(redis.get("b"))];
      const heard = await new Promise((resolve) => {
        void redis.quit({ timeout: 20 }, (error, report) => resolve([error, report]));
      });
      expect(heard).to.deep.equal([null, { isDrained: false, unanswered: 0, unsent: 2 }]);
      expect(await Promise.all(work)).to.deep.equal(["CONNECTION_CLOSED", "CONNECTION_CLOSED"]);
      await closeClient(redis);
    });

    it("counts no command whose caller has given up", async () => {
      const redis = new Redis({ port: 1, host: "127.0.0.1", retryStrategy: () => 1000 });
      redis.on("error", () => {});
      const work = [codeOf(redis.with({ timeout: 5 }).get("a")), codeOf(redis.get("b"))];
      expect(await work[0]).to.equal("COMMAND_TIMEOUT");
      expect(await redis.quit({ timeout: 5 })).to.deep.equal({ isDrained: false, unanswered: 0, unsent: 1 });
      expect(await work[1]).to.equal("CONNECTION_CLOSED");
      await closeClient(redis);
    });
  });
});
