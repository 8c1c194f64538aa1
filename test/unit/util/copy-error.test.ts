import { inspect } from "node:util";
import { expect } from "chai";
import { ConnectionClosedError, MaxRetriesPerRequestError } from "../../../src/errors";
import { OneCause, withOneStack, withStackOf } from "../../../src/util/copy-error";

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
    const cause = new OneCause();
    const [first, second] = ["one", "two"].map((message) => cause.next(message, () => new Error(message)));
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

  it("shows in no error what was done to another one", () => {
    const next = withOneStack(() => new MaxRetriesPerRequestError(3, { cause: new Error("why") }));
    const [first, second, third] = [next(), next(), next()] as MaxRetriesPerRequestError[];
    Object.assign(first as Error, { message: "changed", note: 1 });
    Object.assign(second as Error, { message: "changed too", note: 2 });
    expect(third).to.include({ code: "MAX_RETRIES", limit: 3, name: "MaxRetriesPerRequestError" });
    expect(third?.message).to.match(/^Reached the max retries/);
    expect(third).not.to.have.property("note");
    expect(third).to.be.an("error").and.an.instanceOf(MaxRetriesPerRequestError);
    expect(third?.cause).to.have.property("message", "why");
    expect(inspect(third)).to.match(
      /^MaxRetriesPerRequestError(?: \[Error\])?: Reached .*\n {4}at [\s\S]*cause[\s\S]*why/,
    );
    expect(JSON.stringify(third)).to.equal('{"code":"MAX_RETRIES","limit":3}');
  });

  it("leaves the depth of stacks as it was, also when making an error throws", () => {
    const before = Error.stackTraceLimit;
    const cause = new OneCause();
    cause.next("first", () => new Error("yes"));
    const next = (): Error =>
      cause.next("second", () => {
        throw new Error("no");
      });
    expect(next).to.throw("no");
    expect(Error.stackTraceLimit).to.equal(before);
  });
});
