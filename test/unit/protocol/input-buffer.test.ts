import { expect } from "chai";
import { BlockPool, blockPool, MAX_POOLED_BYTES, MIN_BLOCK_BYTES } from "../../../src/protocol/block-pool";
import { InputBuffer } from "../../../src/protocol/input-buffer";
import { Parser } from "../../../src/protocol/parser";
import { RecordingSink, viaReserve } from "./recording-sink";

const SLAB_BYTES = 256 * 1024;

function unread(input: InputBuffer): string {
  return input.bytes.toString("latin1", input.start, input.end);
}

/** One read: `text` arrives, all but its last `restBytes` bytes are parsed. */
function step(input: InputBuffer, text: string, restBytes: number, neededBytes = 0): number {
  const room = input.reserve(neededBytes);
  expect(room.length).to.be.at.least(text.length);
  Buffer.from(room.buffer, room.byteOffset, room.length).write(text, "latin1");
  input.end += text.length;
  input.start = input.end - restBytes;
  input.keepRest();
  return room.length;
}

describe("input buffer", () => {
  it("lets the next read land right behind the rest", () => {
    const input = new InputBuffer();
    step(input, "abcdef", 2);
    expect(unread(input)).to.equal("ef");
    step(input, "ghi", 5);
    expect(unread(input)).to.equal("efghi");
    expect(input.origin + input.start).to.equal(4);
    step(input, "jk", 1);
    expect(unread(input)).to.equal("k");
    expect(input.origin + input.start).to.equal(10);
  });

  it("has room for a chunk that is larger than what its value needs", () => {
    blockPool.release(Buffer.allocUnsafeSlow(64 * 1024));
    const input = new InputBuffer();
    input.append(Buffer.alloc(10_000, "a"), 0);
    input.append(Buffer.alloc(65_536, "b"), 20_000);
    expect(unread(input)).to.equal("a".repeat(10_000) + "b".repeat(65_536));
  });

  it("lends one slab to all that have nothing unread", () => {
    const first = new InputBuffer();
    const second = new InputBuffer();
    expect(first.reserve(0)).to.equal(second.reserve(0));
    step(first, "abc", 2);
    expect(second.reserve(0)).not.to.equal(first.bytes);
    step(second, "xyz", 0);
    expect(unread(first)).to.equal("bc");
    step(first, "d", 0);
    expect(first.reserve(0)).to.equal(second.reserve(0));
  });

  it("grows by doubling with what has arrived, not with what is needed", () => {
    const input = new InputBuffer();
    const needed = 300 * 1024 * 1024;
    let arrived = 1;
    step(input, "x", 1, 0);
    while (arrived < 6_000_000) {
      const size = Math.min(input.reserve(needed).length, 60_000);
      arrived += size;
      step(input, "x".repeat(size), arrived, needed);
      expect(input.bytes.length).to.be.at.most(Math.max(2 * arrived, MAX_POOLED_BYTES));
    }
  });

  it("leaves a small block when it is filled by one read", () => {
    const input = new InputBuffer();
    step(input, "abc", 1);
    const room = step(input, "a", 1);
    expect(room).to.be.below(MIN_BLOCK_BYTES);
    step(input, "x".repeat(input.reserve(0).length), 1);
    expect(step(input, "a", 1)).to.be.at.least(SLAB_BYTES - 1);
  });

  it("holds little for a thousand connections in the middle of a reply, and nothing between replies", () => {
    const parsers = Array.from({ length: 1000 }, () => new Parser(new RecordingSink()));
    const before = process.memoryUsage().arrayBuffers;
    for (const parser of parsers) viaReserve(parser, Buffer.from("$5\r\nhel"));
    const waiting = process.memoryUsage().arrayBuffers;
    expect(waiting - before).to.be.below(1000 * MIN_BLOCK_BYTES + 2 * 1024 * 1024);
    for (const parser of parsers) {
      viaReserve(parser, Buffer.from("lo\r\n"));
      parser.reserve();
    }
    for (const parser of parsers) viaReserve(parser, Buffer.from("$5\r\nhello\r\n"));
    expect(process.memoryUsage().arrayBuffers).to.be.at.most(waiting + 1024 * 1024);
  });
});

describe("block pool", () => {
  it("gives blocks of powers of two and keeps a bounded number", () => {
    const pool = new BlockPool();
    for (let size = MIN_BLOCK_BYTES; size <= MAX_POOLED_BYTES; size *= 2) {
      expect(pool.acquire(size).length).to.equal(size);
      expect(pool.acquire(size - 1).length).to.equal(size);
      if (size < MAX_POOLED_BYTES) expect(pool.acquire(size + 1).length).to.equal(size * 2);
    }
    const blocks = Array.from({ length: 1000 }, () => pool.acquire(1));
    for (const block of blocks) pool.release(block);
    let retained = 0;
    while (pool.acquireRetained(1) !== null) retained++;
    expect(retained * MIN_BLOCK_BYTES).to.equal(2 * 1024 * 1024);
  });

  it("takes the smallest block that exists and is large enough", () => {
    const pool = new BlockPool();
    expect(pool.acquireRetained(1)).to.equal(null);
    const small = pool.acquire(20_000);
    const large = pool.acquire(1_000_000);
    pool.release(large);
    pool.release(small);
    expect(pool.acquireRetained(20_000)).to.equal(small);
    expect(pool.acquireRetained(20_000)).to.equal(large);
    expect(pool.acquireRetained(20_000)).to.equal(null);
  });

  it("neither rounds nor keeps what is larger than its largest size", () => {
    const pool = new BlockPool();
    const huge = pool.acquire(MAX_POOLED_BYTES + 1);
    expect(huge.length).to.equal(MAX_POOLED_BYTES + 1);
    pool.release(huge);
    expect(pool.acquireRetained(MAX_POOLED_BYTES + 1)).to.equal(null);
    expect(pool.acquireRetained(1)).to.equal(null);
  });
});
