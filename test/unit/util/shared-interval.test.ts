import { expect } from "chai";
import { SharedIntervals } from "../../../src/util/shared-interval";
import { uncaughtDuring } from "../../support/uncaught";

/** Timers that go off when the test says so. */
class Timers {
  readonly running = new Map<NodeJS.Timeout, () => void>();
  startInterval(work: () => void): NodeJS.Timeout {
    const timer = { unref: () => timer } as NodeJS.Timeout;
    this.running.set(timer, work);
    return timer;
  }
  stopInterval(timer: NodeJS.Timeout | undefined): void {
    if (timer !== undefined) this.running.delete(timer);
  }
  tick(): void {
    for (const work of [...this.running.values()]) work();
  }
}

describe("SharedIntervals", () => {
  let timers: Timers;
  let intervals: SharedIntervals;
  beforeEach(() => {
    timers = new Timers();
    intervals = new SharedIntervals(timers);
  });

  it("has one timer for all that look equally often, and none when nobody looks", () => {
    const seen: number[] = [];
    const leave = [0, 1, 2].map((one) => intervals.join(() => void seen.push(one), 2000));
    const other = intervals.join(() => void seen.push(9), 100);
    expect(timers.running.size).to.equal(2);
    timers.tick();
    expect(seen).to.deep.equal([0, 1, 2, 9]);
    other();
    for (const end of leave) end();
    expect(timers.running.size).to.equal(0);
    // Ends once.
    intervals.join(() => void seen.push(5), 2000);
    leave[0]?.();
    timers.tick();
    expect(seen.at(-1)).to.equal(5);
  });

  it("lets members leave and come in the middle of a round", () => {
    const seen: string[] = [];
    const ends: (() => void)[] = [];
    ends.push(
      intervals.join(() => {
        seen.push("first");
        for (const end of ends.splice(0)) end();
      }, 10),
    );
    ends.push(intervals.join(() => void seen.push("second"), 10));
    timers.tick();
    expect(seen).to.deep.equal(["first"]);
    expect(timers.running.size).to.equal(0);
  });

  it("goes on when a look throws", async () => {
    const seen: string[] = [];
    const errors = await uncaughtDuring(async () => {
      intervals.join(() => {
        throw new Error("look");
      }, 10);
      intervals.join(() => void seen.push("second"), 10);
      timers.tick();
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(seen).to.deep.equal(["second"]);
    expect(errors).to.deep.equal(["look"]);
  });
});
