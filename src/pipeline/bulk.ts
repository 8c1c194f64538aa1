/**
 * Sends any number of commands in batches and holds at most a window of them in memory: it stops reading the
 * source while `inFlight` batches are unanswered, or while rows wait to be read. Works with every client that
 * creates pipelines: one server, Sentinel, a cluster.
 *
 * It starts when it is iterated or its `summary()` is called, so rows are kept only if they are read. After a
 * loss its commands follow the rules of single ones.
 */

import { ConnectionClosedError } from "../errors";
import { BulkAbortedError } from "../part-errors";
import { listenToAbort, stopListening } from "../util/abort-listeners";
import {
  type Check,
  checkSettings,
  functionOnly,
  type SettingChecks,
  signalOnly,
} from "../util/check-settings";
import { INSPECT, type InspectArguments } from "../util/inspect";
import { atTurnEnd, clockMs } from "../util/scheduling";
import { BulkBatch, type BulkFailure } from "./bulk-batch";
import { BulkFeed, type BulkSource } from "./bulk-feed";
import type { Row } from "./transaction";

export { BulkBatch };

export interface BulkOptions {
  /** Commands of one batch. Default 10,000. */
  batchSize?: number | undefined;
  /** Size of arguments, in characters and bytes, at which a batch is sent early. Default 8 MiB. */
  maxBytes?: number | undefined;
  /** Limit of unanswered batches. Default 2: one is answered while the next is in flight. */
  inFlight?: number | undefined;
  /**
   * Limit of the size of unread replies, in characters and bytes. The size is estimated from the last replies, so batches
   * are smaller while replies are large. Applies only while rows are read. Default 64 MiB.
   */
  maxReplyBytes?: number | undefined;
  /** Limit of errors in the summary. Default 100. */
  maxErrors?: number | undefined;
  /** Ends the bulk early: stops reading the source and removes unsent commands. */
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
  /** The size of the taken arguments, in characters and bytes. */
  bytes: number;
}

export interface BulkSummary extends BulkProgress {
  succeeded: number;
  /** The first errors, each with the position of its command. */
  errors: { index: number; error: Error }[];
  durationMs: number;
}

const MEBIBYTE = 1024 * 1024;

const CHECKS: SettingChecks<BulkOptions> = {
  batchSize: numberFrom(1),
  maxBytes: numberFrom(1),
  inFlight: numberFrom(1),
  maxReplyBytes: numberFrom(1),
  maxErrors: numberFrom(0),
  signal: signalOnly,
  onProgress: functionOnly,
};

/** Infinity removes the limit. */
function numberFrom(least: number): Check {
  return (value) => (typeof value === "number" && value >= least ? null : `a number of at least ${least}`);
}

export class Bulk implements AsyncIterable<Row> {
  private settled = 0;
  private failed = 0;
  private readonly maxErrors: number;
  private readonly errors: BulkFailure[] = [];
  private readonly feed: BulkFeed;
  private outcome: Promise<BulkSummary> | null = null;
  private keepsRows = false;
  private startedAtMs = 0;

  /** @internal */
  constructor(
    source: BulkSource,
    openBatch: (keepsRows: boolean) => BulkBatch,
    private readonly options: BulkOptions = {},
    /** A signal that is aborted when the client ends. */
    private readonly ending: (() => AbortSignal) | null = null,
  ) {
    checkSettings("bulk()", options, CHECKS);
    const { batchSize = 10_000, inFlight = 2, maxErrors = 100 } = options;
    const { maxBytes = 8 * MEBIBYTE, maxReplyBytes = 64 * MEBIBYTE } = options;
    this.maxErrors = maxErrors;
    const limits = { batchSize, inFlight, maxBytes, maxReplyBytes };
    this.feed = new BulkFeed(source, () => openBatch(this.keepsRows), limits);
  }

  /** The counts so far. */
  get progress(): BulkProgress {
    const { settled, failed } = this;
    return { issued: this.feed.issued, settled, failed, bytes: this.feed.bytes };
  }

  /** Hides the unsent commands. */
  [INSPECT](_depth: number, ...[style, inspect]: InspectArguments): string {
    return `Bulk ${inspect(this.progress, style)}`;
  }

  /** Runs to the end without keeping rows (unless the bulk is being iterated) and resolves with a summary. */
  summary(): Promise<BulkSummary> {
    this.outcome ??= this.drain();
    return this.outcome;
  }

  /** The rows in the order of the commands, `[null, reply]` or `[error]`. Can be iterated once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
    if (this.outcome !== null) {
      throw new TypeError("A bulk can be read only once, and not after summary()");
    }
    this.keepsRows = true;
    let finish!: (summary: Promise<BulkSummary>) => void;
    this.outcome = new Promise((resolve) => {
      finish = resolve;
    });
    this.outcome.catch(() => {});
    try {
      for await (const batch of this.run()) {
        // A batch without any sent command may be rejected as a whole.
        if (batch.isSettled) await batch.outcome;
        // Rows are returned as they arrive, so that read rows are not kept for the rest of their batch.
        for (let index = 0; index < batch.length; index++) {
          if (this.options.signal?.aborted) throw this.abortError();
          yield batch.takeRow(index) ?? (await this.rowOf(batch, index));
        }
      }
    } catch (error) {
      finish(Promise.reject(error));
      throw error;
    } finally {
      // The reader has stopped early: the commands in flight settle on their own.
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

  /** The batches in order, each counted when it has settled; a batch that is being read occupies the window. */
  private async *run(): AsyncGenerator<BulkBatch> {
    const { feed } = this;
    const { signal } = this.options;
    this.startedAtMs = clockMs();
    const onAbort = (): void => {
      for (const batch of feed.sent) batch.abort(this.abortError());
      feed.stop().catch(() => {});
    };
    if (signal) listenToAbort(signal, onAbort);
    let cutBy: Error | null = null;
    const ending = this.ending?.() ?? null;
    // A command that the source has just yielded is refused, which ends the bulk. An idle source is stopped
    // here, because it may never yield another command.
    const onEnd = (): void =>
      atTurnEnd(() => {
        if (!feed.isIdle) return;
        cutBy ??= new ConnectionClosedError();
        feed.stop().catch(() => {});
      });
    if (ending) listenToAbort(ending, onEnd);
    try {
      if (signal?.aborted) throw this.abortError();
      feed.start(this.keepsRows);
      for (;;) {
        const batch = await feed.oldest();
        if (signal?.aborted) throw this.abortError();
        if (batch === null) break;
        if (this.keepsRows) yield batch;
        await batch.outcome;
        if (signal?.aborted) throw this.abortError();
        feed.drop();
        this.account(batch);
        if (ending?.aborted) onEnd();
        // The source may be endless, and a closed client accepts none of its commands.
        if (batch.closedBy === null || feed.isEnded) continue;
        cutBy ??= batch.closedBy;
        await feed.stop().catch(() => {});
      }
      if (cutBy !== null) throw new BulkAbortedError(this.settled, { cause: cutBy });
    } catch (error) {
      // The source's own error is reported, not the one that it throws when it is closed.
      await feed.stop().catch(() => {});
      throw error;
    } finally {
      if (signal) stopListening(signal, onAbort);
      if (ending) stopListening(ending, onEnd);
      await feed.stop();
    }
  }

  private account({ length, failures }: BulkBatch): void {
    // Commands that could not be sent fail first, regardless of their positions.
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
