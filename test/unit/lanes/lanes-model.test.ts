/**
 * Random programs over lanes that answer, lose and resume in any order, against what the rule
 * promises: commands of one key run in the order of issue, a barrier runs behind all that was issued
 * before it and before all that was issued after it, transactions stay whole and in one place.
 */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { slotOfKey } from "../../../src/command/slot";
import type { MainLane } from "../../../src/lanes/lane";
import { Lanes } from "../../../src/lanes/lanes";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const LARGE = "x".repeat(70_000);
const runs = Number(process.env["SLUICE_LONG"] === "1" ? 200_000 : 10_000);

/** The commands that have run, in order, over all lanes. */
type Log = { readonly lane: number; readonly command: Command }[];

/** A connection whose server runs what it is told to, when it is told to. */
class ModelLane implements MainLane {
  readonly queue: Command[] = [];
  db = 0;
  isInTransaction = false;
  isWatching = false;

  constructor(
    private readonly index: number,
    private readonly log: Log,
  ) {}

  dispatch(command: Command): void {
    this.take(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.take(command);
  }

  useDb(db: number): void {
    this.db = db;
  }

  get isIdle(): boolean {
    return this.queue.length === 0;
  }

  get takesAll(): boolean {
    return this.isInTransaction;
  }

  get isWatched(): boolean {
    return this.isWatching;
  }

  loseMember(): void {}

  pending(): Iterable<Command> {
    return this.queue;
  }

  /** The oldest command runs and is answered. */
  answer(): void {
    const command = this.queue.shift();
    if (command === undefined) return;
    this.log.push({ lane: this.index, command });
    command.fulfil(command.name === "get" ? LARGE.slice(0, command.index) : "OK", SHAPE);
  }

  private take(command: Command): void {
    if (!command.isSettled) command.state = CommandState.Sent;
    this.queue.push(command);
    const isWhole = command.batch?.kind === BatchKind.Transaction;
    if (!isWhole && command.name === "multi") this.isInTransaction = true;
    if (!isWhole && command.name === "exec") this.isInTransaction = false;
    if (command.name === "watch") this.isWatching = true;
    if (command.name === "exec") this.isWatching = false;
    if (command.name === "select") this.db = Number(command.args[0]);
  }
}

const keys = fc.constantFrom("a", "b", "c", "d", "{a}1", "{b}1");
const keyed = fc.oneof(
  { weight: 6, arbitrary: keys.map((key) => ["get", key]) },
  { weight: 4, arbitrary: keys.map((key) => ["set", key, "1"]) },
  { weight: 2, arbitrary: keys.map((key) => ["set", key, LARGE]) },
  { weight: 1, arbitrary: fc.tuple(keys, keys).map(([one, other]) => ["mget", one, other]) },
);
const between = fc.constantFrom<string[]>(
  ["flushdb"],
  ["publish", "x", "y"],
  ["select", "1"],
  ["watch", "a"],
  ["ping"],
);
const word = fc.oneof({ weight: 8, arbitrary: keyed }, { weight: 1, arbitrary: between });
const step = fc.oneof(
  { weight: 6, arbitrary: word.map((words) => ({ do: "single" as const, words })) },
  {
    weight: 2,
    arbitrary: fc
      .array(word, { minLength: 1, maxLength: 5 })
      .map((list) => ({ do: "pipeline" as const, list })),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(keyed, { minLength: 1, maxLength: 3 })
      .map((list) => ({ do: "transaction" as const, list })),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(keyed, { minLength: 0, maxLength: 3 })
      .map((list) => ({ do: "byHand" as const, list })),
  },
  { weight: 8, arbitrary: fc.nat(3).map((lane) => ({ do: "answer" as const, lane })) },
  // One of the youngest.
  { weight: 3, arbitrary: fc.nat(3).map((index) => ({ do: "giveUp" as const, index })) },
  { weight: 2, arbitrary: fc.constant({ do: "turn" as const }) },
);
const programs = fc.record({
  lanes: fc.integer({ min: 1, max: 3 }),
  hasBulk: fc.boolean(),
  steps: fc.array(step, { maxLength: 60 }),
});
type Program = typeof programs extends fc.Arbitrary<infer T> ? T : never;

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Run {
  readonly log: Log = [];
  readonly issued: Command[] = [];
  readonly all: ModelLane[];
  private readonly lanes: Lanes;

  constructor({ lanes, hasBulk }: Program) {
    this.all = Array.from(
      { length: lanes + (hasBulk ? 1 : 0) },
      (_, index) => new ModelLane(index, this.log),
    );
    const further = this.all.slice(1, lanes);
    this.lanes = new Lanes(
      this.all[0] as ModelLane,
      further,
      hasBulk ? (this.all[lanes] as ModelLane) : null,
    );
  }

  async play(steps: Program["steps"]): Promise<void> {
    for (const one of steps) {
      if (one.do === "single") this.lanes.dispatch(this.make(one.words));
      else if (one.do === "pipeline") this.batch(BatchKind.Pipeline, one.list);
      else if (one.do === "transaction")
        this.batch(BatchKind.Transaction, [["multi"], ...one.list, ["exec"]]);
      else if (one.do === "byHand") {
        for (const words of [["multi"], ...one.list, ["exec"]]) this.lanes.dispatch(this.make(words));
      } else if (one.do === "answer") this.all[one.lane % this.all.length]?.answer();
      else if (one.do === "giveUp") this.giveUp(this.issued.at(-1 - one.index));
      else await settle();
    }
    // In the end the server answers everything, and nothing is left.
    for (let turn = 0; turn < 1000 && !this.isDone; turn++) {
      for (const lane of this.all) lane.answer();
      await settle();
    }
  }

  get isDone(): boolean {
    return this.lanes.heldCount === 0 && this.all.every((lane) => lane.isIdle);
  }

  private batch(kind: BatchKind, list: readonly string[][]): void {
    const batch = new Batch(kind, 0, null);
    const commands = list.map((words) => this.make(words));
    for (const command of commands) batch.add(command);
    this.lanes.dispatchBatch(commands);
  }

  /** The caller of a command gives up; written, it runs all the same. MULTI and its end are left alone. */
  private giveUp(command: Command | undefined): void {
    if (command === undefined || ["multi", "exec"].includes(command.name) || command.batch !== null) return;
    command.fail(new Error("given up"));
  }

  private make([name = "", ...args]: readonly string[]): Command {
    const completion = new PromiseCompletion();
    completion.promise.catch(() => {});
    const command = new Command(specOf(name), args, false, completion);
    this.issued.push(command);
    return command;
  }
}

function keysOf({ name, args }: Command): string[] {
  if (name === "get" || name === "set") return [String(args[0])];
  return name === "mget" ? args.map(String) : [];
}

function isBarrier({ name, args }: Command, lanes: number): boolean {
  if (["get", "set", "ping"].includes(name)) return false;
  const inLanes = new Set(args.map((key) => slotOfKey(key) % lanes));
  return name !== "mget" && name !== "multi" && name !== "exec"
    ? true
    : name === "mget" && inLanes.size > 1 && lanes > 1;
}

/** Contradictions to the rule; empty if there are none. */
function faultsOf(run: Run, { lanes, hasBulk }: Program): string[] {
  const faults: string[] = [];
  const place = new Map(run.log.map(({ command }, index) => [command, index]));
  const ran = run.issued.filter((command) => place.has(command));
  const show = (command: Command): string =>
    `${run.issued.indexOf(command)} ${command.name} ${String(command.args[0])}`;
  for (let later = 0; later < ran.length; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      const [one, other] = [ran[earlier] as Command, ran[later] as Command];
      const isBound =
        keysOf(one).some((key) => keysOf(other).includes(key)) ||
        (!hasBulk &&
          (isBarrier(one, lanes) || isBarrier(other, lanes)) &&
          one.name !== "ping" &&
          other.name !== "ping") ||
        ["flushdb", "publish", "select", "watch"].some((name) => name === one.name || name === other.name);
      const isFree = one.name === "ping" || other.name === "ping";
      if (isBound && !isFree && (place.get(one) as number) > (place.get(other) as number)) {
        faults.push(`${show(other)} ran before ${show(one)}`);
      }
    }
  }
  for (const [index, { lane, command }] of run.log.entries()) {
    if (command.name !== "multi" || command.batch === null) continue;
    const own = run.log.slice(index).filter((entry) => entry.lane === lane);
    const members = own.slice(0, command.batch.size);
    if (members.some((entry) => entry.command.batch !== command.batch))
      faults.push(`${show(command)} is not whole`);
  }
  if (!run.isDone) faults.push("something is held for ever");
  const unsettled = run.issued.filter((command) => !command.isSettled);
  if (unsettled.length > 0) faults.push(`${unsettled.map(show).join(", ")} did not settle`);
  return faults;
}

describe("the rule of the lanes", function () {
  this.timeout(600_000);

  it("holds for random programs", async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const run = new Run(program);
        await run.play(program.steps);
        expect(faultsOf(run, program)).to.deep.equal([]);
      }),
      { numRuns: runs, seed: Number(process.env["SLUICE_SEED"] ?? 20260612) },
    );
  });

  it("divides keys and moves large values", async () => {
    const run = new Run({ lanes: 2, hasBulk: true, steps: [] });
    const other = ["a", "b", "c", "d"].find((key) => slotOfKey(key) % 2 === 1) as string;
    const own = ["a", "b", "c", "d"].find((key) => slotOfKey(key) % 2 === 0) as string;
    const [main, second, bulk] = run.all as [ModelLane, ModelLane, ModelLane];
    await run.play([]);
    const lanes = (run as unknown as { lanes: Lanes }).lanes;
    const make = (...args: string[]): Command =>
      new Command(specOf("set"), args, false, new PromiseCompletion());
    lanes.dispatch(make(own, "1"));
    lanes.dispatch(make(other, "1"));
    expect([main, second, bulk].map(({ queue }) => queue.length)).to.deep.equal([1, 1, 0]);
    // The key has something at its lane: it stays there.
    lanes.dispatch(make(own, LARGE));
    expect([main, second, bulk].map(({ queue }) => queue.length)).to.deep.equal([2, 1, 0]);
    for (const lane of run.all) while (!lane.isIdle) lane.answer();
    lanes.dispatch(make(own, LARGE));
    // The commands behind it go where the key is.
    lanes.dispatch(make(own, "1"));
    expect([main, second, bulk].map(({ queue }) => queue.length)).to.deep.equal([0, 0, 2]);
    for (const lane of run.all) while (!lane.isIdle) lane.answer();
    lanes.dispatch(make(own, "1"));
    expect([main, second, bulk].map(({ queue }) => queue.length)).to.deep.equal([1, 0, 0]);
    for (const lane of run.all) while (!lane.isIdle) lane.answer();
  });
});
