import { expect } from "chai";
import { FlushHold, HOLD_MS } from "../../../src/connection/flush-hold";

const QUEUED_MS = 0.1;

describe("FlushHold", () => {
  let hold: FlushHold;
  let nowMs: number;
  let idleMs: number;
  /** The first half is written again and again, with so many reads in between; how often the rest is held. */
  const holds = (times: number, readsBetween: number, queuedMs = QUEUED_MS, waiting = 0.6): number => {
    let count = 0;
    for (let i = 0; i < times; i++) {
      nowMs += 25;
      idleMs += 25 * waiting;
      const untilMs = hold.untilMs(queuedMs);
      if (untilMs > 0) expect(untilMs).to.equal(nowMs + HOLD_MS);
      if (untilMs > 0) count++;
      for (let read = 0; read < readsBetween; read++) hold.noteRead();
    }
    return count;
  };
  beforeEach(() => {
    nowMs = 1000;
    idleMs = 900;
    hold = new FlushHold(
      () => nowMs,
      () => idleMs,
    );
  });

  it("holds nothing back from a server that answers at once", () => {
    expect(holds(10, 5, 0.02)).to.equal(0);
  });

  it("holds nothing back where the thread has work", () => {
    expect(holds(10, 5, QUEUED_MS, 0.3)).to.equal(0);
  });

  it("holds nothing back where the connection is unused while the thread waits", () => {
    let count = 0;
    for (let i = 0; i < 10; i++) {
      nowMs += 20;
      idleMs += 20;
      hold.noteUnused();
      count += holds(1, 5);
    }
    expect(count).to.equal(0);
  });

  it("takes what the thread does before it asks again for no time of waiting", () => {
    let count = 0;
    for (let i = 0; i < 10; i++) {
      nowMs += 10;
      hold.noteUnused();
      count += holds(1, 5);
    }
    expect(count).to.equal(10);
  });

  it("goes on while the halves stay apart for a while", () => {
    expect(holds(100, 4)).to.equal(100);
  });

  it("rests for longer and longer where they do not", () => {
    expect(holds(100, 1)).to.equal(6);
    expect(holds(650, 1)).to.equal(10);
  });

  it("begins again as soon as they have been apart", () => {
    holds(100, 1);
    expect(holds(10, 4)).to.be.within(8, 9);
  });
});
