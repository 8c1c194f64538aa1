/** Memory of large copies is used again when it is answered and with no socket, and not before. */

import { expect } from "chai";
import { copyLarge, lendCopy, returnCopy } from "../../../src/protocol/large-copies";
import { LARGE_BYTES } from "../../../src/protocol/limits";

const SIZE = LARGE_BYTES + 17;
const value = (fill: number, size = SIZE): Buffer => Buffer.alloc(size, fill);

/** Whether the memory of a copy is handed out next. */
function isUsedAgain(copy: Buffer): boolean {
  const next = copyLarge(value(9, copy.length));
  const isSame = next.buffer === copy.buffer;
  // Not left in the pool for the next test.
  lendCopy(next, Number.POSITIVE_INFINITY);
  return isSame;
}

describe("large copies", () => {
  it("hold the bytes of their source alone", () => {
    const source = value(1);
    const copy = copyLarge(source);
    source.fill(2);
    expect(copy.equals(value(1))).to.equal(true);
    expect(isUsedAgain(copy)).to.equal(false);
  });

  it("are used again when their command and the socket have returned them", () => {
    const copy = copyLarge(value(1));
    lendCopy(copy);
    returnCopy(copy);
    returnCopy(copy);
    expect(isUsedAgain(copy)).to.equal(true);
  });

  it("are not while a socket has them, one of two connections either", () => {
    const copy = copyLarge(value(1));
    lendCopy(copy);
    lendCopy(copy);
    returnCopy(copy);
    returnCopy(copy);
    expect(isUsedAgain(copy)).to.equal(false);
    expect(copy.equals(value(1))).to.equal(true);
    returnCopy(copy);
    expect(isUsedAgain(copy)).to.equal(true);
  });

  it("are never while they are not answered, or when somebody holds them", () => {
    const unanswered = copyLarge(value(1));
    lendCopy(unanswered);
    returnCopy(unanswered);
    expect(isUsedAgain(unanswered)).to.equal(false);
    const held = copyLarge(value(1));
    lendCopy(held);
    lendCopy(held, Number.POSITIVE_INFINITY);
    returnCopy(held);
    returnCopy(held);
    expect(isUsedAgain(held)).to.equal(false);
  });

  it("serve smaller values, but not much smaller ones, and never two at once", () => {
    const large = copyLarge(value(1, 8 * SIZE));
    returnCopy(large);
    const small = copyLarge(value(2));
    expect(small.buffer === large.buffer).to.equal(false);
    const half = copyLarge(value(3, 4 * SIZE));
    expect(half.buffer === large.buffer).to.equal(true);
    expect(half.equals(value(3, 4 * SIZE))).to.equal(true);
    returnCopy(large);
    const other = copyLarge(value(4, 4 * SIZE));
    const third = copyLarge(value(5, 4 * SIZE));
    expect(other.buffer === third.buffer).to.equal(false);
    for (const copy of [small, other, third]) lendCopy(copy, Number.POSITIVE_INFINITY);
  });

  it("are kept up to a few MiB", () => {
    const copies = Array.from({ length: 200 }, (_, i) => copyLarge(value(i)));
    for (const copy of copies) returnCopy(copy);
    const known = new Set(copies.map(({ buffer }) => buffer));
    const again = copies.map(() => copyLarge(value(0))).filter(({ buffer }) => known.has(buffer));
    expect(again.length * SIZE).to.be.greaterThan(7 * 1024 * 1024);
    expect(again.length * SIZE).to.be.lessThan(8 * 1024 * 1024 + SIZE);
  });
});
