import { expect } from "chai";
import {
  type FlushBytes,
  keptSegments,
  OutputBuffer,
  releaseFlush,
} from "../../../src/protocol/output-buffer";

function fill(output: OutputBuffer, byte: number, count: number): void {
  output.ensure(count);
  output.bytes.fill(byte, output.at, output.at + count);
  output.at += count;
}

/** The memory of the first piece. */
const memoryOf = ({ segments }: FlushBytes): ArrayBufferLike | undefined => segments[0]?.buffer;

describe("OutputBuffer", () => {
  it("uses the block of a released flush again", () => {
    const output = new OutputBuffer();
    fill(output, 1, 60_000);
    const first = output.take();
    releaseFlush(first);
    fill(output, 2, 60_000);
    expect(memoryOf(output.take())).to.equal(memoryOf(first));
  });

  it("never uses a block again of a flush that is not released, nor the memory of kept segments", () => {
    const output = new OutputBuffer();
    const held: { segments: readonly Buffer[]; byte: number }[] = [];
    for (let byte = 1; byte < 200; byte++) {
      for (let piece = 0; piece < byte % 4; piece++) fill(output, byte, 1 + ((byte * 7919) % 50_000));
      const flush = output.take();
      if (byte % 3 === 0) releaseFlush(flush);
      else held.push({ segments: byte % 3 === 1 ? keptSegments(flush) : flush.segments, byte });
    }
    for (const { segments, byte } of held) {
      for (const piece of segments) expect(piece.every((one) => one === byte)).to.equal(true);
    }
  });
});
