import { expect } from "chai";
import { OutputBuffer } from "../../../src/protocol/output-buffer";

function fill(output: OutputBuffer, byte: number, count: number): void {
  output.ensure(count);
  output.bytes.fill(byte, output.at, output.at + count);
  output.at += count;
}

/** The memory of a piece. */
const memoryOf = ([piece]: readonly Buffer[]): ArrayBufferLike | undefined => piece?.buffer;

describe("OutputBuffer", () => {
  it("uses a block again once all of its pieces are released", () => {
    const output = new OutputBuffer();
    fill(output, 1, 60_000);
    const first = output.take();
    output.release(first);
    fill(output, 2, 60_000);
    expect(memoryOf(output.take())).to.equal(memoryOf(first));
  });

  it("never uses a block again of which a piece was forgotten", () => {
    const output = new OutputBuffer();
    const held: { pieces: readonly Buffer[]; byte: number }[] = [];
    for (let byte = 1; byte < 200; byte++) {
      fill(output, byte, 1 + ((byte * 7919) % 50_000));
      const pieces = output.take();
      if (byte % 3 === 0) output.release(pieces);
      else {
        held.push({ pieces, byte });
        output.forget(pieces);
      }
    }
    for (const { pieces, byte } of held) {
      for (const piece of pieces) expect(piece.every((one) => one === byte)).to.equal(true);
    }
  });

  it("goes on in the rest of a block that was forgotten", () => {
    const output = new OutputBuffer();
    fill(output, 1, 100);
    const first = output.take();
    output.forget(first);
    fill(output, 2, 100);
    expect(memoryOf(output.take())).to.equal(memoryOf(first));
    expect((first[0] as Buffer).every((one) => one === 1)).to.equal(true);
  });
});
