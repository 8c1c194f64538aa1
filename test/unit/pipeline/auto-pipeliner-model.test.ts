/**
 * The auto-pipeliner against what it promises: random calls, calls that may not wait, batches, turns,
 * answers and changes of the link. Order of issue is order of sending, no batch is larger than it may
 * be, nothing is held back longer than it may be, and nothing is handed on twice.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { Batch, BatchMerging } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { AutoPipeliner } from "../../../src/pipeline/auto-pipeliner";
import { fixedRuns } from "../../support/properties";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
const COMPLETION = { fulfil() {}, reject() {} };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Step =
  | { readonly do: "get" | "select" | "batch" | "turn" | "hold" | "let go" }
  | { readonly do: "answer" | "give up"; readonly which: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constant<Step>({ do: "get" }) },
    { weight: 4, arbitrary: fc.constantFrom<Step>({ do: "turn" }, { do: "turn" }, { do: "hold" }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Step>({ do: "select" }, { do: "batch" }, { do: "let go" }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constantFrom("answer" as const, "give up" as const), which: fc.nat(20) }),
    },
  ),
  { maxLength: 60, size: "max" },
);

interface Limits {
  readonly maxInFlight: number | "adaptive";
  readonly maxCommands: number;
  readonly maxBytes: number;
  readonly pieceSize: number;
  readonly merging: BatchMerging | null;
}

const MERGING: BatchMerging = { merged: ["get"], coalesces: false };

const bounded: fc.Arbitrary<Limits> = fc.record({
  maxInFlight: fc.constantFrom<number | "adaptive">(1, 2, "adaptive"),
  maxCommands: fc.constantFrom(1, 3, Number.POSITIVE_INFINITY),
  maxBytes: fc.constantFrom(7, Number.POSITIVE_INFINITY),
  pieceSize: fc.constant(Number.POSITIVE_INFINITY),
  merging: fc.constantFrom(null, MERGING),
});
/** A user who has said how large batches are gets no pieces. */
const inPieces: fc.Arbitrary<Limits> = fc.record({
  maxInFlight: fc.constantFrom<number | "adaptive">(1, 2, "adaptive"),
  maxCommands: fc.constant(Number.POSITIVE_INFINITY),
  maxBytes: fc.constant(Number.POSITIVE_INFINITY),
  pieceSize: fc.constantFrom(2, 4),
  merging: fc.constant(MERGING),
});
const limits = fc.oneof(bounded, inPieces);

class Bench implements Dispatcher {
  private readonly issued: Command[] = [];
  /** The commands that were handed on, in order, and by the automatic batch of each. */
  private readonly left: Command[] = [];
  private readonly batches = new Map<Batch, Command[]>();
  private readonly auto: AutoPipeliner;
  private isHolding = false;
  /** Everything gathered has to leave: an explicit batch, a call that may not wait, a link that is not ready. */
  private mayExceed = false;

  constructor(private readonly limits: Limits) {
    this.auto = new AutoPipeliner(this, { ...limits, ignored: new Set() });
  }

  dispatch(command: Command): void {
    this.left.push(command);
    if (command.batch !== null) this.note(command, command.batch);
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  private note(command: Command, batch: Batch): void {
    const { maxCommands, maxBytes } = this.limits;
    const known = this.batches.get(batch);
    if (known === undefined) {
      if (this.isHolding && !this.mayExceed)
        expect(this.unanswered(), "unanswered batches").to.be.below(this.auto.windowSize);
      this.batches.set(batch, [command]);
      return;
    }
    const bytes = known.reduce((sum, { args }) => sum + String(args[0]).length, 0);
    expect(known).to.have.length.below(maxCommands);
    expect(bytes, "the batch was full").to.be.below(maxBytes);
    known.push(command);
  }

  async run(program: readonly Step[]): Promise<void> {
    for (const step of program) await this.step(step);
    this.isHolding = false;
    this.auto.hold(false);
    await turn();
    expect(this.auto.size).to.equal(0);
    // A command that was given up before it left goes no further; nothing else is missing, or out of order.
    expect(this.left).to.deep.equal(this.issued.filter((one) => !this.isDropped(one)));
    for (const command of this.left) if (!command.isSettled) command.fulfil("OK", TEXT);
  }

  private async step(step: Step): Promise<void> {
    this.mayExceed = step.do === "select" || step.do === "batch";
    const before = this.unanswered();
    const isLetGo = step.do === "let go" && this.isHolding;
    if (step.do === "get" || step.do === "select") this.auto.dispatch(this.make(step.do));
    else if (step.do === "batch") this.auto.dispatchBatch([this.make("echo"), this.make("echo")]);
    else if (step.do === "answer") this.answer(step.which);
    else if (step.do === "give up") this.issued[step.which % this.issued.length]?.fail(new Error("given up"));
    else if (step.do === "turn") await this.turn();
    else {
      this.isHolding = step.do === "hold";
      this.auto.hold(this.isHolding);
    }
    // The last answer of a batch hands on what has gathered behind it.
    const now = this.unanswered();
    if (this.limits.merging === null && now < before && now < this.auto.windowSize)
      expect(this.auto.gathered).to.deep.equal([]);
    if (step.do === "select" || step.do === "batch" || isLetGo) expect(this.auto.size).to.equal(0);
  }

  private async turn(): Promise<void> {
    await turn();
    // A link that is ready, and a batch that may begin: then nothing waits any longer.
    if (!this.isHolding || this.unanswered() < this.auto.windowSize) expect(this.auto.size).to.equal(0);
  }

  private answer(which: number): void {
    const open = this.left.filter((one) => !one.isSettled);
    open[which % open.length]?.fulfil("OK", TEXT);
  }

  private make(name: string): Command {
    const command = new Command(specOf(name), [`k${this.issued.length}`], false, COMPLETION);
    this.issued.push(command);
    return command;
  }

  private isDropped(command: Command): boolean {
    return command.isSettled && !this.left.includes(command);
  }

  private unanswered(): number {
    return [...this.batches.values()].filter((batch) => batch.some((one) => !one.isSettled)).length;
  }
}

describe("the auto-pipeliner, on random programs", () => {
  it("keeps order, limits and what may wait", async () => {
    await fc.assert(
      fc.asyncProperty(limits, steps, (given, program) => new Bench(given).run(program)),
      fixedRuns(1000),
    );
  });
});
