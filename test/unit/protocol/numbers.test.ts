import { expect } from "chai";
import fc from "fast-check";
import {
  countDigits,
  doubleOf,
  integerOf,
  isDouble,
  isInteger,
  writeDigits,
} from "../../../src/protocol/numbers";
import { Decode } from "../../../src/protocol/resp-types";

describe("numbers", () => {
  it("counts and writes digits", () => {
    const check = (value: number): void => {
      const bytes = Buffer.alloc(20, 0x78);
      const end = writeDigits(bytes, 2, value);
      expect(bytes.toString("latin1", 0, end)).to.equal(`xx${value}`);
      expect(countDigits(value)).to.equal(String(value).length);
      expect(bytes[end]).to.equal(0x78);
    };
    for (let power = 1; power < 2 ** 53; power *= 10) for (const step of [-1, 0, 1]) check(power + step);
    check(2 ** 53 - 1);
    fc.assert(fc.property(fc.nat(), check));
  });

  it("reads integers exactly up to 2^53 - 1, and beyond as Number does", () => {
    const check = (text: string): void => {
      expect(isInteger(text)).to.equal(true);
      expect(integerOf(text, 0)).to.equal(Number(text) + 0);
      expect(integerOf(text, Decode.BigInts)).to.equal(BigInt(text));
      expect(integerOf(text, Decode.StringNumbers)).to.equal(text);
    };
    fc.assert(fc.property(fc.maxSafeInteger(), (value) => check(String(value))));
    fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }), (value) => check(String(value))));
    for (const text of ["+5", "-0", "007", "9007199254740991", "-9007199254740991", "999999999999999"])
      check(text);
  });

  it("knows integers", () => {
    for (const text of ["", "-", "+", "1a", "a1", "--1", "1-", "1.0", " 1", "1 ", "/", ":"]) {
      expect(isInteger(text), text).to.equal(false);
    }
  });

  it("knows and reads doubles", () => {
    const words: readonly (readonly [string, number])[] = [
      ["inf", Infinity],
      ["-inf", -Infinity],
      ["+inf", Infinity],
      ["INF", Infinity],
      ["nan", Number.NaN],
      ["-nan", Number.NaN],
      ["NaN", Number.NaN],
    ];
    for (const [text, value] of words) {
      expect(isDouble(text), text).to.equal(true);
      expect(doubleOf(text)).to.deep.equal(value);
    }
    for (const text of [
      "0",
      "-0",
      "1.",
      "1.5",
      "+1.5",
      "1e5",
      "1E+5",
      "1.25e-300",
      "17976931348623157e292",
    ]) {
      expect(isDouble(text), text).to.equal(true);
      expect(doubleOf(text)).to.equal(Number(text));
    }
    for (const text of [
      "",
      ".",
      "-",
      "e5",
      "1e",
      "1e+",
      "1.5.5",
      "0x1",
      "1_0",
      "infinity",
      "in",
      "nanx",
      "1,5",
    ]) {
      expect(isDouble(text), text).to.equal(false);
    }
    fc.assert(
      fc.property(fc.double(), (value) => {
        const text = String(value).replace("Infinity", "inf").replace("NaN", "nan");
        expect(isDouble(text)).to.equal(true);
        // The text of -0 has no sign.
        expect(doubleOf(text)).to.deep.equal(value + 0);
      }),
    );
  });
});
