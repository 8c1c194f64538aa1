/** The options `coalesce` and `merge`: which choices share one planner, and which are refused. */

import { expect } from "chai";
import { checkMerge, type MergeableCommand, type MergeChoice, mergingOf } from "../../../src/client/merging";
import { OptionError } from "../../../src/errors";

describe("mergingOf", () => {
  it("is nothing unless something is asked for", () => {
    for (const merge of [undefined, false, []] as (MergeChoice | undefined)[]) {
      expect(mergingOf(merge, false)).to.equal(null);
      expect(mergingOf(merge, true)).to.not.equal(null);
    }
  });

  it("merges the commands with exact replies, or those of the list", () => {
    expect(mergingOf(true, false)?.merged).to.deep.equal(["hget", "sismember", "zscore"]);
    expect(mergingOf(["set", "get"], true)).to.deep.equal({ merged: ["set", "get"], coalesces: true });
  });

  it("does not follow later changes of the list", () => {
    const merge: MergeableCommand[] = ["set", "get"];
    const merging = mergingOf(merge, false);
    merge.pop();
    expect(merging?.merged).to.deep.equal(["set", "get"]);
  });
});

describe("checkMerge", () => {
  it("takes yes, no, nothing, and lists of what can be merged", () => {
    for (const merge of [
      undefined,
      null,
      true,
      false,
      [],
      ["get", "hmset"],
      ["lpush", "rpush", "set"],
      ["hget", "sismember", "zscore"],
    ]) {
      expect(() => checkMerge("merge", merge), String(merge)).to.not.throw();
    }
  });

  it("says what it does not take, by the name of the option", () => {
    const wrong: [unknown, string][] = [
      ["get", 'Invalid option autoPipelining.merge "get": expected'],
      [["get", "del"], 'Invalid option autoPipelining.merge "del": expected'],
      [[5], "Invalid option autoPipelining.merge 5: expected"],
      [{}, "Invalid option autoPipelining.merge [object Object]: expected"],
      [0, "Invalid option autoPipelining.merge 0: expected"],
      [["GET"], '"GET"'],
    ];
    for (const [merge, message] of wrong) {
      expect(() => checkMerge("autoPipelining.merge", merge)).to.throw(OptionError, message);
    }
    expect(() => checkMerge("merge", ["x"])).to.throw('a list of "get", "hget", "hmset"');
  });

  it("says that a list has a place without a command", () => {
    expect(() => checkMerge("merge", ["get", undefined])).to.throw(OptionError, "undefined");
  });
});
