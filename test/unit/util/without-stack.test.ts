import { expect } from "chai";
import { withoutStack } from "../../../src/util/without-stack";

describe("errors without stack frames", () => {
  const limit = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit");

  afterEach(() => {
    Object.defineProperty(Error, "stackTraceLimit", { ...limit, writable: true });
  });

  it("have the head of the stack only, and later errors have frames again", () => {
    const error = withoutStack(() => new TypeError("one"));
    expect(error.stack).to.equal("TypeError: one");
    expect(new Error("another").stack).to.include("without-stack.test");
  });

  it("restore the limit when making one throws", () => {
    expect(() =>
      withoutStack(() => {
        throw new RangeError("not made");
      }),
    ).to.throw(RangeError);
    expect(Error.stackTraceLimit).to.equal(limit?.value);
  });

  it("are made, with frames, where the intrinsics are frozen", () => {
    Object.defineProperty(Error, "stackTraceLimit", { ...limit, writable: false });
    const error = withoutStack(() => new Error("frozen"));
    expect(error.message).to.equal("frozen");
    expect(error.stack).to.include("without-stack.test");
  });
});
