/** Replies as a cache keeps them: nobody who changes what he got changes what others get, and sizes grow with content. */

import { expect } from "chai";
import {
  copyOf,
  hasBytes,
  keptFrom,
  keptFrozen,
  mayBeAbsence,
  ownBytes,
  sizeOf,
  sizeOfText,
} from "../../../src/caching/values";

describe("values of a cache", () => {
  const samples: unknown[] = [
    "text",
    7,
    null,
    Buffer.from("bytes"),
    ["a", null, 1],
    { field: "value" },
    ["a", ["b"]],
    [Buffer.from("a")],
    { field: ["a", { deep: Buffer.from("b") }] },
  ];

  it("copies all that can be changed, at every depth", () => {
    const shares = (one: unknown, other: unknown): boolean =>
      typeof one === "object" &&
      one !== null &&
      (one === other ||
        (Buffer.isBuffer(one)
          ? one.buffer === (other as Buffer).buffer && one.byteOffset === (other as Buffer).byteOffset
          : Object.entries(one).some(([name, element]) =>
              shares(element, (other as Record<string, unknown>)[name]),
            )));
    const change = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const element of Object.values(value)) change(element);
      Reflect.set(value, Object.keys(value)[0] as string, 1);
    };
    for (const value of samples) {
      const kept = keptFrom(value);
      const [copy, other] = [copyOf(kept), copyOf(kept)];
      expect([copy, other]).to.deep.equal([value, value]);
      expect([shares(value, copy), shares(copy, other)], JSON.stringify(value)).to.deep.equal([false, false]);
      change(value);
      expect(copyOf(kept)).to.deep.equal(copy);
    }
  });

  it("copies a field of any name as a field", () => {
    const value = JSON.parse('{"__proto__": ["a"]}') as object;
    const copy = copyOf(keptFrom(value)) as object;
    expect([Object.keys(copy), Object.getPrototypeOf(copy)]).to.deep.equal([["__proto__"], Object.prototype]);
  });

  it("knows what a key that does not exist may have answered", () => {
    const absent = [
      null,
      "",
      0,
      -2,
      [],
      {},
      "none",
      Buffer.from(""),
      Buffer.from("none"),
      [null, 0],
      [[null], ""],
    ];
    for (const value of absent) expect(mayBeAbsence(value), JSON.stringify(value)).to.equal(true);
    for (const value of ["a", 1, Buffer.from("a"), ["a"], [null, "a"], { field: "a" }])
      expect(mayBeAbsence(value), JSON.stringify(value)).to.equal(false);
  });

  it("freezes a value with all that is in it", () => {
    const value = { list: ["a", { deep: "b" }] };
    const kept = keptFrozen(value);
    expect([value, value.list, value.list[1]].map(Object.isFrozen)).to.deep.equal([true, true, true]);
    expect(copyOf(kept)).to.equal(value);
  });

  it("finds Buffers at any depth: nothing can keep their bytes from being changed", () => {
    const bytes = Buffer.from("a");
    for (const value of [bytes, [bytes], { field: ["a", { deep: bytes }] }])
      expect(hasBytes(value)).to.equal(true);
    for (const value of ["a", null, 7, [], ["a", ["b"]], { field: "a" }])
      expect(hasBytes(value)).to.equal(false);
  });

  it("keeps all bytes of Buffers of any size, and none of the block that a small one is a part of", () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    for (const value of [
      every,
      Buffer.alloc(0),
      Buffer.alloc(Buffer.poolSize, every),
      Buffer.alloc(50_000, every),
    ]) {
      expect(copyOf(keptFrom(value))).to.deep.equal(value);
      const bytes = ownBytes(value);
      if (typeof bytes !== "string") expect(bytes.buffer.byteLength).to.equal(bytes.length);
    }
  });

  it("counts what a value costs: more for each element, twice the bytes for a text that needs them", () => {
    expect(sizeOfText("ää") - sizeOfText("")).to.equal(4);
    expect(sizeOfText("aa") - sizeOfText("")).to.equal(2);
    expect(sizeOf("aa")).to.equal(sizeOfText("aa"));
    expect(sizeOf(["aa", "b"]) - sizeOf(["aa"])).to.be.greaterThan(sizeOfText("b"));
    expect(sizeOf({ a: "1", b: "2" }) - sizeOf({ a: "1" })).to.be.greaterThan(
      sizeOfText("b") + sizeOfText("2"),
    );
    expect(sizeOf(Buffer.alloc(100)) - sizeOf(Buffer.alloc(0))).to.equal(100);
    expect(sizeOf(7)).to.be.greaterThan(0);
  });
});
