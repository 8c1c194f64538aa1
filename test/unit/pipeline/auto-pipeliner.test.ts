import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import type { Dispatcher } from "../../../src/command/dispatcher";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { AutoPipeliner, type AutoPipelinerOptions } from "../../../src/pipeline/auto-pipeliner";

/** Remembers what it is handed; answers when told. */
class Recorder implements Dispatcher {
  readonly batches: (readonly Command[])[] = [];
  readonly singles: Command[] = [];

  dispatch(command: Command): void {
    this.singles.push(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.batches.push([...commands]);
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
    const sent: (readonly Command[])[] = [];
    below.dispatchBatch = (commands) => {
      // A link that is woken by its first batch tells its new status at once.
      auto.hold(false);
      sent.push([...commands]);
    };
    const commands = [1, 2, 3].map((n) => send(auto, "set", "k", String(n)));
    await turn();
    expect(sent.flat()).to.deep.equal(commands);
  });

  it("hands on the commands of one turn as one batch at its end", async () => {
    const { auto, below } = setUp();
    for (let i = 0; i < 5; i++) send(auto);
    process.nextTick(() => send(auto));
    expect(auto.size).to.equal(5);
    await turn();
    expect(below.sizes).to.deep.equal([6]);
    expect(auto.size).to.equal(0);
  });

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

  it("sends a long turn in pieces before its end, and the rest at its end, whatever is in flight", async () => {
    const { auto, below } = setUp({ pieceSize: 4 });
    for (let i = 0; i < 5; i++) send(auto);
    expect(below.sizes).to.deep.equal([]);
    for (let i = 0; i < 8; i++) send(auto);
    expect(below.sizes).to.deep.equal([4, 4]);
    await turn();
    expect(below.sizes).to.deep.equal([4, 4, 5]);
    expect(below.batches.map(([first]) => first?.batch?.isFollowed)).to.deep.equal([true, true, false]);
    // Commands that come now wait for all of them, and do not leave in pieces then.
    for (let i = 0; i < 9; i++) send(auto);
    await turn();
    for (const batch of [0, 1]) below.answer(batch);
    expect(below.sizes).to.deep.equal([4, 4, 5]);
    below.answer(2);
    expect(below.sizes).to.deep.equal([4, 4, 5, 9]);
  });

  it("sends nothing in pieces on a cluster", async () => {
    const { auto, below } = setUp({ pieceSize: 2 });
    for (let i = 0; i < 5; i++) {
      const command = makeCommand(specOf("get"), ["key"], false, new PromiseCompletion());
      command.slot = 1;
      auto.dispatch(command);
    }
    await turn();
    expect(below.sizes).to.deep.equal([5]);
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

  it("leaves out what settled while it waited", async () => {
    const { auto, below } = setUp();
    const timedOut = send(auto);
    const waiting = send(auto);
    timedOut.fail(new Error("too late"));
    await turn();
    expect(below.batches).to.deep.equal([[waiting]]);
  });
});
