/** Arguments that would be sent as a text that nobody meant, and where they stand. */

import { expect } from "chai";
import { specOf } from "../../../src/command/command-table";
import { refuseLooseArguments } from "../../../src/command/strict-arguments";
import { ArgumentError } from "../../../src/errors";

function refusal(name: string, ...args: unknown[]): string | null {
  try {
    refuseLooseArguments(specOf(name), args);
    return null;
  } catch (error) {
    expect(error).to.be.instanceOf(ArgumentError);
    return (error as Error).message;
  }
}

/** By another name: linters take a property of this one for a slip. */
const THEN = "then";

class Id {
  toString(): string {
    return "5";
  }
}

describe("refuseLooseArguments", () => {
  it("lets through what has a text of its own", () => {
    const fine = ["", "a", 0, -1.5, Infinity, 5n, true, Buffer.from("a"), new Id(), new Date(0), ["a", 1]];
    expect(refusal("set", ...fine)).to.equal(null);
    expect(refusal("ping")).to.equal(null);
  });

  it("says what is wrong with what has none", () => {
    const wrong: [unknown, string][] = [
      [undefined, "it is undefined"],
      [null, "it is null"],
      [Number.NaN, "it is NaN"],
      [() => {}, "it is a function"],
      [Symbol("s"), "it is a symbol"],
      [Promise.resolve(), "it is a promise; await it"],
      [{ [THEN]: () => {} }, "it is a promise; await it"],
      [{ a: 1 }, "it is a plain object"],
      [Object.create(null), "it is a plain object"],
      [[["a", "1"]], "it is an array inside another value"],
    ];
    for (const [value, reason] of wrong) {
      expect(refusal("set", "k", value))
        .to.contain(reason)
        .and.contain("strictArguments")
        .and.contain("2");
    }
  });

  it("counts the elements of lists one by one, the first wrong one first", () => {
    expect(refusal("del", ["a", "b"], "c", undefined, null))
      .to.contain("4")
      .and.contain("undefined");
    expect(refusal("del", ["a", undefined])).to.contain("2");
  });

  it("looks at what objects and maps become where a command takes them", () => {
    expect(refusal("hset", "h", { f: 1, g: "a" })).to.equal(null);
    expect(refusal("hset", "h", new Map([["f", 1]]))).to.equal(null);
    expect(refusal("hset", "h", { f: undefined })).to.contain("it is undefined");
    expect(refusal("mset", { a: {} })).to.contain("plain object");
  });

  it("leaves what is no list to the command, which refuses it", () => {
    const spec = { ...specOf("set"), argumentMapper: () => "no list" as never };
    expect(() => refuseLooseArguments(spec, ["a", undefined])).to.not.throw();
  });

  it("leaves the arguments as they are", () => {
    const args = ["h", { f: 1 }];
    refuseLooseArguments(specOf("hset"), args);
    expect(args).to.deep.equal(["h", { f: 1 }]);
  });
});
