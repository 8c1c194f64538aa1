import { expect } from "chai";
import { ConnectionClosedError } from "../../../src/errors";
import { OneStack, withOneStack, withStackOf } from "../../../src/util/copy-error";

describe("withStackOf", () => {
  it("puts the calls of one error under the head of another", () => {
    const first = new ConnectionClosedError();
    const second = withStackOf(first, () => new TypeError("other\n    at nowhere"));
    const calls = (first.stack ?? "").slice((first.stack ?? "").indexOf("\n    at "));
    expect(second.stack).to.equal(`TypeError: other\n    at nowhere${calls}`);
  });
});

describe("withOneStack", () => {
  it("gives each its own message above the calls of the first", () => {
    const stack = new OneStack();
    const [first, second] = ["one", "two"].map((message) => stack.next(() => new Error(message)));
    expect(first?.stack).to.match(/^Error: one\n {4}at /);
    expect(second?.stack).to.equal(first?.stack?.replace("one", "two"));
  });

  it("gives each caller an error of its own, with the stack of the first", () => {
    const next = withOneStack(() => new ConnectionClosedError());
    const errors = [next(), next(), next()];
    expect(new Set(errors).size).to.equal(3);
    expect(errors[0]?.stack).to.include("copy-error.test");
    expect(errors.map(({ stack }) => stack)).to.deep.equal(Array(3).fill(errors[0]?.stack));
    expect(errors.every((error) => error instanceof ConnectionClosedError)).to.equal(true);
    expect(Object.keys(errors[1] as Error)).to.deep.equal(Object.keys(errors[0] as Error));
  });

  it("leaves the depth of stacks as it was, also when making an error throws", () => {
    const before = Error.stackTraceLimit;
    let count = 0;
    const next = withOneStack(() => {
      if (++count === 2) throw new Error("no");
      return new Error("yes");
    });
    next();
    expect(next).to.throw("no");
    expect(Error.stackTraceLimit).to.equal(before);
  });
});
