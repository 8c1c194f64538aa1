/** The lists of Sentinel as they are read, and the replica that is taken of them. */

import { expect } from "chai";
import { chooseReplica, isUsable, readAddress, readEntries } from "../../../src/sentinel/replica-choice";
import type { PreferredReplica, ReplicaEntry } from "../../../src/sentinel/sentinel-options";

const ONE = { ip: "10.0.0.1", port: "6379" };
const OTHER = { ip: "10.0.0.2", port: "6380" };
const THIRD = { ip: "10.0.0.3", port: "6381" };

describe("entries of Sentinel", () => {
  it("are addresses only with a host and a port", () => {
    expect(readAddress("10.0.0.1", "6379")).to.deep.equal({ host: "10.0.0.1", port: 6379 });
    for (const [host, port] of [
      ["", "6379"],
      ["a b", "6379"],
      ["10.0.0.1", "0"],
      ["10.0.0.1", "65536"],
      ["10.0.0.1", null],
      [undefined, "6379"],
    ])
      expect(readAddress(host, port), `${host}:${port}`).to.equal(null);
  });

  it("are read from flat lists of fields; those without an address are left out", () => {
    const row = ["ip", "10.0.0.1", "port", 6379, "flags", "slave", "odd"];
    expect(readEntries([row, ["ip", "10.0.0.1"], "no row", null])).to.deep.equal([
      { ...ONE, flags: "slave" },
    ]);
    for (const reply of [null, "OK", 1, {}]) expect(readEntries(reply)).to.deep.equal([]);
  });

  it("have no field of another object, whatever a server calls its fields", () => {
    const [entry] = readEntries([["__proto__", "x", "ip", ONE.ip, "port", ONE.port]]);
    expect(Object.getPrototypeOf(entry)).to.equal(Object.prototype);
  });

  it("are bounded in number", () => {
    const row = ["ip", ONE.ip, "port", ONE.port];
    expect(readEntries(Array.from({ length: 1100 }, () => row)).length).to.equal(256);
  });

  it("are usable unless Sentinel says that they cannot be reached", () => {
    expect(isUsable({ ...ONE })).to.equal(true);
    expect(isUsable({ ...ONE, flags: "slave" })).to.equal(true);
    for (const flag of ["s_down", "o_down", "disconnected"])
      expect(isUsable({ ...ONE, flags: `slave,${flag}` }), flag).to.equal(false);
  });
});

describe("chooseReplica", () => {
  const all: ReplicaEntry[] = [ONE, OTHER, THIRD];

  it("takes the first wish that there is, by prio and then by order", () => {
    const missing = { ip: "10.0.0.9", port: "1", prio: 0 };
    const wishes: PreferredReplica[] = [
      { ...THIRD, prio: 2 },
      missing,
      { ip: OTHER.ip, port: 6380 },
      { ...ONE, prio: 1 },
    ];
    expect(chooseReplica(all, wishes)).to.equal(OTHER);
    expect(
      wishes.map(({ prio }) => prio),
      "the list of the user stays as it is",
    ).to.deep.equal([2, 0, undefined, 1]);
    expect(chooseReplica(all, { ip: THIRD.ip, port: THIRD.port })).to.equal(THIRD);
    expect(chooseReplica([ONE, OTHER], [{ ip: ONE.ip, port: "1" }, OTHER]), "another port").to.equal(OTHER);
  });

  it("takes what a function returns", () => {
    expect(chooseReplica(all, (given) => given[1])).to.equal(OTHER);
  });

  it("takes any where none is wished for, or none of the wishes is there", () => {
    const { random } = Math;
    try {
      for (const preferred of [undefined, [], { ip: "10.0.0.9", port: 1 }, () => null]) {
        for (const [value, expected] of [
          [0, ONE],
          [0.5, OTHER],
          [0.999, THIRD],
        ] as const) {
          Math.random = () => value;
          expect(chooseReplica(all, preferred)).to.equal(expected);
        }
      }
    } finally {
      Math.random = random;
    }
  });

  it("has none to take of an empty list, and asks no function for it", () => {
    expect(chooseReplica([], () => ONE)).to.equal(null);
  });
});
