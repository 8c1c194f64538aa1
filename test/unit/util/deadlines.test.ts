import { expect } from "chai";
import type { Deadline, Expiring } from "../../../src/util/deadlines";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type DeadlineModule = typeof import("../../../src/util/deadlines");

describe("deadlines", () => {
  let home: InVirtualTime<DeadlineModule>;
  let deadlines: DeadlineModule["deadlines"];

  before(() => {
    home = inVirtualTime(() => require("../../../src/util/deadlines") as DeadlineModule);
    deadlines = home.modules.deadlines;
  });

  class Target implements Expiring {
    expiredAtMs: number[] = [];
    deadline: Deadline | null = null;

    constructor(delayMs: number) {
      this.deadline = deadlines.schedule(this, delayMs);
    }

    onExpired(): void {
      this.expiredAtMs.push(home.time.nowMs);
    }
  }

  it("expires each target once, never early and at most 10 ms late", () =>
    home.liveAlone(async () => {
      const delays = [0, 1, 9, 10, 11, 55, 99.5, 100, 1234];
      const startMs = home.time.nowMs;
      const targets = delays.map((delay) => new Target(delay));
      await home.pass(2000);
      targets.forEach((target, i) => {
        expect(target.expiredAtMs).to.have.length(1);
        const late = (target.expiredAtMs[0] as number) - startMs - (delays[i] as number);
        expect(late).to.be.at.least(0);
        expect(late).to.be.at.most(10);
      });
    }));

  it("keeps nothing of long limits that were cancelled", () =>
    home.liveAlone(async () => {
      const { ticks } = deadlines as unknown as { ticks: Map<number, unknown> };
      const waiting = deadlines.schedule({ onExpired() {} }, 3_600_000);
      for (let i = 0; i < 1000; i++) {
        const own = [1_000_000, 2_000_000, 3_600_000].map((ms) => deadlines.schedule({ onExpired() {} }, ms));
        await home.pass(9);
        for (const deadline of own) deadlines.cancel(deadline);
      }
      expect(ticks.size).to.be.at.most(4);
      deadlines.cancel(waiting);
      expect(ticks.size).to.equal(0);
    }));

  it("never calls a cancelled target, and cancelling twice or late is harmless", () =>
    home.liveAlone(async () => {
      const targets = Array.from({ length: 10 }, () => new Target(50));
      for (const [i, target] of targets.entries()) {
        if (i % 2 === 0) deadlines.cancel(target.deadline as Deadline);
      }
      deadlines.cancel(targets[0]?.deadline as Deadline);
      await home.pass(100);
      deadlines.cancel(targets[1]?.deadline as Deadline);
      const counts = targets.map((target) => target.expiredAtMs.length);
      expect(counts).to.deep.equal([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    }));

  it("ticks only while something waits", () =>
    home.liveAlone(async () => {
      expect(home.time.pending).to.equal(0);
      const first = new Target(1000);
      const second = new Target(30);
      expect(home.time.pending).to.equal(1);
      await home.pass(50);
      expect(second.expiredAtMs).to.have.length(1);
      deadlines.cancel(first.deadline as Deadline);
      expect(home.time.pending).to.equal(0);
    }));

  it("lets a target cancel another one and schedule itself anew while it expires", () =>
    home.liveAlone(async () => {
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
      await home.pass(100);
      expect(victim.expiredAtMs).to.deep.equal([]);
      expect(actor.calls).to.equal(2);
    }));

  it("catches up after the process was stopped for long, in the order of the limits", () =>
    home.liveAlone(async () => {
      const expired: string[] = [];
      const limits = { late: 40, soon: 20, waiting: 60_000, "in years": 1e15 };
      const all = Object.entries(limits).map(([name, delayMs]) =>
        deadlines.schedule({ onExpired: () => void expired.push(name) }, delayMs),
      );
      home.time.nowMs += 30_000;
      await home.pass(1);
      expect(expired).to.deep.equal(["soon", "late"]);
      home.time.nowMs += 1e13;
      await home.pass(1);
      expect(expired).to.deep.equal(["soon", "late", "waiting"]);
      for (const one of all) deadlines.cancel(one);
    }));
});
