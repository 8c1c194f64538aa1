/** A bulk string that passes through: where its bytes land, when it is over, and how much memory an announced size gets. */

import { expect } from "chai";
import { LARGE_BYTES } from "../../../src/protocol/limits";
import { isEarned, PassingBulk } from "../../../src/protocol/passing-bulk";

describe("PassingBulk", () => {
  /** As a socket would: into its room, or through `take`. */
  function feed(bulk: PassingBulk, bytes: Buffer, size: number): void {
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      expect(bulk.take(piece, 0, piece.length)).to.equal(piece.length);
    }
  }

  it("gives a value of its exact size, whatever the pieces", () => {
    const bytes = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
    for (const size of [1, 7, 999, 1000]) {
      const bulk = new PassingBulk();
      bulk.begin(bytes.length, false);
      expect(bulk.left).to.equal(1002);
      feed(bulk, bytes, size);
      expect(bulk.left).to.equal(2);
      const value = bulk.finish();
      expect(value?.equals(bytes)).to.equal(true);
      expect(value?.buffer.byteLength).to.equal(1000);
    }
  });

  it("takes nothing of the line end, nor of what follows", () => {
    const bulk = new PassingBulk();
    bulk.begin(4, false);
    const bytes = Buffer.from("..abcd\r\n+OK\r\n");
    expect(bulk.take(bytes, 2, bytes.length)).to.equal(4);
    expect(bulk.take(bytes, 6, bytes.length)).to.equal(0);
    expect(bulk.left).to.equal(2);
    expect(String(bulk.finish())).to.equal("abcd");
  });

  it("offers the next bytes of the value as room, never more than a large read, never the line end", () => {
    const bulk = new PassingBulk();
    expect(bulk.room).to.equal(null);
    bulk.begin(LARGE_BYTES + 10, false);
    expect(bulk.room?.length).to.equal(LARGE_BYTES);
    bulk.room?.fill("a");
    bulk.left -= LARGE_BYTES;
    expect(bulk.room?.length).to.equal(10);
    bulk.room?.fill("b");
    bulk.left -= 10;
    expect(bulk.room).to.equal(null);
    expect(String(bulk.finish())).to.equal("a".repeat(LARGE_BYTES) + "b".repeat(10));
  });

  it("keeps nothing of a value that nobody wants", () => {
    const bulk = new PassingBulk();
    bulk.begin(10, true);
    expect(bulk.room).to.equal(null);
    feed(bulk, Buffer.alloc(10), 3);
    expect(bulk.left).to.equal(2);
    expect(bulk.finish()).to.equal(null);
  });

  it("forgets the value that it has given, and that of a connection which has ended", () => {
    const bulk = new PassingBulk();
    bulk.begin(3, false);
    bulk.finish();
    expect([bulk.left, bulk.room, bulk.finish()]).to.deep.equal([0, null, null]);
  });

  it("gives memory to large values only, and only as much as what has arrived earns", () => {
    const arrived = 4096;
    expect(isEarned(LARGE_BYTES, LARGE_BYTES)).to.equal(false);
    expect(isEarned(LARGE_BYTES + 1, arrived)).to.equal(true);
    expect(isEarned(arrived * 32, arrived)).to.equal(true);
    expect(isEarned(arrived * 32 + 1, arrived)).to.equal(false);
    expect(isEarned(512 * 1024 * 1024, 0)).to.equal(false);
  });
});
