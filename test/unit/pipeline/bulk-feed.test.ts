/** The producer's side of a bulk over scripted batches: when a batch leaves, how many are under way, how large they grow, and how it stops. */

import { expect } from "chai";
import type { BulkBatch, BulkCommand } from "../../../src/pipeline/bulk-batch";
import { BulkFeed, type BulkSource, type FeedLimits } from "../../../src/pipeline/bulk-feed";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

class Batch {
  readonly commands: BulkCommand[] = [];
  isSent = false;
  isOpen = false;
  isSettled = false;
  replyBytes = 0;

  get length(): number {
    return this.commands.length;
  }

  add(command: BulkCommand): void {
    if (command[0] === "throw") throw new TypeError("no command");
    this.commands.push(command);
    if (command[0] === "multi") this.isOpen = true;
    if (command[0] === "exec") this.isOpen = false;
  }

  send(): void {
    this.isSent = true;
  }
}

describe("BulkFeed", () => {
  let batches: Batch[];
  let feed: BulkFeed;

  function start(source: unknown, limits: Partial<FeedLimits> = {}, keepsRows = false): void {
    batches = [];
    feed = new BulkFeed(
      source as BulkSource,
      () => {
        const batch = new Batch();
        batches.push(batch);
        return batch as unknown as BulkBatch;
      },
      { batchSize: 3, maxBytes: 1_000_000, inFlight: 2, maxReplyBytes: 1_000_000, ...limits },
    );
    feed.start(keepsRows);
  }

  const sizes = (): number[] => batches.filter(({ isSent }) => isSent).map(({ length }) => length);

  function* gets(
    count: number,
    taken: { count: number; isClosed?: boolean } = { count: 0 },
  ): Generator<BulkCommand> {
    try {
      for (let i = 0; i < count; i++) {
        taken.count++;
        yield ["get", `k${i}`];
      }
    } finally {
      taken.isClosed = true;
    }
  }

  it("sends batches of the given size and asks for no more than may be under way", async () => {
    const taken = { count: 0 };
    start(gets(10, taken));
    await turn();
    expect(sizes()).to.deep.equal([3, 3]);
    expect(taken.count).to.equal(6);
    feed.drop();
    await turn();
    expect(sizes()).to.deep.equal([3, 3, 3]);
    feed.drop();
    feed.drop();
    await turn();
    expect(sizes(), "the last one is not full").to.deep.equal([3, 3, 3, 1]);
    expect(await feed.oldest()).to.equal(batches[3]);
    feed.drop();
    expect(await feed.oldest()).to.equal(null);
    expect([feed.issued, feed.bytes]).to.deep.equal([10, 10 * 5]);
  });

  it("sends a batch that has reached its bytes", async () => {
    start(
      [
        ["set", "k", Buffer.alloc(100)],
        ["get", "a"],
        ["set", "k", 5],
      ],
      { maxBytes: 100 },
    );
    await turn();
    expect(sizes()).to.deep.equal([1, 2]);
    expect(feed.bytes).to.equal(3 + 1 + 100 + 4 + 3 + 1 + 8);
  });

  it("does not end a batch inside of a transaction", async () => {
    const word = (name: string): BulkCommand => [name];
    start(["multi", "a", "b", "c", "d", "exec", "get"].map(word));
    await turn();
    expect(sizes()).to.deep.equal([6, 1]);
  });

  it("begins with few commands while rows are kept, and grows as fast as replies allow", async () => {
    start(gets(5000), { batchSize: 1000, inFlight: 1, maxReplyBytes: 400_000 }, true);
    await turn();
    const reply = async (meanBytes: number): Promise<void> => {
      const last = batches.at(-1) as Batch;
      last.replyBytes = meanBytes * last.length;
      feed.drop();
      await turn();
    };
    expect(sizes(), "400,000 bytes of 4096 each").to.deep.equal([97]);
    await reply(10);
    expect(sizes().at(-1), "four times as many").to.equal(388);
    await reply(1000);
    expect(sizes().at(-1)).to.equal(400);
    await reply(10);
    expect(sizes().at(-1), "the last two count").to.equal(400);
    await reply(10);
    expect(sizes().at(-1)).to.equal(1000);
    await reply(10_000_000);
    expect(sizes().at(-1), "one at least").to.equal(1);
  });

  it("sends what an asynchronous source gave when it has nothing for a turn", async () => {
    let give: (command: BulkCommand | null) => void = () => {};
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((resolve) => {
            give = (value) => resolve({ done: value === null, value });
          }),
      }),
    };
    start(source);
    await turn();
    give(["get", "a"]);
    await turn();
    give(["get", "b"]);
    await turn();
    expect(sizes(), "it goes on giving").to.deep.equal([]);
    await turn();
    expect(sizes()).to.deep.equal([2]);
    give(["get", "c"]);
    await turn();
    give(null);
    await turn();
    expect(sizes()).to.deep.equal([2, 1]);
  });

  it("throws what the source threw, behind what was sent, and closes it", async () => {
    const failing = function* (): Generator<BulkCommand> {
      for (let i = 0; i < 3; i++) yield ["get", "k"];
      throw new Error("no more");
    };
    start(failing());
    await turn();
    expect(await feed.oldest()).to.equal(batches[0]);
    feed.drop();
    const error = await feed.oldest().then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(error?.message).to.equal("no more");
    const taken = { count: 0, isClosed: false };
    const wrong = function* (): Generator<BulkCommand> {
      yield ["throw"];
      yield* gets(1, taken);
    };
    start(wrong());
    await turn();
    const thrown = await feed.oldest().catch((reason: Error) => reason);
    expect((thrown as Error).message).to.equal("no command");
    expect(taken.count).to.equal(0);
  });

  it("says what a source has to be", async () => {
    for (const source of [5, null, {}]) {
      start(source);
      await turn();
      const thrown = await feed.oldest().catch((reason: Error) => reason);
      expect((thrown as Error).message).to.contain("expects an iterable");
    }
  });

  it("lets other work have its turn where batches are answered at once", async () => {
    start(gets(9));
    let turns = 0;
    for (const batch of batches) batch.isSettled = true;
    while (sizes().length < 3) {
      turns++;
      await turn();
      for (const batch of batches) batch.isSettled = true;
      feed.drop();
    }
    expect(turns).to.be.above(1);
  });

  it("stops: takes nothing more, closes the source, sends nothing that is not full, tells the reader", async () => {
    const taken = { count: 0, isClosed: false };
    start(gets(100, taken));
    await turn();
    feed.drop();
    feed.drop();
    const waiting = feed.oldest();
    await feed.stop();
    expect(taken.isClosed).to.equal(true);
    expect(taken.count).to.be.below(13);
    const left = await waiting;
    expect(left === null || batches.includes(left as unknown as Batch)).to.equal(true);
    const sentBefore = sizes().length;
    await turn();
    expect(sizes().length).to.equal(sentBefore);
  });

  it("stops although its producer never answers", async () => {
    let isClosed = false;
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          isClosed = true;
          return { done: true, value: undefined };
        },
      }),
    };
    start(source);
    await turn();
    const waiting = feed.oldest();
    await feed.stop();
    expect(isClosed).to.equal(true);
    expect(await waiting).to.equal(null);
  });
});
