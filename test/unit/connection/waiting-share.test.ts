import { expect } from "chai";
import { WaitingShare } from "../../../src/connection/waiting-share";

describe("WaitingShare", () => {
  let waiting: WaitingShare;
  let nowMs: number;
  let idleMs: number;
  const pass = (durationMs: number, share: number): void => {
    nowMs += durationMs;
    idleMs += durationMs * share;
  };
  beforeEach(() => {
    nowMs = 5000;
    idleMs = 3000;
    waiting = new WaitingShare(
      () => nowMs,
      () => idleMs,
    );
  });

  it("knows nothing before a span is over, and then what it was in that span", () => {
    pass(19, 1);
    expect(waiting.at(nowMs)).to.equal(0);
    pass(1, 0);
    expect(waiting.at(nowMs)).to.be.closeTo(0.95, 1e-9);
    pass(19, 0);
    expect(waiting.at(nowMs)).to.be.closeTo(0.95, 1e-9);
    pass(81, 0.5);
    expect(waiting.at(nowMs)).to.be.closeTo(0.405, 1e-9);
  });

  it("leaves out what does not count, in one span only", () => {
    pass(40, 0.75);
    waiting.leaveOut(10);
    waiting.leaveOut(10);
    expect(waiting.at(nowMs)).to.be.closeTo(0.25, 1e-9);
    pass(40, 0.75);
    expect(waiting.at(nowMs)).to.be.closeTo(0.75, 1e-9);
  });
});
