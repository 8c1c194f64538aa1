/**
 * Bounds admit, hold and refuse the commands of a transaction opened by hand one by one: what
 * happens to one of them between MULTI and EXEC must not let another one run outside of it, nor
 * leave it open.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

describe("transactions opened by hand at the bounds", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;

  function connect(options: RedisOptions): void {
    redis = fixture.connect(options);
  }

  function codesOf(calls: readonly Promise<unknown>[]): Promise<string[]> {
    return Promise.all(calls.map(codeOf));
  }

  async function expectNothingRan(): Promise<void> {
    await untilReady(redis);
    expect(await redis.echo("outside")).to.equal("outside");
    expect(await redis.get("bounds:n")).to.equal(null);
    expect(await redis.multi().incr("bounds:n").exec()).to.deep.equal([[null, 1]]);
  }

  for (const ending of ["exec", "discard"] as const) {
    it(`what waits when the line is lost does not run outside, ${ending}`, async () => {
      connect({ bounds: { maxCommands: 1 } });
      await untilReady(redis);
      await redis.multi({ pipeline: false });
      fixture.proxy.stall("toClient");
      const calls = codesOf([redis.incr("bounds:n"), redis.incr("bounds:n"), redis[ending]()]);
      await sleep(5);
      fixture.proxy.cutAll();
      fixture.proxy.heal();
      expect(await calls).to.deep.equal(["OUTCOME_UNKNOWN", "ABORTED", "ABORTED"]);
      await expectNothingRan();
    });
  }

  it("what is admitted while its MULTI fails does not run outside", async () => {
    fixture.proxy.refuse();
    connect({ maxRetriesPerRequest: 0, bounds: { maxCommands: 2 } });
    const calls = codesOf([
      redis.echo("before"),
      redis.multi({ pipeline: false }),
      redis.incr("bounds:n"),
      redis.exec(),
    ]);
    redis.once("reconnecting", () => fixture.proxy.heal());
    expect(await calls).to.deep.equal(["MAX_RETRIES", "MAX_RETRIES", "ABORTED", "ABORTED"]);
    await expectNothingRan();
  });

  it("what waits behind a MULTI that fails without an EXEC does not run outside", async () => {
    fixture.proxy.refuse();
    connect({ maxRetriesPerRequest: 0, bounds: { maxCommands: 1 } });
    const calls = codesOf([redis.multi({ pipeline: false }), redis.incr("bounds:n")]);
    expect(await calls).to.deep.equal(["MAX_RETRIES", "ABORTED"]);
    fixture.proxy.heal();
    await expectNothingRan();
  });

  for (const part of ["member", "exec"] as const) {
    it(`a MULTI that goes again is over when no queue took its ${part}`, async () => {
      connect({ enableOfflineQueue: false });
      await untilReady(redis);
      fixture.proxy.stall("toServer");
      const opened = codesOf([redis.multi({ pipeline: false })]);
      await sleep(5);
      fixture.proxy.refuse();
      fixture.proxy.cutAll();
      await new Promise((resolve) => redis.once("close", resolve));
      const refused = codesOf([part === "exec" ? redis.exec() : redis.incr("bounds:n")]);
      fixture.proxy.heal();
      expect(await refused).to.deep.equal(["OFFLINE_QUEUE_DISABLED"]);
      expect(await opened).to.deep.equal(["ABORTED"]);
      await expectNothingRan();
    });
  }

  const REFUSED = "BOUNDS_EXCEEDED";

  /** Three members of which the last is one too many, and EXEC. */
  function issueMembers(): Promise<unknown>[] {
    return [redis.incr("bounds:n"), redis.incr("bounds:n"), redis.incr("bounds:n"), redis.exec()];
  }

  for (const isAwaited of [false, true]) {
    it(`bounds that refuse a member refuse the transaction, MULTI ${isAwaited ? "written" : "waiting"}`, async () => {
      connect({ bounds: { maxCommands: 2, policy: "reject" }, flushPolicy: "turn" });
      await untilReady(redis);
      const opened = redis.multi({ pipeline: false });
      if (isAwaited) await opened;
      else opened.catch(() => {});
      expect(await codesOf(issueMembers())).to.deep.equal([
        "ABORTED",
        isAwaited ? "ABORTED" : REFUSED,
        REFUSED,
        "ABORTED",
      ]);
      await expectNothingRan();
    });
  }

  it("bounds that refuse a member refuse the transaction, members written", async () => {
    connect({ bounds: { maxCommands: 2, policy: "reject" } });
    await untilReady(redis);
    await redis.multi({ pipeline: false });
    const [first, second, ...rest] = await codesOf(issueMembers());
    // The first left at once, and the server has queued it; the second did so if the run took long.
    expect(first).to.equal("fulfilled");
    expect(second).to.be.oneOf(["fulfilled", "ABORTED"]);
    expect(rest).to.deep.equal([REFUSED, "ABORTED"]);
    await expectNothingRan();
  });

  it("bounds that are full take what ends a transaction, and refuse it behind a refused MULTI", async () => {
    connect({ bounds: { maxCommands: 2, policy: "reject" } });
    await untilReady(redis);
    const whole = [redis.multi({ pipeline: false }), redis.set("bounds:a", 1), redis.exec()];
    expect(await codesOf(whole)).to.deep.equal(["fulfilled", "fulfilled", "fulfilled"]);
    expect(await redis.get("bounds:a")).to.equal("1");
    const refused = [
      redis.echo("a"),
      redis.echo("b"),
      redis.multi({ pipeline: false }),
      redis.incr("bounds:n"),
      redis.exec(),
    ];
    expect((await codesOf(refused)).slice(2)).to.deep.equal(Array(3).fill("BOUNDS_EXCEEDED"));
    await expectNothingRan();
  });

  it("what waits behind a MULTI that no queue took does not run outside", async () => {
    connect({ bounds: { maxBytes: 1800 }, enableOfflineQueue: false });
    await untilReady(redis);
    fixture.proxy.stall("toServer");
    const before = redis.echo("x".repeat(90));
    await sleep(5);
    fixture.proxy.refuse();
    fixture.proxy.cutAll();
    await new Promise((resolve) => redis.once("close", resolve));
    const calls = codesOf([redis.multi({ pipeline: false }), redis.incrby("bounds:n", 1000), redis.exec()]);
    fixture.proxy.heal();
    expect(await calls).to.deep.equal(["OFFLINE_QUEUE_DISABLED", "ABORTED", "ABORTED"]);
    expect(await before).to.equal("x".repeat(90));
    await expectNothingRan();
  });

  it("a MULTI that was given up among thousands that wait is not forgotten", async () => {
    connect({ bounds: { maxCommands: 1 } });
    await untilReady(redis);
    fixture.proxy.stall("toClient");
    const before = Promise.all([redis.echo("a"), redis.echo("b")]);
    const givenUp = codesOf([redis.with({ timeout: 5 }).multi({ pipeline: false })]);
    const calls = codesOf([redis.echo("before MULTI is given up"), redis.incr("bounds:n"), redis.exec()]);
    expect(await givenUp).to.deep.equal(["COMMAND_TIMEOUT"]);
    const others = Array.from({ length: 5000 }, () => redis.echo("other"));
    fixture.proxy.heal();
    expect(await before).to.deep.equal(["a", "b"]);
    expect(await calls).to.deep.equal(["ABORTED", "ABORTED", "ABORTED"]);
    expect(new Set(await Promise.all(others))).to.deep.equal(new Set(["other"]));
    await expectNothingRan();
  });

  it("what was given up at the front does not hold up what fits", async () => {
    connect({ bounds: { maxBytes: 2000 }, blockingConnections: 1 });
    await untilReady(redis);
    const blocking = redis.blpop("bounds:nothing", 0);
    const large = codesOf([redis.with({ timeout: 10 }).set("bounds:large", "x".repeat(2000))]);
    const small = redis.echo("small");
    const told = await Promise.race([small, sleep(2000).then(() => "held up")]);
    expect([told, ...(await large)]).to.deep.equal(["small", "COMMAND_TIMEOUT"]);
    await fixture.server.command("RPUSH", "bounds:nothing", "x");
    expect(await blocking).to.deep.equal(["bounds:nothing", "x"]);
  });
});
