import { expect } from "chai";
import { AdaptiveWindow } from "../../../src/pipeline/adaptive-window";

describe("AdaptiveWindow", () => {
  function windowAfter(...roundTripsMs: number[]): number {
    const window = new AdaptiveWindow();
    for (const [at, ms] of roundTripsMs.entries()) window.note(ms, at);
    return window.size;
  }
  const near = windowAfter(0.1);

  it("makes no command wait before a round trip is known", () => {
    expect(new AdaptiveWindow().size).to.be.above(windowAfter(50));
  });

  it("allows several batches beside the server: one is executed while another is answered", () => {
    expect(near).to.be.above(1);
    expect(windowAfter(0.3, 0.2, 0.4)).to.equal(near);
  });

  it("widens with the round trip, up to a limit", () => {
    expect(windowAfter(20)).to.be.above(near);
    expect(windowAfter(40)).to.equal(windowAfter(20) * 2);
    expect(windowAfter(250)).to.be.above(windowAfter(40));
    expect(windowAfter(2000)).to.equal(windowAfter(4000));
  });

  it("takes the shortest round trip: a server that queues does not widen it", () => {
    expect(windowAfter(0.1, 30, 30, 30)).to.equal(near);
  });

  it("follows a network that has changed within two periods, both ways", () => {
    const window = new AdaptiveWindow();
    for (let ms = 0; ms < 2500; ms += 10) window.note(0.1, ms);
    for (let ms = 2500; ms < 5000; ms += 10) window.note(40, ms);
    expect(window.size).to.equal(windowAfter(40));
    for (let ms = 5000; ms < 5100; ms += 10) window.note(0.1, ms);
    expect(window.size).to.equal(near);
  });
});
