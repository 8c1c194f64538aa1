/** The slots of the connection for large values: taken, kept until all is answered, doubted when nobody knows. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type CallCollector, PlainCalls } from "../../../src/command/plain-calls";
import { IGNORED } from "../../../src/command/promise-completion";
import { slotOfKey } from "../../../src/command/slot";
import { ReplyError } from "../../../src/errors";
import { BulkSlots } from "../../../src/lanes/bulk-slots";
import { Fences } from "../../../src/lanes/fences";
import type { Lane } from "../../../src/lanes/lane";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const LARGE = "x".repeat(64 * 1024);
const [A, B] = [slotOfKey("a"), slotOfKey("b")];
const NOBODY: CallCollector = { ...IGNORED, answer() {}, refuse() {} };

class ModelLane implements Lane {
  readonly queue: (Command | PlainCalls)[] = [];
  /** PINGs of fences. */
  readonly asked: Command[] = [];
  isBusy = false;
  readonly db = 0;

  get isIdle(): boolean {
    return this.queue.length === 0 && !this.isBusy;
  }

  dispatch(): void {}

  dispatchBatch(commands: readonly Command[]): void {
    this.asked.push(...commands);
  }

  useDb(): void {}

  pending(): Iterable<Command | PlainCalls> {
    return this.queue;
  }

  /** Answers the fence that is under way. */
  answer(): void {
    this.asked.shift()?.fulfil("PONG", SHAPE);
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("BulkSlots", () => {
  let lanes: ModelLane[];
  let lane: ModelLane;
  let bulk: BulkSlots;
  let made: Command[];

  beforeEach(() => {
    made = [];
    lane = new ModelLane();
    lanes = [new ModelLane(), new ModelLane()];
    bulk = new BulkSlots(lane, lanes, new Fences(() => {}));
  });

  afterEach(() => {
    for (const one of made) one.fail(new Error("the test is over"));
  });

  function command(name: string, ...args: string[]): Command {
    const one = new Command(specOf(name), args, false, IGNORED);
    made.push(one);
    return one;
  }

  function calls(count: number): PlainCalls {
    const some = new PlainCalls(new Batch(BatchKind.Pipeline, 0, null), NOBODY);
    for (let index = 0; index < count; index++) some.add(specOf("get"), ["k"], false);
    return some;
  }

  it("has a slot until the last of its commands is answered", () => {
    const [first, second] = [command("get", "a"), command("mget", "a", "b")];
    bulk.take(first, [A]);
    bulk.take(second, [A, B]);
    expect([bulk.has([A]), bulk.has([B]), bulk.has([1]), bulk.has([1, B])]).to.deep.equal([
      true,
      true,
      false,
      true,
    ]);
    expect(bulk.foreign([A, 1, B, 2])).to.deep.equal([1, 2]);
    first.fulfil("x", SHAPE);
    expect([bulk.has([A]), bulk.has([B])]).to.deep.equal([true, true]);
    second.fulfil(["x", "y"], SHAPE);
    expect([bulk.has([A]), bulk.has([B])]).to.deep.equal([false, false]);
  });

  it("keeps the slots that a command had when it was taken", () => {
    const slots = [A];
    const one = command("get", "a");
    bulk.take(one, slots);
    slots[0] = B;
    one.fulfil("x", SHAPE);
    expect([bulk.has([A]), bulk.has([B])]).to.deep.equal([false, false]);
  });

  it("takes nothing of a command without keys", () => {
    const one = command("ping");
    bulk.take(one, []);
    expect([bulk.has([A]), one.extra]).to.deep.equal([false, null]);
  });

  it("leaves the slot with an error reply, for the server is done with the command", () => {
    const one = command("get", "a");
    bulk.take(one, [A]);
    one.fail(new ReplyError("WRONGTYPE no"));
    expect(bulk.has([A])).to.equal(false);
  });

  it("keeps the slot of a command that was given up until a fence behind it is answered", async () => {
    const one = command("get", "a");
    bulk.take(one, [A]);
    lane.isBusy = true;
    one.fail(new Error("given up"));
    expect([bulk.has([A]), lane.asked.length], "in the same run").to.deep.equal([true, 0]);
    await turn();
    expect([bulk.has([A]), lane.asked.length]).to.deep.equal([true, 1]);
    lane.isBusy = false;
    lane.answer();
    expect(bulk.has([A])).to.equal(false);
  });

  it("leaves the slot of a command that was given up at once where the lane is done", async () => {
    const one = command("get", "a");
    bulk.take(one, [A]);
    one.fail(new Error("given up"));
    await turn();
    expect([bulk.has([A]), lane.asked.length]).to.deep.equal([false, 0]);
  });

  it("asks again for what was given up while a fence was under way", async () => {
    const [first, second] = [command("get", "a"), command("get", "b")];
    bulk.take(first, [A]);
    bulk.take(second, [B]);
    lane.isBusy = true;
    first.fail(new Error("given up"));
    await turn();
    second.fail(new Error("given up"));
    await turn();
    lane.answer();
    expect([bulk.has([A]), bulk.has([B]), lane.asked.length]).to.deep.equal([false, true, 1]);
    lane.answer();
    expect(bulk.has([B])).to.equal(false);
  });

  it("doubts a blocking call that was told null while the server may block on it", async () => {
    const one = command("blpop", "a", "0");
    bulk.take(one, [A]);
    one.ensureExtra().isLeftBlocked = true;
    lane.isBusy = true;
    one.fulfil(null, SHAPE);
    await turn();
    expect([bulk.has([A]), lane.asked.length]).to.deep.equal([true, 1]);
    lane.answer();
  });

  it("wants what its caller wants there, large requests, and reads that brought large replies", () => {
    const asked = command("set", "a", "1");
    expect(bulk.wants([asked])).to.equal(false);
    asked.ensureExtra().isBulk = true;
    expect(bulk.wants([command("get", "b"), asked])).to.equal(true);
    expect(bulk.wants([command("set", "a", LARGE)])).to.equal(true);
    const large = command("get", "avatar:1");
    bulk.take(large, [A]);
    large.fulfil(LARGE, SHAPE);
    expect([bulk.wants([command("get", "avatar:2")]), bulk.wants([command("get", "other:2")])]).to.deep.equal(
      [true, false],
    );
    expect(bulk.wants([command("del", "avatar:2")]), "no read").to.equal(false);
  });

  it("remembers the replies of reads that went to other lanes, and of nothing else", () => {
    const [read, write] = [command("get", "page:1"), command("getset", "page:1", "x")];
    bulk.watch(write);
    expect(write.extra).to.equal(null);
    bulk.watch(read);
    read.fulfil(LARGE, SHAPE);
    expect(bulk.wants([command("get", "page:2")])).to.equal(true);
  });

  it("wants pipelines of a thousand commands", () => {
    const many = (count: number): Command[] => Array.from({ length: count }, () => command("get", "k"));
    expect([bulk.wantsPipeline(many(999)), bulk.wantsPipeline(many(1000))]).to.deep.equal([false, true]);
    expect([bulk.wantsCalls(calls(999)), bulk.wantsCalls(calls(1000))]).to.deep.equal([false, true]);
    bulk.large.note(command("get", "k"), true);
    expect(bulk.wantsCalls(calls(1)), "it may be large").to.equal(true);
  });

  it("may take a slot that no lane has anything of", () => {
    expect(bulk.mayTake([A])).to.equal(true);
    (lanes[1] as ModelLane).queue.push(command("mget", "b", "c"), command("ping"));
    expect([bulk.mayTake([A]), bulk.mayTake([A, B]), bulk.mayTake([])]).to.deep.equal([true, false, true]);
  });

  it("may take nothing while plain calls are under way, whose keys nobody has looked at", () => {
    (lanes[0] as ModelLane).queue.push(calls(1));
    expect([bulk.mayTake([A]), bulk.mayTake([])]).to.deep.equal([false, true]);
  });
});
