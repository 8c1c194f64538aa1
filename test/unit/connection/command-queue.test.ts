/**
 * The command queue against a list of units in the order in which they were handed over: random
 * operations, and after each of them the queue has to say what the list says.
 */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type CallCollector, PlainCalls } from "../../../src/command/plain-calls";
import { IGNORED } from "../../../src/command/promise-completion";
import { CallsInFlight } from "../../../src/connection/calls-in-flight";
import { CommandQueue, commandsOf } from "../../../src/connection/command-queue";
import { fixedRuns } from "../../support/properties";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;
const get = specOf("get");

/** One command, or one call of a pipeline. */
interface Unit {
  readonly number: number;
  readonly command: Command | null;
  readonly calls: PlainCalls | null;
  state: "unsent" | "sent" | "gone";
  outcomes: string[];
}

type Operation =
  | { readonly name: "push" | "reply" | "error reply" | "abandon calls" | "lose" }
  | { readonly name: "batch" | "calls" | "write" | "give up"; readonly count: number };

const counted = (name: "batch" | "calls" | "write" | "give up", max: number): fc.Arbitrary<Operation> =>
  fc.integer({ min: 1, max }).map((count) => ({ name, count }));
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Operation>({ name: "push" }) },
  { weight: 2, arbitrary: counted("batch", 6) },
  { weight: 1, arbitrary: counted("batch", 1100) },
  { weight: 3, arbitrary: counted("calls", 6) },
  { weight: 6, arbitrary: counted("write", 8) },
  { weight: 1, arbitrary: counted("write", 2000) },
  { weight: 6, arbitrary: fc.constant<Operation>({ name: "reply" }) },
  { weight: 3, arbitrary: fc.constant<Operation>({ name: "error reply" }) },
  { weight: 2, arbitrary: counted("give up", 10) },
  { weight: 1, arbitrary: fc.constant<Operation>({ name: "abandon calls" }) },
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
      case "calls":
        this.queue.pushCalls(this.newCalls(step.count));
        break;
      case "write":
        this.write(step.count);
        break;
      case "give up":
        this.giveUp(step.count);
        break;
      case "abandon calls":
        this.abandonCalls();
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
      promise: null,
      fulfil: () => this.all[number]?.outcomes.push("fulfilled"),
      reject: () => this.all[number]?.outcomes.push("failed"),
    });
    this.note({ number, command, calls: null, state: "unsent", outcomes: [] });
    return command;
  }

  private newCalls(count: number): PlainCalls {
    const first = this.all.length;
    const outcome = (index: number, word: string): void => {
      this.all[first + index]?.outcomes.push(word);
    };
    const collector: CallCollector = {
      promise: null,
      answer: (index) => outcome(index, "fulfilled"),
      refuse: (index) => outcome(index, "failed"),
      fulfil: ({ index }) => outcome(index, "fulfilled"),
      reject: ({ index }) => outcome(index, "failed"),
    };
    const calls = new PlainCalls(new Batch(BatchKind.Pipeline, 0, null), collector);
    for (let i = 0; i < count; i++) {
      calls.add(get, [String(first + i)], false);
      this.note({ number: first + i, command: null, calls, state: "unsent", outcomes: [] });
    }
    return calls;
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

  /** As a flush does, up to `count` commands and calls. */
  private write(count: number): void {
    let left = count;
    while (left > 0) {
      const [next] = this.unsent();
      const entry = this.queue.advance();
      if (next === undefined) {
        expect(entry).to.equal(undefined);
        return;
      }
      if (entry instanceof CallsInFlight) left -= this.writeCalls(entry, next, left);
      else {
        expect(entry).to.equal(next.command);
        left--;
        if (entry?.isSettled === true) {
          entry.state = CommandState.Dropped;
          next.state = "gone";
        } else {
          (entry as Command).state = CommandState.Sent;
          this.queue.wroteCommand();
          next.state = "sent";
        }
      }
    }
  }

  private writeCalls(entry: CallsInFlight, next: Unit, left: number): number {
    expect(entry.calls).to.equal(next.calls);
    const mine = this.unsent().filter(({ calls }) => calls === entry.calls);
    const written = entry.calls.isAbandoned ? [] : mine.slice(0, left);
    entry.calls.batch.isStarted = true;
    for (const unit of entry.calls.isAbandoned ? mine : written) unit.state = "gone";
    for (const unit of written) unit.state = "sent";
    this.queue.wroteCalls(entry, written.length);
    return Math.max(1, written.length);
  }

  private reply(isError: boolean): void {
    const [oldest] = this.sent();
    const head = this.queue.head();
    if (oldest === undefined) {
      const hasUnwritten = head instanceof CallsInFlight && !head.isAwaited;
      if (!hasUnwritten) expect(head).to.equal(undefined);
      expect(this.queue.shift()).to.equal(undefined);
      return;
    }
    expect(this.queue.oldest()?.args[0]).to.equal(String(oldest.number));
    if (head instanceof CallsInFlight && !isError) {
      const index = head.next++;
      this.queue.answeredCall(head);
      head.calls.answer(index, "value", SHAPE);
    } else {
      const command = this.queue.shift();
      expect(command?.args[0]).to.equal(String(oldest.number));
      if (isError) command?.fail(new Error("ERR"));
      else command?.fulfil("value", SHAPE);
    }
    oldest.state = "gone";
    this.answered++;
  }

  /** Time limits: commands settle wherever they are, and keep their places. */
  private giveUp(step: number): void {
    const waiting = this.units.filter(({ command, state }) => command !== null && state !== "gone");
    for (let i = 0; i < waiting.length; i += step) waiting[i]?.command?.fail(new Error("timed out"));
  }

  private abandonCalls(): void {
    const calls = this.units.findLast((unit) => unit.calls !== null && unit.state !== "gone")?.calls;
    calls?.abandon(new Error("the pipeline was given up"));
  }

  private lose(): void {
    const { sent, unsent } = commandsOf(this.queue.takeAll());
    const isLeft = ({ calls }: Unit): boolean => calls?.isAbandoned !== true;
    const numbers = (units: readonly Unit[]): string[] => units.filter(isLeft).map((one) => `${one.number}`);
    const still = (commands: readonly Command[]): unknown[] =>
      commands.filter(({ state }) => state !== CommandState.Dropped).map(({ args }) => args[0]);
    expect(still(sent)).to.deep.equal(numbers(this.sent()));
    expect(still(unsent)).to.deep.equal(numbers(this.unsent()));
    for (const command of [...sent, ...unsent]) command.fail(new Error("the connection is lost"));
    this.units = [];
  }

  private check(): void {
    const { queue } = this;
    this.units = this.units.filter(({ state }) => state !== "gone");
    expect(queue.contradiction()).to.equal(null);
    expect(queue.inFlight).to.equal(this.sent().length);
    expect(queue.unsentCommands).to.equal(this.unsent().length);
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
    expect(queue.contradiction()).to.equal(null);
    expect(queue.unsent).to.be.lessThan(8300);
    const left = commandsOf(queue.takeAll()).unsent;
    expect(left.filter((command) => kept.includes(command))).to.deep.equal(kept);
    kept[0]?.fail(new Error("the connection is lost"));
  });

  it("tells those who wait for the last entry when its calls are over", () => {
    const queue = new CommandQueue();
    const nobody: CallCollector = { promise: null, answer() {}, refuse() {}, fulfil() {}, reject() {} };
    const calls = new PlainCalls(new Batch(BatchKind.Pipeline, 0, null), nobody);
    for (const key of ["a", "b"]) calls.add(get, [key], false);
    queue.pushCalls(calls);
    const last = queue.lastOf(isUnsettled) as Command;
    expect(last.args).to.deep.equal(["b"]);
    expect(queue.lastOf(isUnsettled)).to.equal(last);
    const entry = queue.advance() as CallsInFlight;
    queue.wroteCalls(entry, 2);
    for (let i = 0; i < 2; i++) {
      expect(last.isSettled).to.equal(false);
      entry.next++;
      queue.answeredCall(entry);
    }
    expect(last.isSettled).to.equal(true);
    expect(queue.lastOf(isUnsettled)).to.equal(undefined);
  });
});
