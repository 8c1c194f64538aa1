/**
 * Sends any number of commands in batches and never holds more than a window of them: the
 * producer is not asked for more while `inFlight` batches are unanswered, or while rows wait to
 * be read. Works on whatever makes pipelines: one server, sentinels, a cluster.
 *
 * It starts when it is first iterated or asked for its `summary()`, so rows are kept only for
 * those who read them. After a loss its commands follow the rules of single ones.
 */

import { BulkAbortedError } from "../errors";
import { listenToAbort, stopListening } from "../util/abort-listeners";
import { INSPECT, type InspectArguments } from "../util/inspect";
import { clockMs } from "../util/scheduling";
import { BulkBatch, type BulkFailure } from "./bulk-batch";
import { BulkFeed, type BulkSource, type FeedLimits } from "./bulk-feed";
import type { Row } from "./transaction";

export { BulkBatch };

export interface BulkOptions {
  /** Commands of one batch. Default 10,000. */
  batchSize?: number | undefined;
  /** Characters and bytes of arguments after which a batch is closed early. Default 8 MiB. */
  maxBytes?: number | undefined;
  /** Batches that may be unanswered. Default 2: one is answered while the next is on its way. */
  inFlight?: number | undefined;
  /**
   * Size of the replies that may be unread, in characters and bytes, as far as the last ones tell:
   * batches are smaller while replies are large. Holds while rows are read. Default 64 MiB.
   */
  maxReplyBytes?: number | undefined;
  /** Errors that the summary keeps. Default 100. */
  maxErrors?: number | undefined;
  /** Ends the bulk early: nothing more is taken from the source, what is unsent is removed. */
  signal?: AbortSignal | undefined;
  /** Called after each answered batch. */
  onProgress?: ((progress: Readonly<BulkProgress>) => void) | undefined;
}

export interface BulkProgress {
  /** Commands taken from the source. */
  issued: number;
  /** Commands that are answered or have failed. */
  settled: number;
  failed: number;
  /** Size of the arguments taken, in characters and bytes. */
  bytes: number;
}

export interface BulkSummary extends BulkProgress {
  succeeded: number;
  /** The first errors, each with the position of its command. */
  errors: { index: number; error: Error }[];
  durationMs: number;
}

const MEBIBYTE = 1024 * 1024;
const DEFAULTS = {
  batchSize: 10_000,
  maxBytes: 8 * MEBIBYTE,
  maxReplyBytes: 64 * MEBIBYTE,
  inFlight: 2,
  maxErrors: 100,
};

export class Bulk implements AsyncIterable<Row> {
  private settled = 0;
  private failed = 0;
  private readonly limits: FeedLimits;
  private readonly maxErrors: number;
  private readonly errors: BulkFailure[] = [];
  private readonly feed: BulkFeed;
  private outcome: Promise<BulkSummary> | null = null;
  private keepsRows = false;
  private startedAtMs = 0;

  constructor(
    source: BulkSource,
    openBatch: (keepsRows: boolean) => BulkBatch,
    private readonly options: BulkOptions = {},
  ) {
    this.limits = {
      batchSize: atLeastOne("batchSize", options.batchSize ?? DEFAULTS.batchSize),
      maxBytes: atLeastOne("maxBytes", options.maxBytes ?? DEFAULTS.maxBytes),
      inFlight: atLeastOne("inFlight", options.inFlight ?? DEFAULTS.inFlight),
      maxReplyBytes: atLeastOne("maxReplyBytes", options.maxReplyBytes ?? DEFAULTS.maxReplyBytes),
    };
    this.maxErrors = options.maxErrors ?? DEFAULTS.maxErrors;
    this.feed = new BulkFeed(source, () => openBatch(this.keepsRows), this.limits);
  }

  /** The counts so far. */
  get progress(): BulkProgress {
    const { settled, failed } = this;
    return { issued: this.feed.issued, settled, failed, bytes: this.feed.bytes };
  }

  /** Commands that are to be sent are not shown. */
  [INSPECT](_depth: number, ...[style, inspect]: InspectArguments): string {
    return `Bulk ${inspect(this.progress, style)}`;
  }

  /** Runs to the end without keeping rows (unless it is being iterated) and tells how it went. */
  summary(): Promise<BulkSummary> {
    this.outcome ??= this.drain();
    return this.outcome;
  }

  /** The rows in the order of the commands, `[null, reply]` or `[error]`. Can be iterated once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
    if (this.outcome !== null) {
      throw new TypeError("A bulk can be read once, and not after summary() has started it");
    }
    this.keepsRows = true;
    let finish!: (summary: Promise<BulkSummary>) => void;
    this.outcome = new Promise((resolve) => {
      finish = resolve;
    });
    this.outcome.catch(() => {});
    try {
      for await (const batch of this.run()) {
        // A batch of which nothing could be sent may be refused as a whole.
        if (batch.isSettled) await batch.outcome;
        // Each row as it comes, so that those that were read need not be kept for the rest of their batch.
        for (let index = 0; index < batch.length; index++) {
          if (this.options.signal?.aborted) throw this.abortError();
          yield batch.takeRow(index) ?? (await this.rowOf(batch, index));
        }
      }
    } catch (error) {
      finish(Promise.reject(error));
      throw error;
    } finally {
      // A reader who left early: what is under way settles on its own.
      const rest = this.settleRest();
      rest.catch(() => {});
      finish(rest);
    }
  }

  private async rowOf(batch: BulkBatch, index: number): Promise<Row> {
    await batch.untilRow(index);
    if (batch.isSettled) await batch.outcome;
    if (this.options.signal?.aborted) throw this.abortError();
    return batch.takeRow(index) as Row;
  }

  private async drain(): Promise<BulkSummary> {
    for await (const batch of this.run()) void batch;
    return this.summarize();
  }

  private async settleRest(): Promise<BulkSummary> {
    for (const batch of this.feed.sent.splice(0)) {
      await batch.outcome;
      this.account(batch);
    }
    return this.summarize();
  }

  /** The batches in order, each accounted for when it has settled; one that is being read has its place in the window. */
  private async *run(): AsyncGenerator<BulkBatch> {
    const { feed } = this;
    const { signal } = this.options;
    this.startedAtMs = clockMs();
    const onAbort = (): void => {
      for (const batch of feed.sent) batch.abort(this.abortError());
      feed.stop().catch(() => {});
    };
    if (signal) listenToAbort(signal, onAbort);
    try {
      if (signal?.aborted) throw this.abortError();
      feed.start(this.keepsRows);
      for (;;) {
        const batch = await feed.oldest();
        if (signal?.aborted) throw this.abortError();
        if (batch === null) return;
        if (this.keepsRows) yield batch;
        await batch.outcome;
        if (signal?.aborted) throw this.abortError();
        feed.drop();
        this.account(batch);
        const { closedBy } = batch;
        // The source may be endless, and nothing of it would be taken.
        if (closedBy !== null && !feed.isDrained)
          throw new BulkAbortedError(this.settled, { cause: closedBy });
      }
    } catch (error) {
      // What it has failed with is told, not what the source throws on being closed.
      await feed.stop().catch(() => {});
      throw error;
    } finally {
      if (signal) stopListening(signal, onAbort);
      await feed.stop();
    }
  }

  private account({ length, failures }: BulkBatch): void {
    // A command that could not be sent has failed first, wherever it stands.
    for (const { index, error } of failures.sort((a, b) => a.index - b.index)) {
      if (this.errors.length >= this.maxErrors) break;
      this.errors.push({ index: this.settled + index, error });
    }
    this.settled += length;
    this.failed += failures.length;
    this.options.onProgress?.(this.progress);
  }

  private summarize(): BulkSummary {
    const { progress, errors } = this;
    const durationMs = clockMs() - this.startedAtMs;
    return { ...progress, succeeded: progress.settled - progress.failed, errors, durationMs };
  }

  private abortError(): BulkAbortedError {
    return new BulkAbortedError(this.settled, { cause: this.options.signal?.reason });
  }
}

function atLeastOne(name: string, value: number): number {
  if (!(value >= 1)) throw new RangeError(`bulk option "${name}" must be at least 1, got ${value}`);
  return value;
}
