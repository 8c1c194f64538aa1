/** Which commands give the memory of their large arguments back, and when. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { largeCopies, recycleArguments } from "../../../src/command/recycled-arguments";
import { copyLarge, lendCopy } from "../../../src/protocol/large-copies";
import { LARGE_BYTES } from "../../../src/protocol/limits";
import { Ending } from "../../support/ending";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

interface Case {
  readonly name?: string;
  readonly more?: (command: Command) => void;
  readonly end?: (command: Command) => void;
}

const answered = (command: Command): void => command.fulfil("OK", SHAPE);

/** True if the memory of its argument is handed out next when such a command has ended. */
function isGivenBack({ name = "set", more = () => {}, end = answered }: Case): boolean {
  const copy = copyLarge(Buffer.alloc(LARGE_BYTES, 1));
  const command = new Command(specOf(name), ["k", copy], false, new Ending());
  recycleArguments(command);
  more(command);
  end(command);
  if (!command.isSettled) command.fail(new Error("the test is over"));
  const next = copyLarge(Buffer.alloc(LARGE_BYTES));
  // Not left in the pool for the next one.
  lendCopy(next, Number.POSITIVE_INFINITY);
  return next.buffer === copy.buffer;
}

describe("arguments that are recycled", () => {
  it("are those of a write that was answered", () => {
    expect(isGivenBack({})).to.equal(true);
    expect(isGivenBack({ name: "rpush" })).to.equal(true);
  });

  it("are not those of what may be given up, asked about, or unknown", () => {
    // A blocking one that is given up is answered null although the server has it still.
    expect(isGivenBack({ name: "blmove" })).to.equal(false);
    expect(isGivenBack({ name: "get" })).to.equal(false);
    expect(isGivenBack({ name: "no-such-command" })).to.equal(false);
  });

  it("are not those of a write that failed: it may be sent again", () => {
    expect(isGivenBack({ end: (command) => command.fail(new Error("lost")) })).to.equal(false);
  });

  it("are not those of a member of a transaction", () => {
    expect(isGivenBack({ end: (command) => command.fulfil("QUEUED", SHAPE) })).to.equal(false);
    const more = (command: Command): void => {
      command.ensureExtra().group = new Batch(BatchKind.Transaction, 0, null);
    };
    expect(isGivenBack({ more })).to.equal(false);
  });

  it("are not those of a command that a tracer has its hands on", () => {
    const hands: ((command: Command) => void)[] = [
      (command) => {
        const { resolve } = command;
        command.resolve = (value) => resolve(value);
      },
      (command) => {
        const { reject } = command;
        command.reject = (error) => reject(error);
      },
    ];
    for (const more of hands) expect(isGivenBack({ more })).to.equal(false);
  });

  it("are the large ones alone, of bytes", () => {
    const small = Buffer.alloc(LARGE_BYTES - 1);
    const command = new Command(specOf("set"), ["x".repeat(LARGE_BYTES), small], false, new Ending());
    recycleArguments(command);
    expect(() => command.fulfil("OK", SHAPE)).to.not.throw();
  });

  it("are looked for once for each large copy", () => {
    largeCopies.wereMade = false;
    const copy = copyLarge(Buffer.alloc(LARGE_BYTES));
    expect(largeCopies.wereMade).to.equal(true);
    const command = new Command(specOf("get"), [copy], false, new Ending());
    recycleArguments(command);
    expect([largeCopies.wereMade, command.extra]).to.deep.equal([false, null]);
    command.fail(new Error("the test is over"));
  });
});
