import { expect } from "chai";
import { RoundTrips } from "../../../src/connection/round-trips";
import { chooseReader, Distance, type Reader, type ReaderPreference } from "../../../src/link/reader-choice";

class Node implements Reader {
  takesReads = true;

  constructor(
    readonly name: string,
    private readonly ms: number | null,
    readonly zone: string | undefined = undefined,
  ) {}

  distanceMs(): number | null {
    return this.ms;
  }
}

function drawn(
  nodes: readonly Node[],
  preference: Partial<ReaderPreference>,
  times = 3000,
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < times; i++) {
    const name = chooseReader(nodes, { zone: undefined, isNearest: false, ...preference })?.name ?? "none";
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe("choice of the node for a read", () => {
  it("gives equal nodes the same chance, and no read to others", () => {
    const nodes = [new Node("a", 1), new Node("b", 100), new Node("c", null), new Node("d", 1)];
    (nodes[3] as Node).takesReads = false;
    const counts = drawn(nodes, {});
    expect(Object.keys(counts).sort()).to.deep.equal(["a", "b", "c"]);
    for (const count of Object.values(counts)) expect(count).to.be.within(850, 1150);
    expect(drawn([], {})).to.deep.equal({ none: 3000 });
  });

  it("takes nodes within 20 % and 0.2 ms of the nearest, and unknown ones, as near", () => {
    const near = { isNearest: true };
    expect(drawn([new Node("a", 0.3), new Node("b", 1.2)], near)).to.deep.equal({ a: 3000 });
    const band = drawn([new Node("a", 0.3), new Node("b", 0.55), new Node("c", 0.57)], near);
    expect(Object.keys(band).sort()).to.deep.equal(["a", "b"]);
    expect(
      Object.keys(drawn([new Node("a", 10), new Node("b", 12), new Node("c", 12.3)], near)).sort(),
    ).to.deep.equal(["a", "b"]);
    expect(Object.keys(drawn([new Node("a", 0.3), new Node("b", null)], near)).sort()).to.deep.equal([
      "a",
      "b",
    ]);
    expect(Object.keys(drawn([new Node("a", null), new Node("b", null)], near)).sort()).to.deep.equal([
      "a",
      "b",
    ]);
  });

  it("prefers the zone, and the nearest node in it", () => {
    const nodes = [new Node("a", 0.1, "1"), new Node("b", 1, "2"), new Node("c", 5, "2")];
    expect(Object.keys(drawn(nodes, { zone: "2" })).sort()).to.deep.equal(["b", "c"]);
    expect(drawn(nodes, { zone: "2", isNearest: true })).to.deep.equal({ b: 3000 });
    expect(drawn(nodes, { zone: "3", isNearest: true })).to.deep.equal({ a: 3000 });
    (nodes[0] as Node).takesReads = false;
    expect(Object.keys(drawn(nodes, { zone: "1" })).sort()).to.deep.equal(["b", "c"]);
  });

  it("takes the shortest round trip of a period: one late reply does not move a node, many do", () => {
    const trips = new RoundTrips();
    const distance = new Distance(trips);
    let nowMs = 1000;
    const sampled = (...roundTripsMs: number[]): number | null => {
      nowMs += 400;
      for (const roundTripMs of roundTripsMs) trips.note(roundTripMs, nowMs);
      return distance.read(nowMs);
    };
    expect(sampled()).to.equal(null);
    expect(sampled(5)).to.equal(5);
    expect(sampled(1)).to.equal(1);
    expect(sampled()).to.equal(1);
    expect(sampled(400, 1, 400, 400)).to.equal(1);
    expect(sampled(400)).to.equal(1.25);
    expect(sampled(1)).to.equal(1);
    let last: number | null = null;
    for (let i = 0; i < 30; i++) last = sampled(40, 50);
    expect(last).to.be.within(30, 40);
    nowMs += 10_000;
    expect(sampled()).to.equal(null);
    // The first reply ends the trial, so that few reads go to a distant node.
    trips.note(40, nowMs + 1);
    expect(distance.read(nowMs + 1)).to.equal(40);
  });
});
