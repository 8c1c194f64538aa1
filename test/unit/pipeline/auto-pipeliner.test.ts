import { expect } from "chai";
import type { Batch, BatchMerging } from "../../../src/command/batch";
import type { Command } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { AutoPipeliner, type AutoPipelinerOptions } from "../../../src/pipeline/auto-pipeliner";

/** Remembers what it is handed, by the batch that it belongs to; answers when told. */
class Recorder implements Dispatcher {
  readonly batches: Command[][] = [];
  /** The batch of each list. */
  private readonly known: (Batch | null)[] = [];
  /** Lists that were handed on. */
  lists = 0;
  readonly singles: Command[] = [];

  dispatch(command: Command): void {
    if (command.batch === null) this.singles.push(command);
    else this.note(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.lists++;
    for (const command of commands) this.note(command);
  }

  private note(command: Command): void {
    const place = this.known.indexOf(command.batch);
    if (place >= 0) this.batches[place]?.push(command);
    else this.batches[this.known.push(command.batch) - 1] = [command];
  }

  answer(batch: number): void {
    for (const command of this.batches[batch] ?? []) {
      command.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
    }
  }

  get sizes(): number[] {
    return this.batches.map((batch) => batch.length);
  }
}

const MERGING: BatchMerging = { merged: ["get"], coalesces: false };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("AutoPipeliner", () => {
  function setUp(options: Partial<AutoPipelinerOptions> = {}): { auto: AutoPipeliner; below: Recorder } {
    const below = new Recorder();
    const auto = new AutoPipeliner(below, {
      maxInFlight: 1,
      maxCommands: Number.POSITIVE_INFINITY,
      maxBytes: Number.POSITIVE_INFINITY,
      pieceSize: Number.POSITIVE_INFINITY,
      ignored: new Set(),
      merging: null,
      ...options,
    });
    auto.hold(true);
    return { auto, below };
  }

  function send(auto: AutoPipeliner, name = "get", ...args: string[]): Command {
    const command = makeCommand(
      specOf(name),
      args.length > 0 ? args : ["key"],
      false,
      new PromiseCompletion(),
    );
    command.promise.catch(() => {});
    auto.dispatch(command);
    return command;
  }

  it("keeps the order when handing a batch on is what ends the holding back", async () => {
    const { auto, below } = setUp({ maxCommands: 2 });
    const sent: Command[] = [];
    const commands = [1, 2].map((n) => send(auto, "set", "k", String(n)));
    below.dispatchBatch = (given) => {
      // A link that is woken by a batch tells its new status at once.
      auto.hold(false);
      sent.push(...given);
    };
    below.dispatch = (given) => {
      auto.hold(false);
      sent.push(given);
    };
    commands.push(...[3, 4, 5].map((n) => send(auto, "set", "k", String(n))));
    auto.flush();
    expect(sent).to.deep.equal(commands.slice(2));
  });

  it("hands the commands of one turn on as they are issued, as one batch", async () => {
    const { auto, below } = setUp();
    for (let i = 0; i < 5; i++) send(auto);
    process.nextTick(() => send(auto));
    expect(below.sizes).to.deep.equal([5]);
    expect(auto.size).to.equal(5);
    await turn();
    expect(below.sizes).to.deep.equal([6]);
    expect(auto.size).to.equal(0);
  });

  it("hands the commands of one turn on together if they may be merged", async () => {
    const { auto, below } = setUp({ merging: MERGING });
    for (let i = 0; i < 5; i++) send(auto);
    process.nextTick(() => send(auto));
    expect(below.sizes).to.deep.equal([]);
    expect(auto.size).to.equal(5);
    await turn();
    expect(below.sizes).to.deep.equal([6]);
    expect(below.lists).to.equal(1);
    expect(auto.size).to.equal(0);
  });

  for (const merging of [null, MERGING]) {
    it(`callers that are answered by one read join the batch that it releases${merging === null ? "" : ", with merging"}`, async () => {
      const { auto, below } = setUp({ merging });
      for (let i = 0; i < 4; i++) send(auto);
      await turn();
      // The first read answers three, whose callers go on; the second one answers the last.
      for (let i = 0; i < 3; i++) send(auto);
      await turn();
      below.answer(0);
      send(auto);
      await turn();
      expect(below.sizes).to.deep.equal([4, 4]);
    });
  }

  it("gathers behind an unanswered batch and leaves at once when that is answered", async () => {
    const { auto, below } = setUp();
    send(auto);
    await turn();
    send(auto);
    send(auto);
    await turn();
    expect(below.sizes).to.deep.equal([1]);
    below.answer(0);
    expect(below.sizes).to.deep.equal([1, 2]);
  });

  it("keeps as many batches in flight as it may", async () => {
    const { auto, below } = setUp({ maxInFlight: 2 });
    for (let i = 0; i < 4; i++) {
      send(auto);
      await turn();
    }
    expect(below.sizes).to.deep.equal([1, 1]);
    below.answer(0);
    expect(below.sizes).to.deep.equal([1, 1, 2]);
  });

  function answer(command: Command): void {
    command.batch?.noteAnswer();
    command.fulfil("OK", { protocol: 2, replyMapping: "legacy" });
  }

  it("an adaptive window counts a batch until its first command has settled", async () => {
    const { auto } = setUp({ maxInFlight: "adaptive" });
    // Quick replies narrow the window to its minimum.
    for (const start = auto.windowSize; auto.windowSize === start || auto.windowSize > 16; ) {
      const only = send(auto);
      await turn();
      answer(only);
    }
    const [first, second, last] = [send(auto), send(auto), send(auto)];
    expect(auto.size).to.equal(3);
    for (let n = 1; n < auto.windowSize; n++) {
      await turn();
      send(auto);
    }
    await turn();
    const waiting = send(auto);
    answer(second);
    answer(last);
    expect(auto.gathered).to.deep.equal([waiting]);
    answer(first);
    expect(auto.gathered).to.deep.equal([]);
  });

  it("an adaptive window counts no batch whose first command was given up, and takes no round trip from it", async () => {
    const { auto } = setUp({ maxInFlight: "adaptive" });
    const size = auto.windowSize;
    for (let n = 0; n <= size; n++) {
      const [first, second] = [send(auto), send(auto)];
      first.fail(new Error("given up"));
      await turn();
      expect(second.isSettled).to.equal(false);
    }
    expect(auto.windowSize).to.equal(size);
    expect(auto.gathered).to.deep.equal([]);
  });

  it("flushes before a command that may not wait, in any letter case, and before an explicit batch", () => {
    for (const name of ["SELECT", "blpop", "Watch", "subscribe", "exec", "client"]) {
      const { auto, below } = setUp();
      send(auto);
      const single = send(auto, name, "1", "0");
      expect(below.sizes, name).to.deep.equal([1]);
      expect(below.singles).to.deep.equal([single]);
    }
    const { auto, below } = setUp();
    send(auto);
    auto.dispatchBatch([makeCommand(specOf("get"), ["b"], false, new PromiseCompletion())]);
    expect(below.sizes).to.deep.equal([1, 1]);
  });

  it("never gathers the ignored, whatever the letter case", () => {
    const { auto, below } = setUp({ ignored: new Set(["incr"]) });
    send(auto, "INCR");
    expect(below.singles).to.have.length(1);
  });

  it("gathers XREAD without BLOCK and sends it apart with BLOCK", () => {
    const { auto, below } = setUp();
    send(auto, "xread", "STREAMS", "s", "0");
    expect(auto.size).to.equal(1);
    send(auto, "xread", "BLOCK", "10", "STREAMS", "s", "$");
    expect(below.singles).to.have.length(1);
    expect(below.sizes).to.deep.equal([1]);
  });

  it("cuts batches by commands and by bytes", async () => {
    const byCount = setUp({ maxCommands: 3, maxInFlight: 10 });
    for (let i = 0; i < 7; i++) send(byCount.auto);
    await turn();
    expect(byCount.below.sizes).to.deep.equal([3, 3, 1]);
    const byBytes = setUp({ maxBytes: 6, maxInFlight: 10 });
    for (let i = 0; i < 5; i++) send(byBytes.auto);
    await turn();
    expect(byBytes.below.sizes).to.deep.equal([2, 2, 1]);
  });

  it("hands a long turn on in pieces before its end if commands may be merged", async () => {
    const { auto, below } = setUp({ merging: MERGING, pieceSize: 4 });
    for (let i = 0; i < 5; i++) send(auto);
    expect(below.sizes).to.deep.equal([]);
    for (let i = 0; i < 8; i++) send(auto);
    expect(below.sizes).to.deep.equal([8]);
    await turn();
    expect(below.sizes).to.deep.equal([13]);
    expect(below.lists).to.equal(3);
    // Commands that are issued now wait for all of them.
    for (let i = 0; i < 9; i++) send(auto);
    await turn();
    expect(below.sizes).to.deep.equal([13]);
    below.answer(0);
    expect(below.sizes).to.deep.equal([13, 9]);
  });

  it("hands on nothing in pieces on a cluster", async () => {
    const { auto, below } = setUp({ merging: MERGING, pieceSize: 2 });
    for (let i = 0; i < 5; i++) {
      const command = makeCommand(specOf("get"), ["key"], false, new PromiseCompletion());
      command.slot = 1;
      auto.dispatch(command);
    }
    await turn();
    expect(below.sizes).to.deep.equal([5]);
    expect(below.lists).to.equal(1);
  });

  it("holds nothing back while the connection is not ready", async () => {
    const { auto, below } = setUp();
    send(auto);
    await turn();
    send(auto);
    auto.hold(false);
    expect(below.sizes).to.deep.equal([1, 1]);
    send(auto);
    await turn();
    expect(below.sizes).to.deep.equal([1, 1, 1]);
  });

  it("counts the commands of a turn whose first one makes the connection connect", async () => {
    const { auto, below } = setUp();
    auto.hold(false);
    const { dispatch } = below;
    below.dispatch = (command) => {
      auto.hold(false);
      dispatch.call(below, command);
    };
    for (let count = 0; count < 3; count++) send(auto);
    expect([below.sizes, auto.size]).to.deep.equal([[3], 3]);
    await turn();
    expect(auto.size).to.equal(0);
  });

  it("leaves out what settled while it waited", async () => {
    const { auto, below } = setUp();
    const first = send(auto);
    await turn();
    const timedOut = send(auto);
    const waiting = send(auto);
    timedOut.fail(new Error("too late"));
    below.answer(0);
    expect(below.batches).to.deep.equal([[first], [waiting]]);
  });
});
