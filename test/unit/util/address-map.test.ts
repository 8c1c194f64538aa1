/** The option `natMap`: a table or a function, and what is kept of an address that it leads elsewhere. */

import { expect } from "chai";
import { type NatMap, reachable } from "../../../src/util/address-map";

const ADDRESS = { host: "10.0.0.1", port: 7000, zone: "a" };
const OUTSIDE = { host: "gate", port: 17000 };

describe("reachable", () => {
  function reached(map: unknown): unknown {
    return reachable(ADDRESS, map as NatMap);
  }

  it("takes the address of the table or the function, and keeps what else is known", () => {
    const expected = { ...OUTSIDE, zone: "a" };
    expect(reached({ "10.0.0.1:7000": OUTSIDE })).to.deep.equal(expected);
    expect(reached((key: string) => (key === "10.0.0.1:7000" ? OUTSIDE : null))).to.deep.equal(expected);
    expect(reached({ "10.0.0.1:7000": { host: "gate", port: "17000" } }), "a port as text").to.deep.equal(
      expected,
    );
  });

  it("leaves an address as it is that is not named", () => {
    for (const map of [null, undefined, {}, { "10.0.0.1:7001": OUTSIDE }, () => null, () => undefined])
      expect(reached(map)).to.equal(ADDRESS);
    expect(
      reachable({ host: "to", port: 1 }, Object.create({ "to:1": OUTSIDE })),
      "an inherited name",
    ).to.include({
      host: "to",
    });
  });
});
