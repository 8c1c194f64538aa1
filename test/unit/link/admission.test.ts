import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { costOf } from "../../../src/command/size";
import { Admission, type Bounds } from "../../../src/link/admission";

class Below implements Dispatcher {
  readonly taken: Command[] = [];

  dispatch(command: Command): void {
    this.taken.push(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.taken.push(...commands);
  }

  answer(count: number): void {
    for (const command of this.taken.splice(0, count)) {
      command.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
    }
  }
}

describe("Admission", () => {
  function setUp(bounds: Bounds): { admission: Admission; below: Below } {
    const below = new Below();
    return { admission: new Admission(below, bounds), below };
  }

  function make(value = "v"): Command {
    const command = makeCommand(specOf("set"), ["k", value], false, new PromiseCompletion());
    command.promise.catch(() => {});
    return command;
  }

  it("lets callers wait in order and admits them as others settle", () => {
    const { admission, below } = setUp({ maxCommands: 2 });
    const commands = Array.from({ length: 5 }, () => make());
    for (const command of commands) admission.dispatch(command);
    expect(below.taken).to.deep.equal(commands.slice(0, 2));
    expect(admission.waitingCount).to.equal(3);
    below.answer(1);
    expect(below.taken).to.deep.equal(commands.slice(1, 3));
    below.answer(2);
    expect(below.taken).to.deep.equal(commands.slice(3));
    expect(admission.waitingCount).to.equal(0);
  });

  it("a small command does not overtake a waiting large one", () => {
    const [first, large, small] = [make("12345"), make("123456789"), make("1")] as const;
    const { admission, below } = setUp({ maxBytes: costOf(first) + costOf(small) });
    for (const command of [first, large, small]) admission.dispatch(command);
    expect(below.taken).to.deep.equal([first]);
    below.answer(1);
    expect(below.taken).to.deep.equal([large]);
  });

  it("does not admit the rest of a transaction whose MULTI has failed", async () => {
    const { admission, below } = setUp({ maxCommands: 10 });
    const multi = makeCommand(specOf("multi"), [], false, new PromiseCompletion());
    multi.promise.catch(() => {});
    admission.dispatch(multi);
    multi.fail(new Error("no connection"));
    const member = make();
    admission.dispatch(member);
    expect([member.isSettled, below.taken]).to.deep.equal([true, [multi]]);
    await null;
    const later = make();
    admission.dispatch(later);
    expect([later.isSettled, below.taken.at(-1)]).to.deep.equal([false, later]);
    below.answer(2);
  });

  it("counts what commands cost, however short their arguments are", () => {
    const { admission, below } = setUp({ maxBytes: 1024 * 1024 });
    for (let index = 0; index < 10_000; index++) admission.dispatch(make());
    expect(below.taken.length).to.be.within(500, 2000);
    expect(admission.bytes).to.equal(below.taken.reduce((sum, command) => sum + costOf(command), 0));
    below.answer(below.taken.length);
  });

  it("admits a batch as a whole, and an oversize one when nothing else is outstanding", () => {
    const { admission, below } = setUp({ maxCommands: 3 });
    const single = make();
    const batch = Array.from({ length: 5 }, () => make());
    admission.dispatch(single);
    admission.dispatchBatch(batch);
    expect(below.taken).to.deep.equal([single]);
    below.answer(1);
    expect(below.taken).to.deep.equal(batch);
  });

  it("refuses with a clear error when asked to, and sends nothing of it", async () => {
    const { admission, below } = setUp({ maxCommands: 1, policy: "reject" });
    admission.dispatch(make());
    const refused = make();
    admission.dispatch(refused);
    const error = await refused.promise.then(
      () => null,
      (failure: Error & { code?: string }) => failure,
    );
    expect(error?.code).to.equal("BOUNDS_EXCEEDED");
    expect(error?.message).to.contain("limit of 1 commands");
    expect(below.taken).to.have.length(1);
  });

  it("does not send what settled while it waited", () => {
    const { admission, below } = setUp({ maxCommands: 1 });
    admission.dispatch(make());
    const timedOut = make();
    const last = make();
    admission.dispatch(timedOut);
    admission.dispatch(last);
    timedOut.fail(new Error("too late"));
    below.answer(1);
    expect(below.taken).to.deep.equal([last]);
  });

  it("forgets whoever gave up while waiting, however many they were", () => {
    const { admission, below } = setUp({ maxCommands: 1 });
    admission.dispatch(make());
    for (let i = 0; i < 20_000; i++) {
      const command = make();
      admission.dispatch(command);
      command.fail(new Error("too late"));
    }
    const last = make();
    admission.dispatch(last);
    expect(admission.waitingCount).to.be.below(5000);
    below.answer(1);
    expect(below.taken).to.deep.equal([last]);
    expect(admission.waitingCount).to.equal(0);
  });

  it("hands on a batch as a whole when a member gave up while it waited", () => {
    const { admission, below } = setUp({ maxCommands: 1 });
    admission.dispatch(make());
    const batch = [make(), make(), make()];
    admission.dispatchBatch(batch);
    batch[0]?.fail(new Error("too late"));
    below.answer(1);
    expect(below.taken).to.deep.equal(batch);
  });

  it("dispatches all that waits when the client is closing, in order", () => {
    const { admission, below } = setUp({ maxCommands: 1 });
    const commands = Array.from({ length: 4 }, () => make());
    for (const command of commands) admission.dispatch(command);
    admission.letGo();
    expect([below.taken, admission.waitingCount]).to.deep.equal([commands, 0]);
    below.answer(4);
  });

  it("lets any number of commands go that fail as soon as they are dispatched", () => {
    const { admission, below } = setUp({ maxCommands: 1 });
    const [first, ...others] = Array.from({ length: 5000 }, () => make());
    admission.dispatch(first as Command);
    for (const command of others) admission.dispatch(command);
    below.dispatch = (command) => command.fail(new Error("the client is closed"));
    expect(() => below.answer(1)).to.not.throw();
    expect([others.every(({ isSettled }) => isSettled), admission.waitingCount]).to.deep.equal([true, 0]);
  });

  describe("of a transaction opened by hand", () => {
    function named(name: string): Command {
      const command = makeCommand(specOf(name), [], false, new PromiseCompletion());
      command.promise.catch(() => {});
      return command;
    }

    for (const end of ["exec", "discard"]) {
      it(`always admits its ${end.toUpperCase()}, and only that of an open one`, () => {
        const { admission, below } = setUp({ maxCommands: 2 });
        const commands = [named("multi"), make(), named(end), named(end)];
        for (const command of commands) admission.dispatch(command);
        expect(below.taken, "the second one ends nothing").to.deep.equal(commands.slice(0, 3));
        below.answer(3);
        expect(below.taken).to.deep.equal(commands.slice(3));
        below.answer(1);
      });
    }

    it("aborts the waiting commands of one whose MULTI fails, and nothing behind its EXEC", () => {
      for (const isAdmitted of [true, false]) {
        const { admission, below } = setUp({ maxCommands: 1 });
        const before = make();
        if (!isAdmitted) admission.dispatch(before);
        const [multi, member, exec, behind] = [named("multi"), make(), named("get"), make()];
        const end = named("exec");
        for (const command of [multi, member, exec]) admission.dispatch(command);
        if (!isAdmitted) admission.dispatch(end);
        admission.dispatch(behind);
        multi.fail(new Error("given up"));
        if (!isAdmitted) below.answer(1);
        expect([member.isSettled, exec.isSettled]).to.deep.equal([true, true]);
        expect(behind.isSettled, isAdmitted ? "still inside" : "behind EXEC").to.equal(isAdmitted);
        below.answer(below.taken.length);
        behind.fail(new Error("the test is over"));
      }
    });

    it("forgets commands that were given up behind it, and keeps its own", () => {
      const { admission, below } = setUp({ maxCommands: 1 });
      admission.dispatch(make());
      const transaction = [named("multi"), make(), named("exec")];
      for (const command of transaction) admission.dispatch(command);
      transaction[1]?.fail(new Error("too late"));
      for (let i = 0; i < 6_000; i++) {
        const command = make();
        admission.dispatch(command);
        command.fail(new Error("too late"));
      }
      expect(admission.waitingCount).to.be.within(3, 5000);
      below.answer(1);
      expect(below.taken[0]).to.equal(transaction[0]);
      admission.letGo();
      below.answer(below.taken.length);
    });
  });
});
