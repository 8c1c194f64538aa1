/** The size of one flush. */

import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { CommandQueue } from "../../../src/connection/command-queue";
import { fillFlush } from "../../../src/connection/flush-encoder";
import { ScriptMemory } from "../../../src/connection/script-memory";
import { OutputBuffer } from "../../../src/protocol/output-buffer";

const KIB = 1024;
const USUAL = 256 * KIB;

/** How many of `count` SETs with values of `size` go out in the first flush, and in the second. */
function flushes(count: number, size: number, kind: string, highWaterBytes: number): number[] {
  const queue = new CommandQueue();
  const output = new OutputBuffer();
  const tracer = { onWrite: () => {}, isLogging: false };
  const source = { queue, scripts: new ScriptMemory() };
  const value = kind === "text" ? "x".repeat(size) : Buffer.alloc(size);
  const commands = Array.from(
    { length: count },
    () => new Command(specOf("set"), ["key", value], false, new PromiseCompletion()),
  );
  for (const command of commands) queue.push(command);
  const counts = [0, 1].map(() => {
    const before = queue.inFlight;
    expect(fillFlush(source, { output, fullBytes: highWaterBytes, tracer }, queue.unsent)).to.equal(null);
    output.take();
    return queue.inFlight - before;
  });
  const { sent, unsent } = queue.takeAll();
  for (const command of [...sent, ...unsent]) command.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
  return counts;
}

describe("a flush", () => {
  for (const kind of ["text", "buffer", "batch"]) {
    it(`ends at the usual size for small values (${kind})`, () => {
      const [first, second] = flushes(1000, KIB, kind, USUAL);
      expect(first).to.be.within(240, 256);
      expect(second).to.equal(first);
      expect(flushes(100, 10, kind, 64)).to.deep.equal([2, 2]);
    });

    it(`takes a few large values together (${kind})`, () => {
      expect(flushes(100, 64 * KIB, kind, USUAL)[0]).to.equal(16);
      expect(flushes(100, 1024 * KIB, kind, USUAL)).to.deep.equal([4, 4]);
      expect(flushes(3, 1024 * KIB, kind, USUAL)).to.deep.equal([3, 0]);
      expect(flushes(100, 64 * KIB, kind, KIB)).to.deep.equal([1, 1]);
    });
  }

  it("sends a script once with its text, and by its hash from then on", () => {
    const [queue, output] = [new CommandQueue(), new OutputBuffer()];
    const tracer = { onWrite: () => {}, isLogging: false };
    const source = { queue, scripts: new ScriptMemory() };
    const written = (): string => {
      const command = new Command(specOf("eval"), ["", "0"], false, new PromiseCompletion());
      const script = {
        lua: "return 1",
        sha: "abc",
        byText: specOf("eval"),
        bySha: specOf("evalsha"),
        isReadOnly: false,
      };
      command.ensureExtra().script = script;
      queue.push(command);
      expect(fillFlush(source, { output, fullBytes: USUAL, tracer }, 1)).to.equal(null);
      const text = Buffer.concat(output.take().segments).toString().toLowerCase();
      queue.shift()?.fulfil(1, { protocol: 2, replyMapping: "legacy" });
      return text;
    };
    expect(written()).to.contain("eval\r\n$8\r\nreturn 1");
    expect(written()).to.contain("evalsha\r\n$3\r\nabc");
  });
});
