/**
 * A transaction that was written in part when its rest was given up does not run: the caller was
 * told that EXEC, or a member, had not been sent.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { errorOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

describe("a transaction of which a part was written", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(async () => {
    redis = fixture.connect({ watchdog: false });
    await untilReady(redis);
  });

  /** Opens a transaction and stops the line until nothing more can be written. */
  async function openAndStall(): Promise<Promise<unknown>[]> {
    await redis.multi({ pipeline: false });
    expect(await redis.incr("part:n")).to.equal("QUEUED");
    fixture.proxy.stall("toServer");
    const fillers = Array.from({ length: 32 }, () => redis.set("part:big", "x".repeat(1 << 20)));
    while (redis.stream?.writableNeedDrain !== true) await new Promise((resolve) => setImmediate(resolve));
    return fillers;
  }

  it("does not run when its EXEC was given up before it was written", async () => {
    const fillers = await openAndStall();
    const failure = await errorOf(redis.with({ timeout: 20 }).exec());
    expect(failure?.code).to.equal("COMMAND_TIMEOUT");
    expect(failure?.details).to.include({ phase: "queued", mayHaveRun: false });
    fixture.proxy.heal();
    await Promise.allSettled(fillers);
    expect(await redis.echo("outside")).to.equal("outside");
    expect(await redis.get("part:n")).to.equal(null);
  });

  it("does not run when a member was given up before it was written", async () => {
    const fillers = await openAndStall();
    const failure = await errorOf(redis.with({ timeout: 20 }).incr("part:other"));
    expect(failure?.details).to.include({ phase: "queued", mayHaveRun: false });
    const exec = errorOf(redis.exec());
    fixture.proxy.heal();
    await Promise.allSettled(fillers);
    expect((await exec)?.code).to.equal("ABORTED");
    expect(await redis.echo("outside")).to.equal("outside");
    expect(await redis.mget("part:n", "part:other")).to.deep.equal([null, null]);
  });

  describe("whose rest was gathered for an automatic batch", () => {
    async function openGathering(): Promise<void> {
      // Commands of one turn are written at its end: none of them is written when its call is given up.
      redis = fixture.connect({
        watchdog: false,
        enableAutoPipelining: { maxInFlight: 1 },
        flushPolicy: "turn",
      });
      await untilReady(redis);
      expect(await redis.multi({ pipeline: false })).to.equal("OK");
    }

    async function expectNothingRan(): Promise<void> {
      expect(await redis.echo("outside")).to.equal("outside");
      expect(await redis.mget("part:n", "part:other")).to.deep.equal([null, null]);
    }

    it("does not run when a member was aborted in the same turn", async () => {
      await openGathering();
      const abort = new AbortController();
      const member = redis.incr("part:n");
      const givenUp = errorOf(redis.with({ signal: abort.signal }).incr("part:other"));
      abort.abort();
      const exec = errorOf(redis.exec());
      expect((await givenUp)?.details).to.include({ phase: "queued", mayHaveRun: false });
      expect([await member, (await exec)?.code]).to.deep.equal(["QUEUED", "ABORTED"]);
      await expectNothingRan();
    });

    it("does not run when the time of a member was over behind an unanswered batch", async () => {
      await openGathering();
      fixture.proxy.stall("toClient");
      const first = redis.incr("part:n");
      await new Promise((resolve) => setImmediate(resolve));
      const givenUp = await errorOf(redis.with({ timeout: 20 }).incr("part:other"));
      expect(givenUp?.details).to.include({ phase: "queued", mayHaveRun: false });
      const exec = errorOf(redis.exec());
      fixture.proxy.heal();
      expect([await first, (await exec)?.code]).to.deep.equal(["QUEUED", "ABORTED"]);
      await expectNothingRan();
    });
  });
});
