import { expect } from "chai";
import { type Looker, SharedIntervals } from "../../../src/util/shared-interval";
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

  /** Notes its number; is in the round until told otherwise. */
  function looker(note: (seen: unknown) => void, number: number, isStaying = () => true): Looker {
    return {
      look: () => {
        note(number);
        return isStaying();
      },
    };
  }

  it("has one timer for all that look equally often, and none when nobody looks", () => {
    const seen: unknown[] = [];
    const note = (one: unknown): unknown => seen.push(one);
    const often = [0, 1, 2].map((one) => looker(note, one));
    const other = looker(note, 9);
    for (const one of often) intervals.join(one, 2000);
    intervals.join(other, 100);
    // Joins once.
    intervals.join(often[1] as Looker, 2000);
    expect(timers.running.size).to.equal(2);
    timers.tick();
    expect(seen).to.deep.equal([0, 1, 2, 9]);
    intervals.leave(other, 100);
    for (const one of often) intervals.leave(one, 2000);
    expect(timers.running.size).to.equal(0);
    // Leaves once.
    intervals.join(often[1] as Looker, 2000);
    intervals.leave(often[0] as Looker, 2000);
    timers.tick();
    expect(seen.at(-1)).to.equal(1);
    expect(timers.running.size).to.equal(1);
  });

  it("lets members leave and come in the middle of a round", () => {
    const seen: unknown[] = [];
    const second = looker((one) => seen.push(one), 2);
    const first = looker(
      (one) => {
        seen.push(one);
        intervals.leave(first, 10);
        intervals.leave(second, 10);
      },
      1,
      () => false,
    );
    intervals.join(first, 10);
    intervals.join(second, 10);
    timers.tick();
    expect(seen).to.deep.equal([1]);
    expect(timers.running.size).to.equal(0);
    intervals.join(second, 10);
    expect(timers.running.size).to.equal(1);
  });

  it("lets go of who need not look any more, and of its timer with the last of them", () => {
    const seen: unknown[] = [];
    const note = (one: unknown): unknown => seen.push(one);
    intervals.join(
      looker(note, 1, () => false),
      10,
    );
    intervals.join(
      looker(note, 2, () => seen.length < 3),
      10,
    );
    for (let i = 0; i < 3; i++) timers.tick();
    expect(seen).to.deep.equal([1, 2, 2]);
    expect(timers.running.size).to.equal(0);
  });

  it("goes on when a look throws", async () => {
    const seen: unknown[] = [];
    const errors = await uncaughtDuring(async () => {
      const throwing = (): never => {
        throw new Error("look");
      };
      intervals.join(looker(throwing, 1), 10);
      intervals.join(
        looker((one) => seen.push(one), 2),
        10,
      );
      timers.tick();
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(seen).to.deep.equal([2]);
    expect(errors).to.deep.equal(["look"]);
  });
});
