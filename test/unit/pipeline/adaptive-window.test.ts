import { expect } from "chai";
import { AdaptiveWindow } from "../../../src/pipeline/adaptive-window";

describe("AdaptiveWindow", () => {
  it("makes nobody wait for the first round trip", () => {
    const window = new AdaptiveWindow();
    expect(window.size).to.equal(512);
    window.note(0.2, 0);
    expect(window.size).to.equal(1);
  });

  it("stays at one batch while replies come within half a millisecond", () => {
    const window = new AdaptiveWindow();
    for (let ms = 0; ms < 100; ms++) window.note(0.3, ms);
    expect(window.size).to.equal(1);
  });

  it("widens with the round trip, up to a limit", () => {
    const window = new AdaptiveWindow();
    window.note(10, 0);
    expect(window.size).to.equal(20);
    const far = new AdaptiveWindow();
    far.note(250, 0);
    expect(far.size).to.equal(500);
    const farther = new AdaptiveWindow();
    farther.note(2000, 0);
    expect(farther.size).to.equal(512);
  });

  it("takes the shortest round trip: a server that queues does not widen it", () => {
    const window = new AdaptiveWindow();
    window.note(1, 0);
    for (let ms = 1; ms < 900; ms++) window.note(30, ms);
    expect(window.size).to.equal(2);
  });

  it("follows a network that has changed within two periods, both ways", () => {
    const window = new AdaptiveWindow();
    for (let ms = 0; ms < 2500; ms += 10) window.note(1, ms);
    for (let ms = 2500; ms < 5000; ms += 10) window.note(10, ms);
    expect(window.size).to.equal(20);
    for (let ms = 5000; ms < 5100; ms += 10) window.note(0.2, ms);
    expect(window.size).to.equal(1);
  });
});
