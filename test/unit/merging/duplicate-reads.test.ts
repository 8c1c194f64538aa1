/** Identical reads of one batch: which of them get the answer of an earlier one. */

import { expect } from "chai";
import { Command, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { findDuplicateReads } from "../../../src/merging/duplicate-reads";

type Words = readonly (string | Buffer)[];

function joinedIn(calls: readonly (string | Words)[], isFree: (index: number) => boolean = () => true) {
  const commands = calls.map((call) => {
    const [name, ...args] = typeof call === "string" ? call.split(" ") : call;
    return new Command(specOf(String(name)), args as string[], false, IGNORED);
  });
  const duplicates = findDuplicateReads(commands, (command) => isFree(commands.indexOf(command)));
  const { equal, sent } = duplicates;
  if (equal.size === 0) return null;
  const all = new Set([...sent, ...[...equal.values()].flat()]);
  expect(all.size, "each is sent or joined").to.equal(commands.length);
  for (const [leader, [first]] of equal) expect(first).to.equal(leader);
  return [...equal.values()].map((reads) => reads.map((one) => commands.indexOf(one)));
}

describe("identical reads of a batch", () => {
  it("join the first of them, and no other read", () => {
    expect(joinedIn(["get a", "get b", "get a", "mget a b", "get a"])).to.deep.equal([[0, 2, 4]]);
    expect(joinedIn(["get a", "get b", "strlen a", "mget a b", "mget b a"])).to.equal(null);
  });

  it("are those with the same bytes, as text or not", () => {
    expect(joinedIn([["get", "ä"], ["get", Buffer.from("ä")], "GET ä"])).to.deep.equal([[0, 1, 2]]);
    expect(
      joinedIn([
        ["get", "a"],
        ["get", Buffer.from("ä")],
      ]),
    ).to.equal(null);
  });

  it("join none from before a write of one of their keys, whatever the key is written as", () => {
    expect(joinedIn(["get a", "set b 1", "get a"])).to.deep.equal([[0, 2]]);
    expect(joinedIn(["get a", "set a 1", "get a", "get a"])).to.deep.equal([[2, 3]]);
    expect(joinedIn(["mget a b", ["set", Buffer.from("b"), "1"], "mget a b"])).to.equal(null);
    expect(
      joinedIn([
        ["get", "ä"],
        ["set", Buffer.from("ä"), "1"],
        ["get", "ä"],
      ]),
    ).to.equal(null);
  });

  it("join none from before what may change anything", () => {
    for (const call of ["flushall", "select 1", "eval script 0", "some.module x"])
      expect(joinedIn(["get a", call, "get a"]), call).to.equal(null);
    for (const call of ["ping", "publish c m", "ttl a"])
      expect(joinedIn(["get a", call, "get a"]), call).to.deep.equal([[0, 2]]);
  });

  it("are sent if somebody looks at more than their outcome", () => {
    expect(joinedIn(["get a", "get a", "get a"], (index) => index !== 1)).to.deep.equal([[0, 2]]);
    expect(joinedIn(["get a", "get a"], (index) => index !== 0)).to.equal(null);
  });
});
