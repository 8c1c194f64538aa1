import { expect } from "chai";
import { CommandQueue } from "../../../src/connection/command-queue";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import { FlushMeter } from "../../../src/connection/flush-meter";
import { RoundTrips } from "../../../src/connection/round-trips";

/** A flush of so many commands. */
function flush(counts: ConnectionCounts, commands: number): void {
  const queue = new CommandQueue();
  const meter = new FlushMeter(queue, counts);
  meter.begin(0);
  queue.answered = commands;
  meter.end(0, false);
}

describe("ConnectionCounts", () => {
  it("puts flushes into classes by powers of two, the last one open", () => {
    const counts = new ConnectionCounts();
    for (const size of [1, 2, 3, 4, 7, 8, 32_767, 32_768, 1_000_000]) flush(counts, size);
    expect(counts.flushSizes).to.deep.equal([1, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
    expect(counts.flushes).to.equal(9);
    expect(counts.written).to.equal(1 + 2 + 3 + 4 + 7 + 8 + 32_767 + 32_768 + 1_000_000);
  });

  it("adds up", () => {
    const [one, other] = [new ConnectionCounts(), new ConnectionCounts()];
    flush(one, 1);
    flush(other, 1);
    flush(other, 5);
    other.stalledMs = 1.5;
    one.add(other);
    expect(one).to.include({ flushes: 3, written: 7, stalledMs: 1.5 });
    expect(one.flushSizes.slice(0, 3)).to.deep.equal([2, 0, 1]);
  });
});

describe("RoundTrips", () => {
  it("knows nothing before the first", () => {
    const trips = new RoundTrips();
    expect([trips.meanMs, trips.p99Ms(0), trips.count]).to.deep.equal([null, null, 0]);
  });

  it("finds the 99th percentile to within a fifth", () => {
    for (const scale of [0.01, 1, 40, 3000]) {
      const trips = new RoundTrips();
      for (let n = 1; n <= 1000; n++) trips.note((n / 1000) * scale, 5000);
      expect((trips.p99Ms(5000) as number) / (0.99 * scale))
        .to.be.at.least(1)
        .and.at.most(1.2);
    }
  });

  it("forgets what is older than a minute", () => {
    const trips = new RoundTrips();
    trips.note(500, 1000);
    for (let second = 2; second < 50; second++) trips.note(1, second * 1000);
    expect(trips.p99Ms(50_000)).to.be.above(400);
    trips.note(1, 61_000);
    expect(trips.p99Ms(61_000)).to.be.below(2);
    expect(trips.p99Ms(200_000)).to.equal(null);
    expect(trips.count).to.equal(50);
  });

  it("is exact for the first few, which it forgets as well", () => {
    const trips = new RoundTrips();
    trips.note(500, 1000);
    trips.note(1, 20_000);
    expect(trips.p99Ms(20_000)).to.be.within(500, 600);
    expect(trips.p99Ms(61_000)).to.be.within(1, 1.2);
    expect(trips.p99Ms(200_000)).to.equal(null);
  });

  it("follows a change of the mean", () => {
    const trips = new RoundTrips();
    trips.note(8, 0);
    trips.note(16, 0);
    expect(trips.meanMs).to.equal(9);
  });
});
