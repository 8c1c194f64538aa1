/** The queue of waiting commands: order, what a lost connection puts back, and what has settled meanwhile. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState } from "../../../src/command/command";
import { CommandFlag } from "../../../src/command/command-spec";
import { specOf } from "../../../src/command/command-table";
import { bytesOf } from "../../../src/command/size";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { Ending } from "../../support/ending";
import { fixedRuns } from "../../support/properties";

const made: Command[] = [];

function command(name: string, key: string): Command {
  const one = new Command(specOf(name), [key], false, new Ending());
  made.push(one);
  return one;
}

function keys(commands: readonly Command[]): string[] {
  return commands.map(({ args }) => String(args[0]));
}

function drained(queue: OfflineQueue): string[] {
  const sent: Command[] = [];
  queue.drain(
    (one) => sent.push(one),
    () => false,
  );
  return keys(sent);
}

type Step = "push" | "requeue" | "putBack" | "settle" | "drain" | "takeAll" | "takeThose" | "takeWaiting";

describe("OfflineQueue", () => {
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  it("counts the written ones of the commands that a lost connection has left", () => {
    const queue = new OfflineQueue();
    const left = ["a", "b", "c"].map((key) => command("get", key));
    for (const one of left.slice(0, 2)) one.state = CommandState.Sent;
    expect(queue.putBack(left)).to.equal(2);
    expect(queue.putBack(queue.takeAll()), "none is on a connection any more").to.equal(0);
  });

  it("keeps every command once and in order, on random programs", () => {
    const steps = fc.array(
      fc.constantFrom<Step>(
        "push",
        "push",
        "requeue",
        "putBack",
        "settle",
        "drain",
        "takeAll",
        "takeThose",
        "takeWaiting",
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (program) => {
        const queue = new OfflineQueue();
        let requeued: Command[] = [];
        let waiting: Command[] = [];
        const make = (): Command => command("get", `k${made.length}`);
        for (const step of program) {
          if (step === "push") {
            const one = make();
            queue.push(one);
            waiting.push(one);
          } else if (step === "requeue") {
            const one = make();
            queue.requeue(one);
            requeued.push(one);
          } else if (step === "putBack") {
            const left = [make(), make()];
            queue.putBack(left);
            waiting = [...requeued, ...left, ...waiting];
            requeued = [];
          } else if (step === "settle") waiting[waiting.length >> 1]?.fail(new Error("given up"));
          else if (step === "drain") {
            const awaited = waiting.filter(({ isSettled }) => !isSettled);
            expect(drained(queue)).to.deep.equal(keys(awaited));
            waiting = [];
          } else if (step === "takeAll") {
            expect(keys(queue.takeAll())).to.deep.equal(keys([...requeued, ...waiting]));
            requeued = [];
            waiting = [];
          } else if (step === "takeThose") {
            const isWanted = ({ args }: Command): boolean => /[02468]$/.test(String(args[0]));
            const taken = [...requeued, ...waiting].filter(isWanted);
            expect(keys(queue.takeThose(isWanted))).to.deep.equal(keys(taken));
            [requeued, waiting] = [requeued, waiting].map((all) => all.filter((one) => !isWanted(one))) as [
              Command[],
              Command[],
            ];
          } else {
            expect(keys(queue.takeWaiting())).to.deep.equal(keys(waiting));
            waiting = [];
          }
          expect(queue.length).to.equal(requeued.length + waiting.length);
          expect(queue.bytes).to.equal(bytesOf([...requeued, ...waiting]));
          expect(keys(queue.pending())).to.deep.equal(keys([...requeued, ...waiting]));
        }
      }),
      fixedRuns(500),
    );
  });

  it("says of what waits that it is queued, and leaves what has settled as it is", () => {
    const queue = new OfflineQueue();
    const [fresh, sent, settled] = ["a", "b", "c"].map((key) => command("get", key)) as [
      Command,
      Command,
      Command,
    ];
    sent.state = CommandState.Sent;
    settled.fail(new Error("given up"));
    queue.push(fresh);
    queue.putBack([sent, settled]);
    expect([sent.state, settled.state, fresh.state]).to.deep.equal([
      CommandState.Queued,
      CommandState.Settled,
      CommandState.Queued,
    ]);
  });

  it("sends a WATCH whose caller has given up: it guards what follows", () => {
    const queue = new OfflineQueue();
    for (const name of ["watch", "get"]) {
      const one = command(name, name);
      queue.push(one);
      one.fail(new Error("given up"));
    }
    queue.push(command("multi", "multi"));
    expect(drained(queue)).to.deep.equal(["watch", "multi"]);
  });

  it("tells the batch of a command that it does not send", () => {
    for (const end of ["drain", "sweep"]) {
      const queue = new OfflineQueue();
      const batch = new Batch(BatchKind.Transaction, 1, null);
      const given = command("get", "a");
      given.batch = batch;
      queue.push(given);
      given.fail(new Error("given up"));
      expect(batch.isRefused, end).to.equal(false);
      if (end === "drain") drained(queue);
      else for (let i = 0; i < 4096; i++) queue.push(command("get", `k${i}`));
      expect(batch.isRefused, end).to.equal(true);
    }
  });

  it("does not keep commands that settle while they wait", () => {
    const queue = new OfflineQueue();
    const kept = command("get", "kept");
    queue.push(kept);
    for (let i = 0; i < 10_000; i++) {
      const one = command("get", `k${i}`);
      queue.push(one);
      one.fail(new Error("given up"));
    }
    expect(queue.length).to.be.below(4096);
    expect(drained(queue)).to.deep.equal(["kept"]);
  });

  it("sweeps no more often than the queue doubles", () => {
    const queue = new OfflineQueue();
    for (let i = 0; i < 20_000; i++) queue.push(command("get", `k${i}`));
    expect(queue.length).to.equal(20_000);
    expect(drained(queue).length).to.equal(20_000);
  });

  it("finds the youngest command, and behind all others the requeued ones", () => {
    const queue = new OfflineQueue();
    queue.requeue(command("get", "first"));
    queue.requeue(command("get", "second"));
    expect(queue.lastOf(() => true)?.args).to.deep.equal(["second"]);
    queue.push(command("set", "third"));
    queue.push(command("get", "fourth"));
    expect(queue.lastOf(() => true)?.args).to.deep.equal(["fourth"]);
    expect(queue.lastOf(({ spec }) => spec.lowerName === "set")?.args).to.deep.equal(["third"]);
    expect(queue.lastOf(({ args }) => args[0] === "first")?.args).to.deep.equal(["first"]);
    expect(queue.lastOf(() => false)).to.equal(undefined);
  });

  it("knows whether a command with a flag waits that has not settled", () => {
    const queue = new OfflineQueue();
    const watch = command("watch", "k");
    queue.push(command("get", "k"));
    expect(queue.has(CommandFlag.Watch)).to.equal(false);
    queue.push(watch);
    expect(queue.has(CommandFlag.Watch)).to.equal(true);
    watch.fail(new Error("given up"));
    expect(queue.has(CommandFlag.Watch)).to.equal(false);
  });

  it("marks commands of a lost connection as not written, except those that are given up", () => {
    const queue = new OfflineQueue();
    const commands = Array.from({ length: 4 }, () => new Command(specOf("get"), ["k"], false, new Ending()));
    for (const command of commands) command.state = CommandState.Sent;
    const [kept, givenUp, asked, askedInVain] = commands as [Command, Command, Command, Command];
    for (const one of [givenUp, askedInVain]) one.fail(new Error("timed out"));
    for (const one of [asked, askedInVain]) queue.requeue(one);
    expect(queue.length).to.equal(2);
    expect(queue.putBack([kept, givenUp]), "that had been written").to.equal(1);
    expect(commands.map(({ state }) => state)).to.deep.equal([
      CommandState.Queued,
      CommandState.Settled,
      CommandState.Queued,
      CommandState.Settled,
    ]);
    expect(queue.takeAll()).to.deep.equal([asked, askedInVain, kept, givenUp]);
    for (const one of [kept, asked]) one.fail(new Error("the test is over"));
  });
});
