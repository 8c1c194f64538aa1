/**
 * The command queue against a list of units in the order in which they were handed over: random
 * operations, and after each of them the queue has to say what the list says.
 */

import { expect } from "chai";
import fc from "fast-check";
import { Command, CommandState, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { CommandQueue } from "../../../src/connection/command-queue";
import { fixedRuns } from "../../support/properties";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;
const get = specOf("get");

interface Unit {
  readonly number: number;
  readonly command: Command;
  state: "unsent" | "sent" | "gone";
  outcomes: string[];
}

type Operation =
  | { readonly name: "push" | "reply" | "error reply" | "lose" }
  | { readonly name: "batch" | "write" | "give up"; readonly count: number };

const counted = (name: "batch" | "write" | "give up", max: number): fc.Arbitrary<Operation> =>
  fc.integer({ min: 1, max }).map((count) => ({ name, count }));
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Operation>({ name: "push" }) },
  { weight: 2, arbitrary: counted("batch", 6) },
  { weight: 1, arbitrary: counted("batch", 1100) },
  { weight: 2, arbitrary: counted("batch", 400) },
  { weight: 6, arbitrary: counted("write", 8) },
  { weight: 1, arbitrary: counted("write", 2000) },
  { weight: 6, arbitrary: fc.constant<Operation>({ name: "reply" }) },
  { weight: 3, arbitrary: fc.constant<Operation>({ name: "error reply" }) },
  { weight: 2, arbitrary: counted("give up", 10) },
  { weight: 1, arbitrary: fc.constant<Operation>({ name: "lose" }) },
);

class Bench {
  private readonly queue = new CommandQueue();
  private units: Unit[] = [];
  private readonly all: Unit[] = [];
  private answered = 0;

  run(step: Operation): void {
    switch (step.name) {
      case "push":
        this.queue.push(this.newCommand());
        break;
      case "batch":
        this.queue.pushBatch(Array.from({ length: step.count }, () => this.newCommand()));
        break;
      case "write":
        this.write(step.count);
        break;
      case "give up":
        this.giveUp(step.count);
        break;
      case "lose":
        this.lose();
        break;
      default:
        this.reply(step.name === "error reply");
    }
    this.check();
  }

  /** Everything that was handed over settles once in the end. */
  end(): void {
    this.lose();
    for (const { outcomes, number } of this.all) expect(outcomes, `unit ${number}`).to.have.length(1);
  }

  private newCommand(): Command {
    const number = this.all.length;
    const command = new Command(get, [String(number)], false, {
      fulfil: () => this.all[number]?.outcomes.push("fulfilled"),
      reject: () => this.all[number]?.outcomes.push("failed"),
    });
    this.note({ number, command, state: "unsent", outcomes: [] });
    return command;
  }

  private note(unit: Unit): void {
    this.units.push(unit);
    this.all.push(unit);
  }

  private unsent(): Unit[] {
    return this.units.filter(({ state }) => state === "unsent");
  }

  private sent(): Unit[] {
    return this.units.filter(({ state }) => state === "sent");
  }

  /** As a flush does, up to `count` commands. */
  private write(count: number): void {
    let left = count;
    while (left > 0) {
      const [next] = this.unsent();
      const entry = this.queue.takeUnsent();
      if (next === undefined) {
        expect(entry).to.equal(undefined);
        return;
      }
      expect(entry).to.equal(next.command);
      left--;
      if (entry?.isSettled === true) {
        this.queue.drop(entry);
        next.state = "gone";
      } else {
        (entry as Command).state = CommandState.Sent;
        next.state = "sent";
      }
    }
  }

  private reply(isError: boolean): void {
    const [oldest] = this.sent();
    const head = this.queue.head();
    if (oldest === undefined) {
      expect(head).to.equal(undefined);
      expect(this.queue.shift()).to.equal(undefined);
      return;
    }
    expect(head?.args[0]).to.equal(String(oldest.number));
    expect(this.queue.shift()).to.equal(head);
    if (isError) head?.fail(new Error("ERR"));
    else head?.fulfil("value", SHAPE);
    oldest.state = "gone";
    this.answered++;
  }

  /** Time limits: commands settle wherever they are, and keep their places. */
  private giveUp(step: number): void {
    const waiting = this.units.filter(({ state }) => state !== "gone");
    for (let i = 0; i < waiting.length; i += step) waiting[i]?.command.fail(new Error("timed out"));
  }

  private lose(): void {
    const { sent, unsent } = this.queue.takeAll();
    const numbers = (units: readonly Unit[]): string[] => units.map((one) => `${one.number}`);
    const numbersOf = (commands: readonly Command[]): unknown[] => commands.map(({ args }) => args[0]);
    expect(numbersOf(sent)).to.deep.equal(numbers(this.sent()));
    expect(numbersOf(unsent)).to.deep.equal(numbers(this.unsent()));
    for (const command of [...sent, ...unsent]) command.fail(new Error("the connection is lost"));
    this.units = [];
  }

  private check(): void {
    const { queue } = this;
    this.units = this.units.filter(({ state }) => state !== "gone");
    expect(queue.inFlight).to.equal(this.sent().length);
    expect(queue.unsent).to.equal(this.unsent().length);
    expect(queue.length).to.equal(this.units.length);
    expect(queue.answered).to.equal(this.answered);
  }
}

const isUnsettled = ({ isSettled }: Command): boolean => !isSettled;

describe("the command queue", () => {
  it("says what a list of its commands says", function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (steps) => {
        const bench = new Bench();
        for (const step of steps) bench.run(step);
        bench.end();
      }),
      fixedRuns(300),
    );
  });

  it("forgets commands that settled while nothing could be written, and no others", () => {
    const queue = new CommandQueue();
    const kept: Command[] = [];
    for (let i = 0; i < 20_000; i++) {
      const isKept = i % 1000 === 0;
      const command = new Command(isKept && i > 0 ? specOf("select") : get, ["1"], false, IGNORED);
      queue.push(command);
      if (isKept) kept.push(command);
      if (i > 0) command.fail(new Error("timed out"));
    }
    expect(queue.unsent).to.be.lessThan(8300);
    const left = queue.takeAll().unsent;
    expect(left.filter((command) => kept.includes(command))).to.deep.equal(kept);
    kept[0]?.fail(new Error("the connection is lost"));
  });

  it("takes a large batch as a whole: commands that were given up stay so, and the others are not written", () => {
    const queue = new CommandQueue();
    const batch = Array.from({ length: 2000 }, () => new Command(get, ["k"], false, IGNORED));
    // As a lost connection leaves them.
    for (const command of batch) command.state = CommandState.Sent;
    const isGivenUp = (index: number): boolean => index % 3 === 0;
    batch.forEach((command, index) => void (isGivenUp(index) && command.fail(new Error("timed out"))));
    queue.pushBatch(batch);
    expect(batch.map(({ state }) => state)).to.deep.equal(
      batch.map((_, index) => (isGivenUp(index) ? CommandState.Settled : CommandState.Queued)),
    );
    expect([queue.unsent, queue.inFlight]).to.deep.equal([2000, 0]);
    const small = [0, 1].map(() => new Command(get, ["k"], false, IGNORED));
    for (const command of small) command.state = CommandState.Sent;
    small[0]?.fail(new Error("timed out"));
    queue.pushBatch(small);
    expect(small.map(({ state }) => state)).to.deep.equal([CommandState.Settled, CommandState.Queued]);
    for (const command of small) command.fail(new Error("the test is over"));
    for (const command of batch) command.fail(new Error("the test is over"));
  });

  it("counts the bytes of unanswered and of unsent commands, without those that are given up", () => {
    const queue = new CommandQueue();
    const made = ["a", "bb", "cccc", "dddddddd"].map((key) => new Command(get, [key], false, IGNORED));
    for (const command of made) queue.push(command);
    expect([queue.bytesInFlight, queue.unsentBytes]).to.deep.equal([0, 15]);
    for (let i = 0; i < 2; i++) (queue.takeUnsent() as Command).state = CommandState.Sent;
    expect([queue.bytesInFlight, queue.unsentBytes]).to.deep.equal([3, 12]);
    made[1]?.fail(new Error("timed out"));
    made[3]?.fail(new Error("timed out"));
    expect(
      [queue.bytesInFlight, queue.unsentBytes],
      "the server still answers the written one",
    ).to.deep.equal([3, 4]);
    const dropped = queue.takeUnsent() as Command;
    dropped.fail(new Error("timed out"));
    queue.drop(dropped);
    expect(queue.bytesInFlight).to.equal(3);
    for (const command of made) command.fail(new Error("the test is over"));
  });

  it("tells the youngest command that is wanted, written or not", () => {
    const queue = new CommandQueue();
    const made = Array.from({ length: 1000 }, (_, i) => new Command(get, [`${i}`], false, IGNORED));
    queue.push(made[0] as Command);
    for (const command of made.slice(1)) queue.push(command);
    for (let i = 0; i < 500; i++) {
      const command = queue.takeUnsent() as Command;
      command.state = CommandState.Sent;
    }
    expect(queue.lastOf(isUnsettled)).to.equal(made[999]);
    for (const command of made.slice(300)) command.fulfil("v", SHAPE);
    expect(queue.lastOf(isUnsettled)).to.equal(made[299]);
    for (const command of made.slice(0, 300)) command.fulfil("v", SHAPE);
    expect(queue.lastOf(isUnsettled)).to.equal(undefined);
  });

  it("keeps its commands however many were answered before, and the number of the answered ones", () => {
    const queue = new CommandQueue();
    const count = 70_000;
    const make = (): Command => new Command(get, ["k"], false, IGNORED);
    const answer = (): void => {
      const command = queue.takeUnsent() as Command;
      command.state = CommandState.Sent;
      queue.shift()?.fulfil("v", SHAPE);
    };
    const [last, next] = [make(), make()];
    for (let i = 0; i < count; i++) {
      queue.push(make());
      if (i === count - 1) queue.push(last);
      answer();
    }
    expect([queue.answered, queue.unsent, queue.inFlight]).to.deep.equal([count, 1, 0]);
    queue.push(next);
    expect(queue.takeUnsent()).to.equal(last);
    last.state = CommandState.Sent;
    expect(queue.head()).to.equal(last);
    expect(queue.takeAll()).to.deep.equal({ sent: [last], unsent: [next] });
    for (const one of [last, next]) one.fail(new Error("the test is over"));
  });
});
