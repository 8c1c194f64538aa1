import { expect } from "chai";
import fc from "fast-check";
import { captureArguments, flattenOnce, prepareArguments } from "../../../src/command/argument-mappers";
import { argumentTransformers, specOf } from "../../../src/command/command-table";
import { ArgumentError } from "../../../src/errors";

/** A command without a transformer. */
const SET = specOf("set");

function encode(...args: unknown[]): unknown[] {
  return prepareArguments(SET, args);
}

describe("argument encoding", () => {
  it("leaves strings alone, copies Buffers and keeps the array", () => {
    const bytes = Buffer.from("b");
    const args: unknown[] = ["a", bytes];
    const result = prepareArguments(SET, args);
    bytes.write("c");
    expect(result).to.equal(args);
    expect(result).to.deep.equal(["a", Buffer.from("b")]);
  });

  it("leaves Buffers to their caller until they are captured", () => {
    const bytes = Buffer.from("queued");
    const result = prepareArguments(SET, ["a", bytes], false);
    bytes.write("filled");
    captureArguments(result);
    bytes.write("behind");
    expect(result).to.deep.equal(["a", Buffer.from("filled")]);
  });

  it("writes numbers so that a server can read them", () => {
    expect(encode(1, -0, 1.5, -7)).to.deep.equal(["1", "0", "1.5", "-7"]);
    expect(encode(1e21, -1e21, 2 ** 53, 1e20)).to.deep.equal([
      "1000000000000000000000",
      "-1000000000000000000000",
      "9007199254740992",
      "100000000000000000000",
    ]);
    expect(encode(Number.NaN, Infinity, -Infinity)).to.deep.equal(["NaN", "Infinity", "-Infinity"]);
    expect(encode(1e-7, Number.MIN_VALUE)).to.deep.equal(["1e-7", "5e-324"]);
    expect(encode(Number.MAX_VALUE)[0]).to.equal(BigInt(Number.MAX_VALUE).toString());
  });

  it("writes every integer in full decimal", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const [text] = encode(value);
        expect(Number(text)).to.equal(value === 0 ? 0 : value);
        if (Number.isInteger(value)) expect(text).to.match(/^-?\d+$/);
      }),
    );
  });

  it("writes other scalars as their text", () => {
    expect(encode(10n, true, false)).to.deep.equal(["10", "true", "false"]);
    expect(encode(null, undefined)).to.deep.equal(["", ""]);
    expect(encode(Symbol("x"))).to.deep.equal(["Symbol(x)"]);
  });

  it("sends the bytes of every kind of byte container", () => {
    const bytes = Uint8Array.from([1, 65, 66, 255]);
    const middle = bytes.subarray(1, 3);
    expect(encode(middle)).to.deep.equal([Buffer.from("AB")]);
    expect(encode(bytes.buffer)).to.deep.equal([Buffer.from([1, 65, 66, 255])]);
    expect(encode(new DataView(bytes.buffer, 1, 2))).to.deep.equal([Buffer.from("AB")]);
    expect(encode(Uint16Array.from([0x4241]))).to.deep.equal([Buffer.from("AB")]);
    const shared = new SharedArrayBuffer(2);
    expect(encode(shared)).to.deep.equal([Buffer.from([0, 0])]);
  });

  it("flattens one level and joins what is deeper", () => {
    expect(encode(["a", "b"])).to.deep.equal(["a", "b"]);
    expect(encode("k", ["x", 1], "z", [null])).to.deep.equal(["k", "x", "1", "z", ""]);
    expect(encode(["a", ["b", "c"]])).to.deep.equal(["a", "b,c"]);
    expect(encode(["a", ["b", ["c", null]]])).to.deep.equal(["a", "b,c,"]);
    expect(encode([])).to.deep.equal([]);
  });

  it("does not change the caller's own arrays", () => {
    const inner = [1, 2];
    expect(encode("k", inner)).to.deep.equal(["k", "1", "2"]);
    expect(inner).to.deep.equal([1, 2]);
  });

  it("writes objects as their text", () => {
    const stamp = new Date(0);
    expect(encode({}, new Set(), stamp)).to.deep.equal(["[object Object]", "[object Set]", String(stamp)]);
    expect(encode({ toString: () => "own" })).to.deep.equal(["own"]);
    expect(encode(function named() {})[0]).to.match(/^function named/);
  });

  it("flattens a great many arguments", () => {
    const many = Array.from({ length: 300_000 }, (_, index) => index);
    expect(encode("k", many)).to.have.length(300_001);
  });

  it("names the position and the command, never the value, when there is no text", () => {
    const secret = Object.assign(Object.create(null), { secret: "xyzzy" });
    const throwing = {
      toString() {
        throw new Error("no");
      },
    };
    for (const value of [secret, throwing, [[Symbol("nested")]]]) {
      expect(() => encode("a", value))
        .to.throw(ArgumentError, /^Argument 2 of "set"/)
        .with.property("code", "INVALID_ARGUMENT");
      expect(() => encode("a", value)).to.not.throw(/xyzzy/);
    }
  });

  it("agrees with flattening first and converting each value afterwards", () => {
    const scalar = fc.oneof(fc.string(), fc.double(), fc.bigInt(), fc.boolean(), fc.constant(null));
    fc.assert(
      fc.property(fc.array(fc.oneof(scalar, fc.array(scalar), fc.sparseArray(scalar))), (args) => {
        const expected = args.flat(1).flatMap((value) => prepareArguments(SET, [value]));
        expect(prepareArguments(SET, args)).to.deep.equal(expected);
      }),
    );
  });
});

describe("flattenOnce", () => {
  it("returns a flat array itself", () => {
    const args = ["a", 1];
    expect(flattenOnce(args, "set")).to.equal(args);
    expect(flattenOnce(["a", [["b"]]], "set")).to.deep.equal(["a", ["b"]]);
  });
});

describe("argument transformers", () => {
  function prepare(word: string, ...args: unknown[]): unknown[] {
    return prepareArguments(specOf(word), args);
  }

  it("spread an object or a Map over mset and msetnx", () => {
    expect(prepare("mset", { a: 1, b: null, c: [1, 2] })).to.deep.equal(["a", "1", "b", "", "c", "1,2"]);
    const key = Buffer.from("k");
    expect(
      prepare(
        "msetnx",
        new Map<unknown, unknown>([
          [key, 1],
          [2, "x"],
        ]),
      ),
    ).to.deep.equal([key, "1", "2", "x"]);
    expect(prepare("mset", "a", 1)).to.deep.equal(["a", "1"]);
    expect(
      prepare("mset", [
        ["a", "1"],
        ["b", "2"],
      ]),
    ).to.deep.equal(["a,1", "b,2"]);
    expect(prepare("mset", ["a", 1])).to.deep.equal(["a", "1"]);
  });

  it("spread an object or a Map over hset and hmset", () => {
    expect(prepare("hset", "h", { f: 1, g: "x" })).to.deep.equal(["h", "f", "1", "g", "x"]);
    expect(prepare("hmset", "h", new Map([["f", 1]]))).to.deep.equal(["h", "f", "1"]);
    expect(prepare("hset", "h", {})).to.deep.equal(["h"]);
    expect(prepare("hset", "h", ["f", "v"])).to.deep.equal(["h", "f", "v"]);
  });

  it("take only own enumerable fields, in order", () => {
    const parent = { inherited: 1 };
    const value = Object.assign(Object.create(parent), { b: 2, a: 1 });
    expect(prepare("hset", "h", value)).to.deep.equal(["h", "b", "2", "a", "1"]);
  });

  it("leave everything else alone", () => {
    expect(prepare("hset", "h", { f: 1 }, "x")).to.deep.equal(["h", "[object Object]", "x"]);
    expect(prepare("hsetnx", "h", { f: 1 })).to.deep.equal(["h", "[object Object]"]);
    expect(prepare("HSET", "h", { f: 1 })).to.deep.equal(["h", "[object Object]"]);
    const bytes = Buffer.from("f");
    expect(prepare("hset", "h", bytes)).to.deep.equal(["h", bytes]);
    expect(prepare("hset", "h", Uint8Array.from([65]))).to.deep.equal(["h", Buffer.from("A")]);
    expect(prepare("mset", null)).to.deep.equal([""]);
  });

  it("can be replaced and added, by exact word", () => {
    const original = argumentTransformers.mset;
    const seen: unknown[][] = [];
    try {
      argumentTransformers.mset = (args) => {
        seen.push([...args]);
        return ["x", ...args];
      };
      argumentTransformers["my.own"] = () => [[1, 2], null];
      expect(prepare("mset", ["a", 1])).to.deep.equal(["x", "a", "1"]);
      expect(seen).to.deep.equal([["a", 1]]);
      expect(prepare("MSET", "a")).to.deep.equal(["a"]);
      expect(prepare("my.own")).to.deep.equal(["1,2", ""]);
      expect(prepare("MY.OWN")).to.deep.equal([]);
    } finally {
      argumentTransformers.mset = original;
      delete argumentTransformers["my.own"];
    }
    expect(prepare("my.own")).to.deep.equal([]);
    expect(prepare("mset", { a: 1 })).to.deep.equal(["a", "1"]);
  });

  it("must return an array", () => {
    try {
      argumentTransformers["no.array"] = (() => undefined) as never;
      expect(() => prepare("no.array")).to.throw(TypeError, 'argument transformer of "no.array"');
    } finally {
      delete argumentTransformers["no.array"];
    }
  });

  it("do not change an array that a transformer keeps for itself", () => {
    const own = [1, 2];
    try {
      argumentTransformers["keeps.it"] = () => own;
      expect(prepare("keeps.it")).to.deep.equal(["1", "2"]);
      expect(own).to.deep.equal([1, 2]);
    } finally {
      delete argumentTransformers["keeps.it"];
    }
  });
});
