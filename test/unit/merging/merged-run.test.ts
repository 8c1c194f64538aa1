/** One command in place of several: its arguments, and the outcome of each member. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState, sentFor } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { OutcomeUnknownError, ReplyError } from "../../../src/errors";
import { FORMS } from "../../../src/merging/forms";
import { MergedRun } from "../../../src/merging/merged-run";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;

function command(name: string, ...args: string[]): Command {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return new Command(specOf(name), args, false, completion);
}

/** A command with a limit: it has the fields that few commands need. */
function limited(name: string, ...args: string[]): Command {
  const made = command(name, ...args);
  made.ensureExtra();
  return made;
}

function runOf(members: readonly Command[], areIdentical = false): MergedRun {
  const form = areIdentical ? null : FORMS.get((members[0] as Command).spec.lowerName);
  return new MergedRun(form ?? null, members);
}

function outcomes(commands: readonly Command[]): Promise<unknown[]> {
  return Promise.all(commands.map(({ promise }) => promise.catch((error: Error) => error.message)));
}

describe("MergedRun", () => {
  it("sends the arguments of all members, and gives each its element", async () => {
    const members = [command("get", "a"), command("get", "b")];
    const run = runOf(members);
    expect([run.command.name, run.command.args]).to.deep.equal(["mget", ["a", "b"]]);
    run.command.fulfil(["1", null], SHAPE);
    expect(await outcomes(members)).to.deep.equal(["1", null]);
  });

  it("sends a common key once", () => {
    const run = runOf([command("hget", "k", "a"), command("hget", "k", "b")]);
    expect(run.command.args).to.deep.equal(["k", "a", "b"]);
  });

  it("is an ordinary command of their batch, slot and retry policy, which ends with its last command", () => {
    let ends = 0;
    const batch = new Batch(BatchKind.Automatic, 0, () => ends++);
    const members = [limited("get", "a"), limited("get", "b")];
    for (const member of members) {
      batch.add(member);
      member.slot = 7;
      member.ensureExtra().retryPolicy = "reads-only";
    }
    const { command: sent } = runOf(members);
    expect([sent.batch, sent.slot, sent.extra?.retryPolicy]).to.deep.equal([batch, 7, "reads-only"]);
    expect(members.map(({ extra }) => extra?.sentAs)).to.deep.equal([sent, sent]);
    sent.fulfil(["1", "2"], SHAPE);
    expect([batch.left, ends]).to.deep.equal([0, 1]);
  });

  it("is written without members that were given up before, and not at all without any", async () => {
    const members = [limited("set", "a", "1"), limited("set", "b", "2"), limited("set", "c", "3")] as const;
    const { command: sent } = runOf(members);
    sent.state = CommandState.Queued;
    members[1].fail(new Error("timed out"));
    expect(sent.args).to.deep.equal(["a", "1", "c", "3"]);
    sent.state = CommandState.Sent;
    members[2].fail(new Error("aborted"));
    expect(sent.args, "already written").to.deep.equal(["a", "1", "c", "3"]);
    sent.fulfil("OK", SHAPE);
    expect(await outcomes(members)).to.deep.equal(["OK", "timed out", "aborted"]);

    const others = [limited("get", "a"), limited("get", "b")];
    const none = runOf(others);
    for (const one of others) one.fail(new Error("given up"));
    expect(none.command.isSettled).to.equal(true);
    expect(await outcomes(others)).to.deep.equal(["given up", "given up"]);
  });

  it("is sent for identical reads whose first caller has given up, and shares no list among them", async () => {
    const [first, duplicate] = [limited("lrange", "k", "0", "-1"), command("lrange", "k", "0", "-1")];
    const run = runOf([first, duplicate], true);
    first.fail(new Error("timed out"));
    expect(run.command.args).to.deep.equal(["k", "0", "-1"]);
    const reply = ["x"];
    run.command.fulfil(reply, SHAPE);
    const [, told] = await outcomes([first, duplicate]);
    expect(told).to.deep.equal(reply);
    expect(told).to.not.equal(reply);
  });

  it("may be a member of another run", async () => {
    const [first, duplicate] = [limited("get", "a"), limited("get", "a")];
    const other = command("get", "b");
    const inner = runOf([first, duplicate], true);
    const outer = runOf([inner.command, other]);
    expect(outer.command.args).to.deep.equal(["a", "b"]);
    expect(sentFor(duplicate)).to.equal(outer.command);
    first.fail(new Error("timed out"));
    expect(outer.command.args).to.deep.equal(["a", "b"]);
    duplicate.fail(new Error("aborted"));
    expect(outer.command.args).to.deep.equal(["b"]);
    outer.command.fulfil(["2"], SHAPE);
    expect(await outcomes([first, duplicate, other])).to.deep.equal(["timed out", "aborted", "2"]);
  });

  it("gives each push the length of the list after it", async () => {
    const members = [
      command("rpush", "k", "a"),
      command("rpush", "k", "b", "c"),
      command("rpush", "k", "d", "e", "f"),
    ];
    const run = runOf(members);
    expect(run.command.args).to.deep.equal(["k", "a", "b", "c", "d", "e", "f"]);
    run.command.fulfil(10, SHAPE);
    expect(await outcomes(members)).to.deep.equal([5, 7, 10]);
  });

  it("fails all of them if the reply does not fit, each with its own error", async () => {
    const members = [command("get", "a"), command("get", "b")];
    runOf(members).command.fulfil(["1"], SHAPE);
    const errors = await Promise.all(members.map(({ promise }) => promise.catch((error: Error) => error)));
    expect(errors[0]).to.be.instanceOf(Error).and.not.equal(errors[1]);
    expect((errors[0] as Error).message)
      .to.contain("1 elements")
      .and.to.contain("of 2");
  });

  it("gives each member a copy of its error with the member's command", async () => {
    for (const error of [new ReplyError("OOM no memory"), new OutcomeUnknownError()]) {
      const members = [command("set", "a", "1"), command("set", "b", "2")];
      runOf(members).command.fail(error);
      const found = await Promise.all(
        members.map(({ promise }) =>
          promise.then(
            (): ReplyError | null => null,
            (reason: ReplyError) => reason,
          ),
        ),
      );
      expect(found.map((one) => one?.command)).to.deep.equal([
        { name: "set", args: ["a", "1"] },
        { name: "set", args: ["b", "2"] },
      ]);
      for (const one of found) expect(one).to.be.instanceOf(error.constructor);
      expect(found[0]).to.not.equal(found[1]);
    }
  });

  it("leaves its members alone once they are divided", () => {
    const members = [command("get", "a"), command("get", "b")];
    const run = runOf(members);
    run.divide(new ReplyError("TRYAGAIN"));
    expect([run.command, ...members].map(({ isSettled }) => isSettled)).to.deep.equal([true, false, false]);
    for (const one of members) one.fail(new Error("the test is over"));
  });
});
