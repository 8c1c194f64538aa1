/** One command for several: what it is sent with, and what each member is told. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../../src/command/batch";
import { Command, CommandState } from "../../../../src/command/command";
import { specOf } from "../../../../src/command/command-table";
import { ConnectionKnowledge } from "../../../../src/command/merging/connection-knowledge";
import { formsOf } from "../../../../src/command/merging/forms";
import { CommandRun } from "../../../../src/command/merging/merged-run";
import { PromiseCompletion } from "../../../../src/command/promise-completion";
import { ReplyError } from "../../../../src/errors";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const FORMS = formsOf(["get", "hget", "set", "rpush"]);
const passes = (): boolean => true;

function formOf(name: string) {
  const form = FORMS.get(name);
  if (form === undefined) throw new Error(`no form for ${name}`);
  return form;
}

function command(name: string, ...args: string[]): Command {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return new Command(specOf(name), args, false, completion);
}

function outcomes(commands: readonly Command[]): Promise<unknown[]> {
  return Promise.all(commands.map(({ promise }) => promise.catch((error: Error) => error.message)));
}

describe("CommandRun", () => {
  const knowledge = new ConnectionKnowledge();

  it("sends what all of them name, and gives each its element", async () => {
    const members = [command("get", "a"), command("get", "b")];
    const run = new CommandRun(formOf("get"), members, null, knowledge);
    expect(run.begin(passes)).to.equal(true);
    expect([run.command.name, run.command.args]).to.deep.equal(["mget", ["a", "b"]]);
    run.fulfil(run.command, ["1", null], SHAPE);
    expect(await outcomes(members)).to.deep.equal(["1", null]);
  });

  it("sends the key once where all have the same", () => {
    const members = [command("hget", "k", "a"), command("hget", "k", "b")];
    const run = new CommandRun(formOf("hget"), members, null, knowledge);
    run.begin(passes);
    expect(run.command.args).to.deep.equal(["k", "a", "b"]);
  });

  it("leaves out who has given up, and gives the others what is theirs", async () => {
    const members = [command("get", "a"), command("get", "b"), command("get", "c")];
    const [, second] = members as [Command, Command, Command];
    const run = new CommandRun(formOf("get"), members, null, knowledge);
    second.fail(new Error("timed out"));
    expect(run.begin((member) => !member.isSettled)).to.equal(true);
    expect(run.command.args).to.deep.equal(["a", "c"]);
    expect(run.waiting).to.equal(2);
    run.fulfil(run.command, ["1", "3"], SHAPE);
    expect(await outcomes(members)).to.deep.equal(["1", "timed out", "3"]);
  });

  it("is not sent when all have given up", () => {
    const run = new CommandRun(formOf("get"), [command("get", "a")], null, knowledge);
    expect(run.begin(() => false)).to.equal(false);
  });

  it("is sent for those who ask the same when its first asker has given up, and shares no list among them", async () => {
    const [first, duplicate] = [command("lrange", "k", "0", "-1"), command("lrange", "k", "0", "-1")];
    const run = new CommandRun(null, [first], new Map([[first, [duplicate]]]), knowledge);
    first.fail(new Error("timed out"));
    expect(run.begin((member) => !member.isSettled)).to.equal(true);
    const reply = ["x"];
    run.fulfil(run.command, reply, SHAPE);
    const [, told] = await outcomes([first, duplicate]);
    expect(told).to.deep.equal(reply);
    expect(told).to.not.equal(reply);
  });

  it("tells each push the length that it would have been told", async () => {
    const members = [
      command("rpush", "k", "a"),
      command("rpush", "k", "b", "c"),
      command("rpush", "k", "d", "e", "f"),
    ];
    const run = new CommandRun(formOf("rpush"), members, null, knowledge);
    run.begin(passes);
    expect(run.command.args).to.deep.equal(["k", "a", "b", "c", "d", "e", "f"]);
    run.fulfil(run.command, 10, SHAPE);
    expect(await outcomes(members)).to.deep.equal([5, 7, 10]);
  });

  it("fails all of them when the reply is not that of the form, each with an error of its own", async () => {
    const members = [command("get", "a"), command("get", "b")];
    const run = new CommandRun(formOf("get"), members, null, knowledge);
    run.begin(passes);
    run.fulfil(run.command, ["1"], SHAPE);
    const errors = await Promise.all(members.map(({ promise }) => promise.catch((error: Error) => error)));
    expect(errors[0]).to.be.instanceOf(Error);
    expect(errors[0]).to.not.equal(errors[1]);
    expect((errors[0] as Error).message)
      .to.contain("1 elements")
      .and.to.contain("of 2");
  });

  it("knows a refusal of the form from an error of its members, and remembers it", () => {
    const line = new ConnectionKnowledge();
    const form = formOf("get");
    const run = new CommandRun(form, [command("get", "a")], null, line);
    expect(run.concernsMembers(new ReplyError("LOADING the dataset"))).to.equal(true);
    expect(line.rests(form)).to.equal(false);
    expect(run.concernsMembers(new ReplyError("NOPERM no mget"))).to.equal(false);
    expect(line.rests(form)).to.equal(true);
    // Identical reads are sent as one of them.
    const same = new CommandRun(null, [command("get", "a")], null, line);
    expect(same.concernsMembers(new ReplyError("NOPERM no get"))).to.equal(true);
  });

  it("notes the first answer of a batch once, and asks only of members with a life of their own", () => {
    const batch = new Batch(BatchKind.Automatic, 0, null);
    const members = [command("get", "a"), command("get", "b")];
    for (const member of members) batch.add(member);
    const run = new CommandRun(formOf("get"), members, null, knowledge);
    run.begin(() => expect.fail("nothing has to be asked"));
    expect(members.map(({ state }) => state)).to.deep.equal([CommandState.Sent, CommandState.Sent]);
    run.fulfil(run.command, ["1", "2"], SHAPE);
    expect([batch.isAnswered, batch.left]).to.deep.equal([true, 0]);
  });
});
