import { expect } from "chai";
import {
  ClusterTransaction,
  endOfTransaction,
  madeWhole,
  makeTransaction,
} from "../../../src/cluster/cluster-transaction";
import { Command } from "../../../src/command/command";
import type { CommandExtra } from "../../../src/command/command-extra";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

function command(name: string, ...args: string[]): Command {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return new Command(specOf(name), args, false, completion);
}

function transaction(...members: Command[]): Command[] {
  return [command("multi"), ...members, command("exec")];
}

describe("transaction groups", () => {
  it("end at EXEC or DISCARD", () => {
    const batch = [command("get", "a"), ...transaction(command("get", "b")), command("get", "c")];
    expect(endOfTransaction(batch, 1)).to.equal(4);
    expect(endOfTransaction([command("multi"), command("discard"), command("exec")], 0)).to.equal(2);
    expect(endOfTransaction([command("multi"), command("get", "a")], 0)).to.equal(2);
  });

  it("share one slot, and one batch", () => {
    const commands = transaction(
      command("set", "{t}a", "1"),
      command("mget", "{t}b", "{t}c"),
      command("ping"),
    );
    const group = makeTransaction(commands) as ClusterTransaction;
    expect(group).to.be.instanceOf(ClusterTransaction);
    expect(commands.every(({ batch, slot }) => batch === group && slot === group.slot)).to.equal(true);
    expect((makeTransaction(transaction(command("ping"))) as ClusterTransaction).slot).to.equal(-1);
  });

  it("are refused with keys of two slots, naming both, or without an end", () => {
    const crossed = makeTransaction(
      transaction(command("set", "a", "1"), command("mget", "b", "c")),
    ) as Error;
    expect(crossed.message).to.contain('"a"').and.to.contain('"b"');
    const long = makeTransaction(transaction(command("get", "x".repeat(5000)), command("get", "y"))) as Error;
    expect(long.message.length).to.be.lessThan(400);
    expect(makeTransaction([command("multi"), command("get", "a")])).to.have.property(
      "name",
      "OpenTransactionError",
    );
  });

  it("go again as a whole, with copies for what is settled", () => {
    const commands = transaction(command("get", "a"), command("get", "{a}b"));
    const group = makeTransaction(commands) as ClusterTransaction;
    const [multi, first, second, exec] = commands as [Command, Command, Command, Command];
    multi.fulfil("OK", SHAPE);
    first.fulfil("QUEUED", SHAPE);
    group.defer(second, new Error("MOVED"));
    const again = group.nextRun();
    expect(again.map(({ name }) => name)).to.deep.equal(["multi", "get", "get", "exec"]);
    expect(again[0]).to.not.equal(multi);
    expect(again[1]).to.not.equal(first);
    expect(again[2]).to.equal(second);
    expect(again[3]).to.equal(exec);
    expect(again.every(({ batch }) => batch === group)).to.equal(true);
    again[1]?.fulfil("QUEUED", SHAPE);
    expect(second.isSettled).to.equal(false);
  });

  it("send a script again as a script, whose text the other node may lack", () => {
    const commands = transaction(command("evalsha", "sha", "1", "a"), command("get", "a"));
    const group = makeTransaction(commands) as ClusterTransaction;
    const script = {} as NonNullable<CommandExtra["script"]>;
    (commands[1] as Command).ensureExtra().script = script;
    for (const one of commands.slice(0, 3)) one.fulfil("QUEUED", SHAPE);
    const scripts = group.nextRun().map(({ extra }) => extra?.script ?? null);
    expect(scripts).to.deep.equal([null, script, null, null]);
  });

  it("take the place of all their returned members, once", () => {
    const commands = transaction(command("get", "a"), command("get", "{a}b"));
    makeTransaction(commands);
    const [multi, first, second, exec] = commands as [Command, Command, Command, Command];
    multi.fulfil("OK", SHAPE);
    const [before, behind] = [command("get", "x"), command("get", "y")];
    const all = madeWhole([before, first, second, exec, behind]);
    expect(all.map(({ name }) => name)).to.deep.equal(["get", "multi", "get", "get", "exec", "get"]);
    expect([all[0], ...all.slice(2)]).to.deep.equal([before, first, second, exec, behind]);
    expect(madeWhole(all), "complete").to.equal(all);
  });

  it("tell deferred errors when the transaction is over after all", async () => {
    const commands = transaction(command("get", "a"));
    const group = makeTransaction(commands) as ClusterTransaction;
    const [, member, exec] = commands as [Command, Command, Command];
    group.defer(member, new Error("MOVED 1 h:1"));
    exec.fail(new Error("given up"));
    expect(member.isSettled).to.equal(true);
    expect(await member.promise.catch((error: Error) => error.message)).to.equal("MOVED 1 h:1");
  });

  it("tell a tracer once of a member whose caller gave up while its error was deferred", () => {
    const commands = transaction(command("get", "a"));
    const group = makeTransaction(commands) as ClusterTransaction;
    const [, member, exec] = commands as [Command, Command, Command];
    const told: string[] = [];
    const { reject } = member;
    member.reject = (error) => {
      told.push(error.message);
      reject(error);
    };
    group.defer(member, new Error("MOVED 1 h:1"));
    member.fail(new Error("timed out"));
    exec.fail(new Error("given up"));
    expect(told).to.deep.equal(["timed out"]);
  });

  it("count as unanswered until EXEC is answered", () => {
    const commands = transaction(command("get", "a"));
    const group = makeTransaction(commands) as ClusterTransaction;
    group.isAnswered = true;
    commands[0]?.fulfil("OK", SHAPE);
    expect(group.isAnswered).to.equal(false);
  });
});
