/** A transaction opened by hand: which of its commands an error in the reply to EXEC belongs to. */

import { expect } from "chai";
import { ReplyError } from "../../../src/errors";
import { OpenTransaction } from "../../../src/link/open-transaction";
import { CommandsOfTest } from "../../support/ending";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

describe("OpenTransaction", () => {
  const made = new CommandsOfTest();
  afterEach(() => made.failAll());

  it("names the command of each error, and counts only those that the server has queued", () => {
    const transaction = new OpenTransaction();
    const commands = [
      made.make("multi"),
      made.make("set", "a", "1"),
      made.make("nosuch"),
      made.make("incr", "b"),
    ];
    for (const command of commands) transaction.join(command);
    for (const command of commands) {
      if (command.spec.lowerName === "nosuch") command.fail(new ReplyError("ERR unknown command"));
      else command.fulfil("QUEUED", TEXT);
    }
    const error = new ReplyError("ERR value is not an integer or out of range");
    const more = new ReplyError("ERR of no command");
    transaction.nameErrors(["OK", error, more]);
    expect(error.command).to.include({ name: "incr" });
    expect(more.command).to.equal(undefined);
    transaction.nameErrors(null);
  });
});
