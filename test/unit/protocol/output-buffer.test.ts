import { expect } from "chai";
import {
  type FlushBytes,
  forgetFlush,
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

  it("never uses a block again of a flush that was forgotten, or that is not released", () => {
    const output = new OutputBuffer();
    const held: { flush: FlushBytes; byte: number }[] = [];
    for (let byte = 1; byte < 200; byte++) {
      for (let piece = 0; piece < byte % 4; piece++) fill(output, byte, 1 + ((byte * 7919) % 50_000));
      const flush = output.take();
      if (byte % 3 === 0) releaseFlush(flush);
      else held.push({ flush, byte });
      if (byte % 3 === 1) forgetFlush(flush);
    }
    for (const { flush, byte } of held) {
      for (const piece of flush.segments) expect(piece.every((one) => one === byte)).to.equal(true);
    }
  });
});
