/** WAIT over several connections: each is asked, and the caller gets the least of each number. */

import { expect } from "chai";
import { Command, CommandState, type Completion, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { waitOnAll } from "../../../src/lanes/wait-on-all";
import type { Reply } from "../../../src/protocol/resp-types";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("waitOnAll", () => {
  let told: unknown[];
  let parts: Command[][];

  beforeEach(() => {
    told = [];
    parts = [[], [], []];
  });

  function ask(name: string, ...args: string[]): Command {
    const completion: Completion = {
      promise: null,
      fulfil: (_command, value) => told.push(value),
      reject: (_command, error) => told.push(error.message),
    };
    const command = new Command(specOf(name), args, false, completion);
    const lanes = parts.map((sent) => ({
      dispatch: () => expect.fail("a part goes as a batch of its own"),
      dispatchBatch: (commands: readonly Command[]) => void sent.push(...commands),
    }));
    waitOnAll(command, lanes);
    return command;
  }

  function answer(...replies: Reply[]): void {
    for (const [index, reply] of replies.entries()) parts[index]?.[0]?.fulfil(reply, SHAPE);
  }

  it("asks each connection in the words of the caller, and is under way from then on", () => {
    const command = ask("wait", "2", "100");
    for (const sent of parts) {
      expect(sent.map(({ name, args, origin }) => [name, args, origin])).to.deep.equal([
        ["wait", ["2", "100"], Origin.Part],
      ]);
      expect(sent[0]?.args, "the arguments of one may be dropped when it is written").to.not.equal(
        command.args,
      );
    }
    expect(command.state).to.equal(CommandState.Sent);
    expect(command.extra?.sentAtMs).to.be.a("number");
    answer(1, 1, 1);
    expect(told).to.deep.equal([1]);
  });

  it("tells the least number once all have answered", () => {
    ask("wait", "2", "100");
    answer(2, 1);
    expect(told).to.deep.equal([]);
    parts[2]?.[0]?.fulfil(3, SHAPE);
    expect(told).to.deep.equal([1]);
  });

  it("compares texts by their numbers, and lists number by number", () => {
    ask("wait", "2", "100");
    answer("10", "9", "11");
    parts = [[], [], []];
    ask("waitaof", "1", "1", "100");
    answer([1, 2], [0, 3], [1, 1]);
    expect(told).to.deep.equal(["9", [0, 1]]);
  });

  it("fails with the first connection that does, once", () => {
    ask("wait", "2", "100");
    parts[1]?.[0]?.fail(new Error("gone"));
    parts[2]?.[0]?.fail(new Error("gone too"));
    expect(told).to.deep.equal(["gone"]);
  });
});
