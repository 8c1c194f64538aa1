/** The ASKING in front of a redirected command: where it belongs, and that it is not left alone. */

import { expect } from "chai";
import { askingFor } from "../../../src/cluster/asking";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Ending } from "../../support/ending";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

describe("askingFor", () => {
  const made: Command[] = [];

  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function pair(batch: Batch | null = null): { command: Command; asking: Command } {
    const command = new Command(specOf("get"), ["k"], false, new Ending());
    command.slot = 77;
    batch?.add(command);
    const asking = askingFor(command);
    asking.state = CommandState.Queued;
    made.push(command, asking);
    return { command, asking };
  }

  it("is the client's own, and waits where its command waits", () => {
    const { asking } = pair();
    expect([asking.name, asking.args, asking.slot, asking.origin]).to.deep.equal([
      "asking",
      [],
      77,
      Origin.Client,
    ]);
  });

  it("is not sent for a command that has ended", () => {
    for (const end of ["fulfil", "fail"]) {
      const { command, asking } = pair();
      if (end === "fail") command.fail(new Error("timed out"));
      else command.fulfil("v", TEXT);
      expect(asking.isSettled, end).to.equal(true);
    }
  });

  it("stays in its place once it is written: the server answers it", () => {
    const { command, asking } = pair();
    asking.state = CommandState.Sent;
    command.fail(new Error("timed out"));
    expect(asking.state).to.equal(CommandState.Sent);
  });

  it("stays in front of a transaction, whose members keep their places", () => {
    const { command, asking } = pair(new Batch(BatchKind.Transaction, 0, null));
    expect(command.extra).to.equal(null);
    command.fail(new Error("timed out"));
    expect(asking.isSettled).to.equal(false);
  });
});
