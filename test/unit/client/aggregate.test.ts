import { expect } from "chai";
import { type Answer, foldFor } from "../../../src/client/whole-cluster/aggregate";
import type { ResponsePolicy } from "../../../src/client/whole-cluster/fan-out-policy";

const good = (value: unknown): Answer => ({ value, error: null });
const bad = (message: string): Answer => ({ value: null, error: new Error(message) });

function fold(policy: ResponsePolicy, ...answers: Answer[]): unknown {
  return foldFor(policy, "any")?.(answers);
}

describe("aggregate", () => {
  it("folds answers by the policy of the command", () => {
    expect(fold("agg_sum", good(1), good(2), good(3))).to.equal(6);
    expect(fold("agg_min", good(3), good(1), good(2))).to.equal(1);
    expect(fold("agg_max", good(3), good(1), good(4))).to.equal(4);
    expect(fold("agg_logical_and", good([1, 1, 0]), good([1, 0, 1]))).to.deep.equal([1, 0, 0]);
    expect(fold("agg_logical_or", good([1, 0, 0]), good([1, 0, 1]))).to.deep.equal([1, 0, 1]);
    expect(fold("all_succeeded", good("OK"), good("OK"))).to.equal("OK");
    expect(fold("one_succeeded", bad("NOTBUSY"), good("OK"))).to.equal("OK");
    expect(fold("default", good(["a"]), good([]), good(["b", "c"]))).to.deep.equal(["a", "b", "c"]);
    expect(fold("agg_sum", good("9007199254740993"), good("1"))).to.be.a("string");
  });

  it("fails with the first error", () => {
    for (const policy of ["agg_sum", "agg_min", "all_succeeded", "default", "agg_logical_and"] as const) {
      expect(() => fold(policy, good(1), bad("first"), bad("second")), policy).to.throw("first");
    }
    expect(() => fold("one_succeeded", bad("first"), bad("second"))).to.throw("first");
    expect(() => fold("agg_sum", good("x"), good(1))).to.throw("cannot be merged");
  });

  it("has no fold for special policies, but for those it knows", () => {
    expect(foldFor("special", "info")).to.equal(null);
    expect(foldFor("special", "constructor")).to.equal(null);
    expect(foldFor("special", "randomkey")?.([good(null), good("k")])).to.equal("k");
    expect(foldFor("special", "randomkey")?.([good(null), good(null)])).to.equal(null);
  });
});
