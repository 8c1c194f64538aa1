/** When the next attempt is made, what the retry strategy is told, and who is told how an attempt went. In virtual time. */

import { expect } from "chai";
import type { LinkOptions } from "../../../src/link/link-options";
import type { Reconnection } from "../../../src/link/reconnection";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

describe("Reconnection", () => {
  let home: InVirtualTime<typeof import("../../../src/link/reconnection")>;
  let told: number[];

  before(() => {
    home = inVirtualTime(() => require("../../../src/link/reconnection"));
  });

  beforeEach(() => {
    told = [];
  });

  function reconnection(options: LinkOptions = {}): Reconnection {
    const retryStrategy = (times: number): number => {
      told.push(times);
      return times * 10;
    };
    return new home.modules.Reconnection(
      { retryStrategy, ...options },
      {} as never,
      { credentials: () => ({}) } as never,
    );
  }

  it("takes from the strategy a number of milliseconds that a timer can hold, and all else for the end", () => {
    const { retryDelay } = home.modules;
    expect(retryDelay((times) => times * 3, 2)).to.equal(6);
    expect(retryDelay(() => 0, 1)).to.equal(0);
    expect(retryDelay(() => 2 ** 40, 1)).to.equal(2 ** 31 - 1);
    for (const other of [null, undefined, "10", false])
      expect(
        retryDelay(() => other, 1),
        String(other),
      ).to.equal(null);
    for (const none of [null, undefined]) expect(retryDelay(none, 1)).to.equal(null);
  });

  it("tells the strategy how often it was tried, and begins anew after a connection that lasted", () => {
    const one = reconnection();
    expect([one.plan().delayMs, one.plan().delayMs, one.plan().delayMs]).to.deep.equal([10, 20, 30]);
    const readyAtMs = home.time.nowMs;
    home.time.nowMs += 49;
    one.judgeLife(readyAtMs);
    expect(one.plan().delayMs, "it lived for less than 50 ms").to.equal(40);
    home.time.nowMs += 50;
    one.judgeLife(home.time.nowMs - 50);
    expect(one.plan().delayMs, "it lived for 50 ms").to.equal(10);
    expect(told).to.deep.equal([1, 2, 3, 4, 1]);
  });

  it("begins anew after regular losses, however long the delays have grown", () => {
    const one = reconnection({ retryStrategy: (times) => times * 1000 });
    for (const delayMs of [1000, 2000, 3000]) expect(one.plan().delayMs).to.equal(delayMs);
    home.time.nowMs += 100;
    one.judgeLife(home.time.nowMs - 100);
    expect(one.plan().delayMs).to.equal(1000);
  });

  it("leaves the first pause out when a connection was lost that had lived for seconds", () => {
    const one = reconnection();
    const readyAtMs = home.time.nowMs;
    home.time.nowMs += 10_000;
    one.judgeLife(readyAtMs);
    expect([one.plan().delayMs, one.plan().delayMs, one.plan().delayMs]).to.deep.equal([0, 20, 30]);
    expect(told).to.deep.equal([1, 2, 3]);
    one.judgeLife(home.time.nowMs);
    expect(one.plan().delayMs, "the next one lived for no time").to.equal(40);
  });

  it("asks the strategy even then: it may want no other connection", () => {
    const one = reconnection({ retryStrategy: () => null });
    const readyAtMs = home.time.nowMs;
    home.time.nowMs += 10_000;
    one.judgeLife(readyAtMs);
    expect(one.plan().delayMs).to.equal(null);
  });

  it("keeps the pause of a connection that is left on purpose", () => {
    const one = reconnection();
    const readyAtMs = home.time.nowMs;
    home.time.nowMs += 10_000;
    one.isMovingOn = true;
    one.judgeLife(readyAtMs);
    expect(one.plan().delayMs).to.equal(10);
  });

  it("does not judge a connection that was never ready", () => {
    const one = reconnection();
    one.plan();
    one.judgeLife(0);
    expect(one.plan().delayMs).to.equal(20);
  });

  it("counts a connection that is left on purpose as a good one, however short it was", () => {
    const one = reconnection();
    one.plan();
    one.isMovingOn = true;
    one.judgeLife(home.time.nowMs);
    expect(one.plan().delayMs).to.equal(10);
    one.stop();
    expect(one.isMovingOn, "the next one is not").to.equal(false);
  });

  it("forgets all attempts when nothing is planned any more", () => {
    const one = reconnection();
    one.plan();
    one.plan();
    one.reset();
    expect(one.attempts).to.equal(0);
    expect(one.plan().delayMs).to.equal(10);
  });

  it("says that requests have had their tries, at each multiple of the limit and one", () => {
    const one = reconnection({ maxRetriesPerRequest: 2 });
    expect([1, 2, 3, 4, 5, 6].map(() => one.plan().exhausted)).to.deep.equal([null, null, 2, null, null, 2]);
    const never = reconnection({ maxRetriesPerRequest: 0 });
    expect([never.plan().exhausted, never.plan().exhausted]).to.deep.equal([0, 0]);
    for (const maxRetriesPerRequest of [null, undefined, -1]) {
      const none = reconnection({ maxRetriesPerRequest });
      expect([none.plan().exhausted, none.plan().exhausted]).to.deep.equal([null, null]);
    }
  });

  it("counts the tries of requests from the last time it was ready on", () => {
    const one = reconnection({ maxRetriesPerRequest: 1 });
    expect(one.plan().exhausted).to.equal(null);
    one.succeed();
    expect([one.plan().exhausted, one.plan().exhausted]).to.deep.equal([null, 1]);
  });

  it("says nothing about requests when the strategy gives up", () => {
    const one = reconnection({ maxRetriesPerRequest: 0, retryStrategy: null });
    expect(one.plan()).to.deep.equal({ delayMs: null, exhausted: null });
  });

  it("calls back when the next attempt is due, and not once it was called off or another has begun", async () => {
    await home.live(async () => {
      const one = reconnection();
      const due: number[] = [];
      const wait = (): void => one.wait(100, () => due.push(home.time.nowMs));
      wait();
      await home.pass(99);
      expect(due).to.deep.equal([]);
      await home.pass(1);
      expect(due.length).to.equal(1);
      wait();
      one.stop();
      await home.pass(200);
      expect(due.length).to.equal(1);
      wait();
      one.stop();
      await home.pass(200);
      expect(due.length).to.equal(1);
      expect(home.time.pending).to.equal(0);
    });
  });

  it("tells all who wait how the attempt went, once, and those of the next attempt nothing", async () => {
    const one = reconnection();
    const heard: string[] = [];
    const ask = (name: string): void =>
      void one.result().then(
        () => heard.push(`${name} ok`),
        (error: Error) => heard.push(`${name} ${error.message}`),
      );
    ask("a");
    ask("b");
    one.fail(() => new Error("refused"));
    ask("c");
    await home.pass(0);
    expect(heard).to.deep.equal(["a refused", "b refused"]);
    one.succeed();
    one.fail(() => new Error("too late"));
    await home.pass(0);
    expect(heard).to.deep.equal(["a refused", "b refused", "c ok"]);
  });

  it("tells success behind the listeners of ready, which run at once", async () => {
    const one = reconnection();
    const heard: string[] = [];
    void one.result().then(() => heard.push("connected"));
    one.succeed();
    process.nextTick(() => heard.push("a tick later"));
    heard.push("ready");
    await home.pass(0);
    expect(heard).to.deep.equal(["ready", "a tick later", "connected"]);
  });
});
