/** What the reply of EXEC means to the rows of its transaction. */

import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { AbortError, ReplyError } from "../../../src/errors";
import {
  abortedTransaction,
  mapExecReply,
  membersOf,
  type Rows,
  transactionOutcome,
  wrapExecReply,
} from "../../../src/pipeline/transaction";
import { Ending } from "../../support/ending";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

describe("the reply of EXEC", () => {
  const made: Command[] = [];
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function commands(...names: string[]): Command[] {
    const all = names.map((name, index) => {
      const one = new Command(specOf(name), [], false, new Ending());
      one.index = index;
      return one;
    });
    made.push(...all);
    return all;
  }

  function command(name: string, wantsBuffers: boolean): Command {
    const one = new Command(specOf(name), [], wantsBuffers, new Ending());
    made.push(one);
    return one;
  }

  it("is mapped as the commands would have mapped it, errors and more elements left as they are", () => {
    const members = commands("hgetall", "get", "hgetall");
    const wrong = new ReplyError("WRONGTYPE no");
    expect(
      mapExecReply(members, command("exec", false), [["f", "1"], "2", wrong, "more"], SHAPE),
    ).to.deep.equal([{ f: "1" }, "2", wrong, "more"]);
    for (const reply of [null, "QUEUED"]) {
      expect(mapExecReply(members, command("exec", false), reply, SHAPE)).to.equal(reply);
    }
  });

  it("has texts for those who want texts, where EXEC was read as bytes", () => {
    const members = [command("get", false), command("get", true), command("hgetall", false)];
    const bytes = (text: string): Buffer => Buffer.from(text);
    const wrong = new ReplyError("WRONGTYPE no");
    const [, failed] = mapExecReply(members, command("exec", true), [bytes("a"), wrong], SHAPE) as unknown[];
    expect(failed).to.equal(wrong);
    const reply = [bytes("a"), bytes("b"), [bytes("f"), bytes("1")]];
    expect(mapExecReply(members, command("exec", true), reply, SHAPE)).to.deep.equal([
      "a",
      bytes("b"),
      { f: "1" },
    ]);
  });

  it("has the error of a mapper that throws in the place of its element alone", () => {
    const [one] = commands("hgetall") as [Command];
    one.spec = {
      ...one.spec,
      replyMapper: () => {
        const thrown: unknown = "no error";
        throw thrown;
      },
    };
    const [broken, next] = mapExecReply(
      [one, ...commands("get")],
      command("exec", false),
      [[], "1"],
      SHAPE,
    ) as [Error, string];
    expect([broken.cause, next]).to.deep.equal(["no error", "1"]);
  });

  it("speaks of the commands behind the last MULTI that the server has queued", () => {
    const all = commands(
      "get",
      "multi",
      "set",
      "exec",
      "multi",
      "get",
      "watch",
      "incr",
      "del",
      "exec",
      "get",
    );
    const rows: Rows = all.map(() => [null, "QUEUED"]);
    rows[6] = [new ReplyError("ERR WATCH inside MULTI is not allowed")];
    // A transformer of the user that threw at QUEUED has refused nothing.
    rows[7] = [new TypeError("the transformer broke")];
    const names = (members: readonly Command[]): string[] => members.map(({ name }) => name);
    expect(names(membersOf(all, rows, all[9] as Command))).to.deep.equal(["get", "incr", "del"]);
    expect(names(membersOf(all, rows, all[3] as Command))).to.deep.equal(["set"]);
    // A second MULTI is refused by the server; the transaction goes on.
    rows[4] = [new ReplyError("ERR MULTI calls can not be nested")];
    rows[3] = [null, "QUEUED"];
    expect(names(membersOf(all, rows, all[9] as Command))).to.deep.equal([
      "set",
      "exec",
      "get",
      "incr",
      "del",
    ]);
    expect(membersOf(all, rows, all[0] as Command)).to.deep.equal([]);
    // A MULTI may be missing: the server refuses that EXEC.
    expect(names(membersOf(all, rows, all[1] as Command))).to.deep.equal(["get"]);
  });

  it("are rows, or null", () => {
    const wrong = new ReplyError("WRONGTYPE no");
    expect(wrapExecReply(["1", wrong, null])).to.deep.equal([[null, "1"], [wrong], [null, null]]);
    expect([wrapExecReply(null), wrapExecReply("QUEUED")]).to.deep.equal([null, null]);
  });

  it("is the outcome of a pipeline that is one transaction, or an error that knows those before it", () => {
    const wrong = new ReplyError("ERR no");
    expect(
      transactionOutcome([
        [null, "OK"],
        [null, "QUEUED"],
        [null, ["1"]],
      ]),
    ).to.deep.equal([[null, "1"]]);
    expect(
      transactionOutcome([
        [null, "OK"],
        [null, null],
      ]),
    ).to.equal(null);
    const aborted = new ReplyError("EXECABORT");
    expect(transactionOutcome([[null, "OK"], [wrong], [null, "QUEUED"], [aborted]])).to.equal(aborted);
    expect(aborted.previousErrors).to.deep.equal([wrong]);
    const [first, last] = [new ReplyError("ERR first"), new ReplyError("ERR last")];
    transactionOutcome([[first], [last], [aborted]]);
    expect(aborted.previousErrors).to.deep.equal([first, last]);
  });

  it("of a transaction that was not sent is an error of its own for each", () => {
    expect(abortedTransaction()).to.be.instanceOf(AbortError);
    expect(abortedTransaction().message).to.match(/^EXECABORT /);
    expect(abortedTransaction()).to.not.equal(abortedTransaction());
  });
});
