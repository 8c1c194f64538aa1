import { expect } from "chai";
import type { Looker } from "../../../src/util/shared-interval";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { uncaughtDuring } from "../../support/uncaught";

type IntervalModule = typeof import("../../../src/util/shared-interval");

describe("sharedIntervals", () => {
  let home: InVirtualTime<IntervalModule>;
  let intervals: IntervalModule["sharedIntervals"];

  before(() => {
    home = inVirtualTime(() => require("../../../src/util/shared-interval") as IntervalModule);
    intervals = home.modules.sharedIntervals;
  });

  beforeEach(() => home.time.reset());

  /** Notes its number; is in the round until told otherwise. */
  function looker(note: (seen: unknown) => void, number: number, isStaying = () => true): Looker {
    return {
      look: () => {
        note(number);
        return isStaying();
      },
    };
  }

  it("has one timer for all that look equally often, and none when nobody looks", async () => {
    const seen: unknown[] = [];
    const note = (one: unknown): unknown => seen.push(one);
    const often = [0, 1, 2].map((one) => looker(note, one));
    const other = looker(note, 9);
    for (const one of often) intervals.join(one, 2000);
    intervals.join(other, 1500);
    // Joins once.
    intervals.join(often[1] as Looker, 2000);
    expect(home.time.pending).to.equal(2);
    await home.pass(2001);
    expect(seen).to.deep.equal([9, 0, 1, 2]);
    intervals.leave(other, 1500);
    for (const one of often) intervals.leave(one, 2000);
    expect(home.time.pending).to.equal(0);
    // Leaves once.
    intervals.join(often[1] as Looker, 2000);
    intervals.leave(often[0] as Looker, 2000);
    await home.pass(2001);
    expect(seen.at(-1)).to.equal(1);
    expect(home.time.pending).to.equal(1);
    intervals.leave(often[1] as Looker, 2000);
  });

  it("lets members leave and come in the middle of a round", async () => {
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
    await home.pass(11);
    expect(seen).to.deep.equal([1]);
    expect(home.time.pending).to.equal(0);
    intervals.join(second, 10);
    expect(home.time.pending).to.equal(1);
    intervals.leave(second, 10);
  });

  it("lets go of who need not look any more, and of its timer with the last of them", async () => {
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
    await home.pass(31);
    expect(seen).to.deep.equal([1, 2, 2]);
    expect(home.time.pending).to.equal(0);
  });

  it("goes on when a look throws", async () => {
    const seen: unknown[] = [];
    const throwing = looker(() => {
      throw new Error("look");
    }, 1);
    const other = looker((one) => seen.push(one), 2);
    const errors = await uncaughtDuring(async () => {
      for (const one of [throwing, other]) intervals.join(one, 10);
      await home.pass(11);
    });
    for (const one of [throwing, other]) intervals.leave(one, 10);
    expect(seen).to.deep.equal([2]);
    expect(errors).to.deep.equal(["look"]);
  });
});
