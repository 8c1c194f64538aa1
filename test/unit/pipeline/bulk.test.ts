/** A bulk over a scripted way out: rows in order, counts that add up, and every way to end it early. */

import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { expect } from "chai";
import fc from "fast-check";
import { type Command, CommandState } from "../../../src/command/command";
import { ReplyError } from "../../../src/errors";
import { BulkAbortedError } from "../../../src/part-errors";
import { Bulk, BulkBatch, type BulkOptions, type BulkSummary } from "../../../src/pipeline/bulk";
import type { BulkCommand } from "../../../src/pipeline/bulk-batch";
import type { BulkSource } from "../../../src/pipeline/bulk-feed";
import { Pipeline } from "../../../src/pipeline/pipeline";
import type { Row } from "../../../src/pipeline/transaction";
import { failureOf } from "../../support/outcome";
import { fixedRuns } from "../../support/properties";
import { ScriptedSender } from "../../support/scripted-sender";
import { uncaughtDuring } from "../../support/uncaught";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Replies to the commands of one key each: keys that begin with "bad" are answered with an error. */
function reply(commands: readonly Command[], index: number): void {
  const command = commands[index] as Command;
  const key = String(command.args[0]);
  if (key.startsWith("bad")) command.fail(new ReplyError(`ERR ${key}`));
  else command.fulfil(key, SHAPE);
}

describe("Bulk", () => {
  let way: ScriptedSender;
  let batches: BulkBatch[];
  let kept: boolean[];
  /** The batches that are not answered. */
  let waiting: (readonly Command[])[];

  beforeEach(() => {
    way = new ScriptedSender();
    [batches, kept, waiting] = [[], [], way.batches];
  });

  function open(source: BulkSource, options: BulkOptions = {}): Bulk {
    const openBatch = (keepsRows: boolean): BulkBatch => {
      kept.push(keepsRows);
      const batch = new BulkBatch(way, Pipeline, keepsRows);
      batches.push(batch);
      return batch;
    };
    return new Bulk(source, openBatch, { batchSize: 2, ...options });
  }

  const gets = (...keys: string[]): BulkCommand[] => keys.map((key) => ["get", key]);

  /** Answers the oldest batch that waits. */
  function answer(): void {
    const calls = waiting.shift();
    for (let index = 0; index < (calls?.length ?? 0); index++) reply(calls as readonly Command[], index);
  }

  /** Answers everything that comes, until the call is over. */
  async function answering<T>(call: Promise<T>): Promise<T> {
    let isOver = false;
    const end = call.finally(() => {
      isOver = true;
    });
    end.catch(() => {});
    while (!isOver) {
      answer();
      await turn();
    }
    return end;
  }

  const told = ({ issued, settled, failed, succeeded, errors }: BulkSummary): unknown[] => [
    [issued, settled, failed, succeeded],
    errors.map(({ index, error }) => [index, error.message]),
  ];

  async function rowsOf(bulk: Bulk): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const row of bulk) rows.push(row);
    return rows;
  }

  it("gives the rows in the order of the commands and counts them, whatever they are", () => {
    const programs = fc.array(fc.boolean(), { maxLength: 12 });
    return fc.assert(
      fc.asyncProperty(
        programs,
        fc.record({
          batchSize: fc.integer({ min: 1, max: 4 }),
          inFlight: fc.integer({ min: 1, max: 3 }),
          maxErrors: fc.nat(3),
        }),
        fc.boolean(),
        fc.boolean(),
        async (areGood, options, isRead, isAsync) => {
          way = new ScriptedSender();
          [batches, kept, waiting] = [[], [], way.batches];
          const keys = areGood.map((isGood, index) => `${isGood ? "good" : "bad"}${index}`);
          async function* slowly(): AsyncGenerator<BulkCommand> {
            yield* gets(...keys);
          }
          const bulk = open(isAsync ? slowly() : gets(...keys), options);
          if (isRead) {
            const rows = await answering(rowsOf(bulk));
            expect(rows.map(([error, value]) => error?.message ?? value)).to.deep.equal(
              keys.map((key) => (key.startsWith("bad") ? `ERR ${key}` : key)),
            );
          }
          const bad = keys.flatMap((key, index) => (key.startsWith("bad") ? [[index, `ERR ${key}`]] : []));
          const summary = await answering(bulk.summary());
          expect(told(summary)).to.deep.equal([
            [keys.length, keys.length, bad.length, keys.length - bad.length],
            bad.slice(0, options.maxErrors),
          ]);
          expect(kept.every((one) => one === isRead)).to.equal(true);
          expect(bulk.progress.bytes).to.equal(keys.join("").length + 3 * keys.length);
        },
      ),
      fixedRuns(60),
    );
  });

  it("starts when it is asked for, and once", async () => {
    const beganMs = performance.now();
    const bulk = open(gets("a"));
    await turn();
    expect([batches.length, bulk.progress.issued]).to.deep.equal([0, 0]);
    const summary = bulk.summary();
    expect(bulk.summary()).to.equal(summary);
    expect(told(await answering(summary))).to.deep.equal([[1, 1, 0, 1], []]);
    expect((await summary).durationMs).to.be.within(0, performance.now() - beganMs);
    expect(batches.length).to.equal(1);
  });

  it("is read once, and not after its summary was asked for", async () => {
    const bulk = open(gets("a"));
    await answering(rowsOf(bulk));
    expect(await failureOf(rowsOf(bulk))).to.be.instanceOf(TypeError);
    const other = open(gets("a"));
    const summary = other.summary();
    expect(await failureOf(rowsOf(other))).to.be.instanceOf(TypeError);
    await answering(summary);
  });

  it("gives a row as soon as it is there, before the rest of its batch", async () => {
    const bulk = open(gets("a", "b"), { batchSize: 2 });
    const rows = bulk[Symbol.asyncIterator]();
    const first = rows.next();
    await turn();
    reply(waiting[0] as readonly Command[], 0);
    expect((await first).value).to.deep.equal([null, "a"]);
    const second = rows.next();
    reply(waiting[0] as readonly Command[], 1);
    expect((await second).value).to.deep.equal([null, "b"]);
    expect((await rows.next()).done).to.equal(true);
  });

  it("has no more batches under way than it may, the one that is being read among them", async () => {
    const bulk = open(gets("a", "b", "c", "d"), { batchSize: 1, inFlight: 2 });
    const rows = bulk[Symbol.asyncIterator]();
    const first = rows.next();
    await turn();
    expect([waiting.length, bulk.progress.issued]).to.deep.equal([2, 2]);
    answer();
    await first;
    await turn();
    expect(bulk.progress, "its batch is not handed out").to.include({ issued: 2, settled: 0 });
    const second = rows.next();
    await turn();
    expect(bulk.progress).to.include({ issued: 3, settled: 1 });
    await answering(second);
    await answering(rowsOf({ [Symbol.asyncIterator]: () => rows } as Bulk));
  });

  it("tells of its progress after each batch", async () => {
    const seen: number[][] = [];
    const onProgress: BulkOptions["onProgress"] = ({ issued, settled, failed }) => {
      seen.push([issued, settled, failed]);
    };
    const bulk = open(gets("a", "bad", "c"), { onProgress, inFlight: 1 });
    await answering(bulk.summary());
    expect(seen).to.deep.equal([
      [2, 2, 1],
      [3, 3, 1],
    ]);
  });

  it("tells failures by their places, those that were never sent among them", async () => {
    const commands = [["get", "bad0"], ["exec"], ["get", "bad2"], ["get", "bad3"]];
    const bulk = open(commands, { batchSize: 3 });
    const summary = bulk.summary();
    await turn();
    const [first, second] = way.batches[0] as Command[];
    second?.fail(new ReplyError("ERR late"));
    first?.fail(new ReplyError("ERR early"));
    expect(told(await answering(summary))).to.deep.equal([
      [4, 4, 4, 0],
      [
        [0, "ERR early"],
        [1, "ERR EXEC without MULTI"],
        [2, "ERR late"],
        [3, "ERR bad3"],
      ],
    ]);
  });

  it("throws what the source threw behind what was sent, by the rows and by the summary", async () => {
    function* breaking(): Generator<BulkCommand> {
      yield* gets("a", "b");
      throw new Error("the source broke");
    }
    const bulk = open(breaking());
    const rows: Row[] = [];
    const reading = (async () => {
      for await (const row of bulk) rows.push(row);
    })();
    expect((await failureOf(answering(reading))).message).to.equal("the source broke");
    expect(rows.length).to.equal(2);
    expect((await failureOf(bulk.summary())).message).to.equal("the source broke");
    const other = open(breaking());
    expect((await failureOf(answering(other.summary()))).message).to.equal("the source broke");
    expect(other.progress.settled).to.equal(2);
  });

  it("settles what is under way when its reader leaves, and takes nothing more", async () => {
    let isClosed = false;
    function* source(): Generator<BulkCommand> {
      try {
        yield* gets("a", "bad", "c", "d", "e", "f");
      } finally {
        isClosed = true;
      }
    }
    const bulk = open(source());
    const leaving = (async () => {
      for await (const row of bulk) return row;
      return null;
    })();
    await turn();
    const [first] = waiting as [readonly Command[]];
    reply(first, 0);
    expect(await leaving).to.deep.equal([null, "a"]);
    expect(isClosed).to.equal(true);
    const summary = bulk.summary();
    await turn();
    expect(bulk.progress.settled).to.equal(0);
    waiting.shift();
    reply(first, 1);
    expect(told(await answering(summary))).to.deep.equal([[4, 4, 1, 3], [[1, "ERR bad"]]]);
  });

  describe("with a signal", () => {
    const reason = new Error("enough");

    it("does not start when that is aborted", async () => {
      const bulk = open(gets("a"), { signal: AbortSignal.abort(reason) });
      const error = await failureOf(bulk.summary());
      expect(error).to.be.instanceOf(BulkAbortedError);
      expect(error.cause).to.equal(reason);
      expect([batches.length, bulk.progress.issued]).to.deep.equal([0, 0]);
    });

    it("gives up what is under way, and says how much had settled", async () => {
      const aborting = new AbortController();
      const bulk = open(gets("a", "b", "c", "d", "e", "f", "g"), { signal: aborting.signal });
      const summary = bulk.summary();
      await turn();
      answer();
      await turn();
      expect(bulk.progress).to.include({ issued: 6, settled: 2 });
      aborting.abort(reason);
      const error = await failureOf(summary);
      expect(error.message).to.contain("after 2 commands");
      expect(waiting.flat().every(({ isSettled }) => isSettled)).to.equal(true);
      expect(bulk.progress.issued).to.equal(6);
      expect(getEventListeners(aborting.signal, "abort").length).to.equal(0);
    });

    it("ends the reader that waits for a row, and the one that has rows before it", async () => {
      for (const isWaiting of [true, false]) {
        way = new ScriptedSender();
        waiting = way.batches;
        const aborting = new AbortController();
        const bulk = open(gets("a", "b", "c"), { batchSize: 3, signal: aborting.signal });
        const rows = bulk[Symbol.asyncIterator]();
        const first = rows.next();
        await turn();
        if (isWaiting) reply(waiting[0] as readonly Command[], 0);
        else answer();
        expect((await first).value).to.deep.equal([null, "a"]);
        const second = isWaiting ? rows.next() : null;
        await turn();
        aborting.abort(reason);
        const error = await failureOf(second ?? rows.next());
        expect(error).to.be.instanceOf(BulkAbortedError);
        expect((await failureOf(bulk.summary())).cause).to.equal(reason);
        expect(getEventListeners(aborting.signal, "abort").length).to.equal(0);
      }
    });

    it("does not wait for a source that never gives anything", async () => {
      const aborting = new AbortController();
      const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
      const summary = open(never, { signal: aborting.signal }).summary();
      await turn();
      aborting.abort(reason);
      expect((await failureOf(summary)).cause).to.equal(reason);
    });

    it("is aborted between two batches too", async () => {
      const aborting = new AbortController();
      const bulk = open(gets("a", "b", "c"), {
        batchSize: 1,
        inFlight: 1,
        signal: aborting.signal,
        onProgress: () => aborting.abort(reason),
      });
      expect((await failureOf(answering(bulk.summary()))).message).to.contain("after 1 commands");
      expect(way.batches.flat().every(({ state }) => state === CommandState.Settled)).to.equal(true);
    });

    it("listens no more once it is over", async () => {
      const { signal } = new AbortController();
      const bulk = open(gets("a"), { signal });
      const summary = bulk.summary();
      expect(getEventListeners(signal, "abort").length).to.equal(1);
      await answering(summary);
      expect(getEventListeners(signal, "abort").length).to.equal(0);
    });
  });

  describe("when nothing of a batch found a node of the cluster", () => {
    const unavailable = Object.assign(new Error("no node"), { code: "CLUSTER_UNAVAILABLE" });

    function refuse(commands: readonly Command[] | undefined): void {
      for (const command of commands ?? []) command.fail(unavailable);
    }

    it("rejects, and needs nobody to hear it twice", async () => {
      const thrown = await uncaughtDuring(async () => {
        const bulk = open(gets("a", "b", "c", "d"));
        const reading = (async () => {
          for await (const row of bulk) throw new Error(`a row: ${row}`);
        })();
        await turn();
        for (const batch of waiting) refuse(batch);
        expect(await failureOf(reading)).to.equal(unavailable);
      });
      expect(thrown).to.deep.equal([]);
    });

    it("gives the rows of batches before it, and none of its own", async () => {
      const bulk = open(gets("a", "b", "c", "d"));
      const rows: Row[] = [];
      const reading = (async () => {
        for await (const row of bulk) rows.push(row);
      })();
      await turn();
      refuse(waiting[1]);
      answer();
      expect(await failureOf(reading)).to.equal(unavailable);
      expect(rows.map(([, value]) => value)).to.deep.equal(["a", "b"]);
      expect(await failureOf(bulk.summary())).to.equal(unavailable);
    });
  });

  it("takes 10,000 commands or 8 MiB for a batch by default, and keeps 100 errors", async () => {
    const sizes: number[] = [];
    for (const value of ["1", "x".repeat(2 ** 20 - 4)]) {
      way = new ScriptedSender();
      waiting = way.batches;
      const commands = Array.from({ length: 10_001 }, () => ["set", "k", value]);
      const aborting = new AbortController();
      const bulk = open(commands, { batchSize: undefined, signal: aborting.signal });
      const summary = bulk.summary();
      await turn();
      sizes.push(...waiting.map(({ length }) => length));
      aborting.abort();
      await failureOf(summary);
    }
    expect(sizes).to.deep.equal([10_000, 1, 8, 8]);
    way = new ScriptedSender();
    waiting = way.batches;
    const { errors } = await answering(open(gets(...Array.from({ length: 101 }, () => "bad"))).summary());
    expect(errors.length).to.equal(100);
  });

  it("says which option makes no sense", () => {
    for (const name of ["batchSize", "maxBytes", "inFlight", "maxReplyBytes"] as const) {
      for (const wrong of [0, -1, Number.NaN, "2"]) {
        const message = `Invalid ${name} "${wrong}" of bulk(): expected a number of at least 1`;
        expect(() => open([], { [name]: wrong }), name).to.throw(message);
      }
      for (const right of [1, Number.POSITIVE_INFINITY]) {
        expect(() => open([], { [name]: right })).to.not.throw();
      }
    }
    for (const wrong of [{ batchsize: 5 }, { maxErrors: -1 }, { signal: 5 }, { onProgress: 5 }]) {
      expect(() => open([], wrong as never)).to.throw(/ of bulk\(\): expected /);
    }
  });

  it("shows its counts and not what it sends", async () => {
    const bulk = open([["set", "secret-key", "secret-value"]]);
    await answering(bulk.summary());
    expect(inspect(bulk)).to.equal("Bulk { issued: 1, settled: 1, failed: 0, bytes: 25 }");
  });
});
