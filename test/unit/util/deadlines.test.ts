import { expect } from "chai";
import { type SinonFakeTimers, useFakeTimers } from "sinon";
import { type Deadline, Deadlines, type Expiring } from "../../../src/util/deadlines";

describe("deadlines", () => {
  let clock: SinonFakeTimers;
  let deadlines: Deadlines;
  beforeEach(() => {
    clock = useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    deadlines = new Deadlines({
      clockMs: () => performance.now(),
      startTimer: (work, delayMs) => setTimeout(work, delayMs),
      stopTimer: (timer) => clearTimeout(timer),
    });
  });
  afterEach(() => {
    clock.restore();
  });

  class Target implements Expiring {
    expiredAtMs: number[] = [];
    deadline: Deadline | null = null;

    constructor(delayMs: number) {
      this.deadline = deadlines.schedule(this, delayMs);
    }

    onExpired(): void {
      this.expiredAtMs.push(performance.now());
    }
  }

  it("expires each target once, never early and at most 10 ms late", () => {
    const delays = [0, 1, 9, 10, 11, 55, 99.5, 100, 1234];
    const startMs = performance.now();
    const targets = delays.map((delay) => new Target(delay));
    clock.tick(2000);
    targets.forEach((target, i) => {
      expect(target.expiredAtMs).to.have.length(1);
      const late = (target.expiredAtMs[0] as number) - startMs - (delays[i] as number);
      expect(late).to.be.at.least(0);
      expect(late).to.be.at.most(10);
    });
  });

  it("keeps nothing of long limits that were cancelled", () => {
    const { ticks } = deadlines as unknown as { ticks: Map<number, unknown> };
    const waiting = deadlines.schedule({ onExpired() {} }, 3_600_000);
    for (let i = 0; i < 1000; i++) {
      const own = [1_000_000, 2_000_000, 3_600_000].map((ms) => deadlines.schedule({ onExpired() {} }, ms));
      clock.tick(9);
      for (const deadline of own) deadlines.cancel(deadline);
    }
    expect(ticks.size).to.be.at.most(4);
    deadlines.cancel(waiting);
    expect(ticks.size).to.equal(0);
  });

  it("never calls a cancelled target, and cancelling twice or late is harmless", () => {
    const targets = Array.from({ length: 10 }, () => new Target(50));
    for (const [i, target] of targets.entries()) {
      if (i % 2 === 0) deadlines.cancel(target.deadline as Deadline);
    }
    deadlines.cancel(targets[0]?.deadline as Deadline);
    clock.tick(100);
    deadlines.cancel(targets[1]?.deadline as Deadline);
    expect(targets.map((target) => target.expiredAtMs.length)).to.deep.equal([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
  });

  it("visits only what waits after a long pause of the process", () => {
    let nowMs = 0;
    let due = (): void => {};
    const paused = new Deadlines({
      clockMs: () => nowMs,
      startTimer: (work) => {
        due = work;
        return undefined as unknown as NodeJS.Timeout;
      },
      stopTimer: () => {},
    });
    const expired: string[] = [];
    paused.schedule({ onExpired: () => void expired.push("soon") }, 50);
    paused.schedule({ onExpired: () => void expired.push("later") }, 1e15);
    nowMs = 1e14;
    due();
    expect(expired).to.deep.equal(["soon"]);
  });

  it("ticks only while something waits", () => {
    expect(clock.countTimers()).to.equal(0);
    const first = new Target(1000);
    const second = new Target(30);
    expect(clock.countTimers()).to.equal(1);
    clock.tick(50);
    expect(second.expiredAtMs).to.have.length(1);
    deadlines.cancel(first.deadline as Deadline);
    expect(clock.countTimers()).to.equal(0);
  });

  it("lets a target cancel another one and schedule itself anew while it expires", () => {
    const victim = new Target(20);
    const actor: Expiring & { calls: number } = {
      calls: 0,
      onExpired() {
        if (++this.calls === 1) {
          deadlines.cancel(victim.deadline as Deadline);
          deadlines.schedule(this, 20);
        }
      },
    };
    deadlines.schedule(actor, 10);
    clock.tick(100);
    expect(victim.expiredAtMs).to.deep.equal([]);
    expect(actor.calls).to.equal(2);
  });

  it("catches up after the process was stopped for long", () => {
    const targets = [new Target(20), new Target(40), new Target(60_000)];
    clock.setSystemTime(0);
    clock.tick(30_000);
    expect(targets.map((target) => target.expiredAtMs.length)).to.deep.equal([1, 1, 0]);
    clock.tick(31_000);
    expect(targets[2]?.expiredAtMs).to.have.length(1);
  });

  it("catches up at once when the clock has advanced by years", () => {
    const nowMs = { value: 0 };
    let work = (): void => {};
    const own = new Deadlines({
      clockMs: () => nowMs.value,
      startTimer: (next, delayMs) => {
        work = next;
        return setTimeout(next, delayMs);
      },
      stopTimer: (timer) => clearTimeout(timer),
    });
    const expired: string[] = [];
    own.schedule({ onExpired: () => expired.push("soon") }, 20);
    own.schedule({ onExpired: () => expired.push("never") }, 1e15);
    nowMs.value = 1e13;
    work();
    expect(expired).to.deep.equal(["soon"]);
  });
});
