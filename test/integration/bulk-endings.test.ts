/** Bulks that end early: a producer that throws or stalls, a reader that leaves, an abort, a client that is closed. */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { type BulkAbortedError, OptionError, type Redis } from "../../src/index";
import type { Bulk } from "../../src/pipeline/bulk";
import { closeClient, untilReady } from "../support/matrix";
import { errorOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

/** Gives commands, then nothing more until it is released, and says when it was closed. */
class StalledSource {
  isClosed = false;
  private release: (() => void) | null = null;

  constructor(private readonly commands: readonly (readonly unknown[])[]) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly unknown[]> {
    try {
      yield* this.commands;
      await new Promise<void>((resolve) => {
        this.release = resolve;
      });
    } finally {
      this.isClosed = true;
    }
  }

  end(): void {
    this.release?.();
  }
}

describe("a bulk that ends early", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(() => {
    redis = fixture.connectDirectly();
    return untilReady(redis);
  });

  it("rows of what was sent come before the error of the producer", async () => {
    const broken = new Error("the file is gone");
    function* source(): Generator<unknown[]> {
      for (let i = 0; i < 250; i++) yield ["incr", "n"];
      throw broken;
    }
    const values: unknown[] = [];
    const bulk = redis.bulk(source(), { batchSize: 100 });
    const failure = await errorOf(
      (async () => {
        for await (const [, value] of bulk) values.push(value);
      })(),
    );
    expect(failure).to.equal(broken);
    // Two batches were full; the fifty commands of the third were never sent.
    expect(values).to.deep.equal(Array.from({ length: 200 }, (_, i) => i + 1));
    expect(await redis.get("n")).to.equal("200");
    expect(await errorOf(bulk.summary())).to.equal(broken);
  });

  it("the error of an asynchronous producer rejects the summary after what was sent has settled", async () => {
    const broken = new Error("the cursor is gone");
    async function* source(): AsyncGenerator<unknown[]> {
      for (let i = 0; i < 30; i++) yield ["incr", "n"];
      throw broken;
    }
    const bulk = redis.bulk(source(), { batchSize: 10 });
    expect(await errorOf(bulk.summary())).to.equal(broken);
    expect(bulk.progress).to.include({ issued: 30, settled: 30, failed: 0 });
  });

  it("what a pausing producer has given is sent, though the batch is not full", async () => {
    const source = new StalledSource([
      ["incr", "n"],
      ["incr", "n"],
    ]);
    const bulk = redis.bulk(source);
    const summary = bulk.summary();
    await waitUntil(async () => bulk.progress.settled === 2, {
      timeoutMs: 5000,
      what: "its commands are answered",
    });
    source.end();
    expect(await summary).to.include({ settled: 2, succeeded: 2 });
    expect(source.isClosed).to.equal(true);
  });

  it("an abort does not wait for a producer that gives nothing", async () => {
    const source = new StalledSource([["incr", "n"]]);
    const controller = new AbortController();
    const bulk = redis.bulk(source, { signal: controller.signal });
    const summary = errorOf(bulk.summary());
    await waitUntil(async () => bulk.progress.settled === 1, {
      timeoutMs: 5000,
      what: "its command is answered",
    });
    const reason = new Error("the user has left");
    controller.abort(reason);
    const failure = await summary;
    expect(failure?.code).to.equal("BULK_ABORTED");
    expect(failure?.cause).to.equal(reason);
    expect(bulk.progress).to.include({ settled: 1, failed: 0 });
    source.end();
    await waitUntil(async () => source.isClosed, { timeoutMs: 5000, what: "the source is closed" });
  });

  for (const end of ["disconnect", "quit"] as const) {
    it(`${end}() does not wait for a producer that gives nothing`, async () => {
      const sources = [new StalledSource([["incr", "n"]]), new StalledSource([["incr", "n"]])];
      const [first, second] = sources.map((source) => redis.bulk(source));
      const summary = errorOf((first as Bulk).summary());
      const values: unknown[] = [];
      const reading = errorOf(
        (async () => {
          for await (const [, value] of second as Bulk) values.push(value);
        })(),
      );
      await waitUntil(async () => values.length === 1 && first?.progress.settled === 1, {
        timeoutMs: 5000,
        what: "its commands are answered",
      });
      if (end === "quit") await redis.quit();
      else redis.disconnect();
      for (const failure of await Promise.all([summary, reading])) {
        expect(failure).to.include({ code: "BULK_ABORTED" });
        expect(failure?.cause).to.include({ code: "CONNECTION_CLOSED" });
      }
      expect(first?.progress).to.include({ settled: 1, failed: 0 });
      for (const source of sources) source.end();
      await waitUntil(async () => sources.every(({ isClosed }) => isClosed), {
        timeoutMs: 5000,
        what: "the sources are closed",
      });
    });
  }

  it("bulks of many views listen to the end of their client once", async () => {
    const source = new StalledSource([["incr", "n"]]);
    const summaries = Array.from({ length: 12 }, () =>
      errorOf(redis.with({ timeout: 5000 }).bulk(source).summary()),
    );
    expect(redis.listenerCount("end")).to.equal(1);
    await closeClient(redis);
    for (const failure of await Promise.all(summaries)) expect(failure).to.include({ code: "BULK_ABORTED" });
  });

  it("with a signal that is aborted already nothing is taken and nothing sent", async () => {
    let taken = 0;
    function* source(): Generator<unknown[]> {
      taken++;
      yield ["incr", "n"];
    }
    const failure = await errorOf(redis.bulk(source(), { signal: AbortSignal.abort() }).summary());
    expect(failure?.code).to.equal("BULK_ABORTED");
    expect(taken).to.equal(0);
    expect(await redis.get("n")).to.equal(null);
  });

  it("a producer may abort its own bulk", async () => {
    const controller = new AbortController();
    let isClosed = false;
    function* source(): Generator<unknown[]> {
      try {
        for (let i = 0; ; i++) {
          if (i === 5) controller.abort();
          yield ["incr", "n"];
        }
      } finally {
        isClosed = true;
      }
    }
    const failure = await errorOf(
      redis.bulk(source(), { batchSize: 2, signal: controller.signal }).summary(),
    );
    expect(failure?.code).to.equal("BULK_ABORTED");
    expect(isClosed).to.equal(true);
  });

  it("the summary after a reader who left counts what was under way", async () => {
    function* source(): Generator<unknown[]> {
      for (;;) yield ["incr", "n"];
    }
    const bulk = redis.bulk(source(), { batchSize: 100, inFlight: 3 });
    let read = 0;
    for await (const [error] of bulk) {
      expect(error).to.equal(null);
      if (++read === 150) break;
    }
    const summary = await bulk.summary();
    expect(summary.settled).to.equal(summary.issued - (summary.issued % 100));
    expect(summary.failed).to.equal(0);
    expect(await redis.get("n")).to.equal(String(summary.settled));
  });

  it("can be read once", async () => {
    const bulk = redis.bulk([["incr", "n"]]);
    await bulk.summary();
    const failure = await errorOf(bulk[Symbol.asyncIterator]().next());
    expect(failure).to.be.instanceOf(TypeError);
    expect(await redis.get("n")).to.equal("1");
  });

  /** Never ends, and notes that it was closed. */
  function endless(
    noted: { isClosed: boolean; taken: number },
    isAsync: boolean,
  ): Iterable<unknown[]> | AsyncIterable<unknown[]> {
    const commands = function* (): Generator<unknown[]> {
      try {
        for (;;) yield ["set", "k", noted.taken++];
      } finally {
        noted.isClosed = true;
      }
    };
    return isAsync
      ? (async function* () {
          yield* commands();
        })()
      : commands();
  }

  it("a client that is closed fails what was taken of a source that is at its end", async () => {
    const bulk = redis.bulk(Array.from({ length: 150 }, (_, i) => ["set", "k", i]));
    await closeClient(redis);
    expect(await bulk.summary()).to.include({ issued: 150, settled: 150, failed: 150 });
  });

  for (const isAsync of [false, true]) {
    const kind = isAsync ? "an asynchronous" : "a synchronous";

    it(`a client that is closed takes nothing more from ${kind} source, and other work goes on meanwhile`, async () => {
      const noted = { isClosed: false, taken: 0 };
      const bulk = redis.bulk(endless(noted, isAsync), { batchSize: 100 });
      let turns = 0;
      const interval = setInterval(() => turns++, 1);
      const outcome = errorOf(bulk.summary());
      while (bulk.progress.settled < 1000) await sleep(1);
      await closeClient(redis);
      const error = (await outcome) as BulkAbortedError;
      clearInterval(interval);
      expect([error.code, (error.cause as { code?: string }).code]).to.deep.equal([
        "BULK_ABORTED",
        "CONNECTION_CLOSED",
      ]);
      const { issued, settled, failed } = bulk.progress;
      expect(failed).to.be.within(1, settled);
      expect(noted.isClosed).to.equal(true);
      // One more may have been on its way.
      expect(noted.taken - issued).to.be.at.most(1);
      expect(turns).to.be.above(0);
    });

    it(`a reader gets the rows of what ${kind} source gave, then hears that the client is closed`, async () => {
      const noted = { isClosed: false, taken: 0 };
      let [rows, errors] = [0, 0];
      const error = await errorOf(
        (async () => {
          for await (const [error] of redis.bulk(endless(noted, isAsync), { batchSize: 100 })) {
            if (++rows === 1000) void closeClient(redis);
            if (error) errors++;
          }
        })(),
      );
      expect((error as BulkAbortedError).code).to.equal("BULK_ABORTED");
      expect(noted.isClosed).to.equal(true);
      expect(errors).to.be.within(1, rows - 1000);
    });

    it(`a reader gets a row for each command that was sent of ${kind} source before the client is closed`, async () => {
      const noted = { isClosed: false, taken: 0 };
      const bulk = redis.bulk(endless(noted, isAsync), { batchSize: 100, inFlight: 4 });
      let rows = 0;
      const error = await errorOf(
        (async () => {
          for await (const row of bulk) if (row && ++rows === 1000) void closeClient(redis);
        })(),
      );
      const { settled, issued } = bulk.progress;
      expect(rows).to.equal(settled);
      // At most one batch was read and not sent.
      expect(issued - settled).to.be.below(100);
      expect((error as BulkAbortedError).message).to.contain(`after ${settled} commands`);
    });

    it(`the reader who leaves hears what ${kind} source throws on being closed`, async () => {
      const refusal = new Error("the file cannot be closed");
      const commands = {
        next: () => ({ done: false as const, value: ["incr", "n"] }),
        return: () => {
          throw refusal;
        },
      };
      const source = isAsync
        ? {
            [Symbol.asyncIterator]: () => ({
              next: async () => commands.next(),
              return: async () => commands.return(),
            }),
          }
        : { [Symbol.iterator]: () => commands };
      const bulk = redis.bulk(source as Iterable<unknown[]>, { batchSize: 10 });
      const leave = async (): Promise<void> => {
        for await (const row of bulk) if (row) break;
      };
      expect(await errorOf(leave())).to.equal(refusal);
      expect(await errorOf(bulk.summary())).to.equal(refusal);
    });
  }

  it("refuses what is no source and limits that are none", async () => {
    const asSource = (value: unknown): Iterable<readonly unknown[]> => value as Iterable<readonly unknown[]>;
    expect(await errorOf(redis.bulk(asSource(5)).summary())).to.be.instanceOf(TypeError);
    expect(await errorOf(redis.bulk([["no such command"]]).summary())).to.be.instanceOf(TypeError);
    for (const options of [{ batchSize: 0 }, { inFlight: Number.NaN }, { maxBytes: -1 }]) {
      expect(() => redis.bulk([], options)).to.throw(OptionError);
    }
    for (const options of [null, 5, []]) {
      const message = /^Invalid options "?.+"? of bulk\(\): expected an object/;
      expect(() => redis.bulk([], options as never)).to.throw(OptionError, message);
      expect(() => redis.with(options as never)).to.throw(OptionError, /^Invalid settings/);
    }
  });
});

describe("transactions in a bulk", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(() => {
    redis = fixture.connectDirectly();
    return untilReady(redis);
  });

  it("are never divided", async () => {
    const increments = Array.from({ length: 10 }, () => ["incr", "n"]);
    const rows: unknown[] = [];
    const source = [["set", "a", 1], ["multi"], ...increments, ["exec"], ["get", "n"]];
    for await (const row of redis.bulk(source, { batchSize: 3 })) rows.push(row);
    expect(rows).to.have.length(14);
    expect(rows[12]).to.deep.equal([null, Array.from({ length: 10 }, (_, i) => i + 1)]);
    expect(rows[13]).to.deep.equal([null, "10"]);
  });

  it("without their end are not sent; an end without its beginning is answered in its row", async () => {
    const { errors, ...counts } = await redis
      .bulk([["set", "a", 1], ["exec"], ["multi"], ["incr", "n"]])
      .summary();
    expect(counts).to.include({ issued: 4, succeeded: 1, failed: 3 });
    expect(errors.map(({ index }) => index)).to.deep.equal([1, 2, 3]);
    expect(errors[0]?.error.message).to.contain("EXEC without MULTI");
    expect(await redis.get("n")).to.equal(null);
    // The connection is not left inside of a transaction.
    expect(await redis.get("a")).to.equal("1");
  });
});
