/**
 * Sends any number of commands in batches and never holds more than a window of them: the
 * producer is not asked for more while `inFlight` batches are unanswered, or while rows wait to
 * be read. Works on whatever makes pipelines: one server, sentinels, a cluster.
 *
 * It starts when it is first iterated or asked for its `summary()`, so rows are kept only for
 * those who read them. After a loss its commands follow the rules of single ones.
 */

import { BulkAbortedError } from "../errors";
import type { Row, Rows } from "./pipeline-run";

/** One command: `[name, ...args]`, as in the pipeline constructor. */
export type BulkCommand = readonly unknown[];

export interface BulkOptions {
  /** Commands of one batch. Default 10,000. */
  batchSize?: number | undefined;
  /** Characters and bytes of arguments after which a batch is closed early. Default 8 MiB. */
  maxBytes?: number | undefined;
  /** Batches that may be unanswered. Default 2: one is answered while the next is on its way. */
  inFlight?: number | undefined;
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

/** A batch that the client has filled and can send; gives all rows, never rejects. */
export interface BulkBatch {
  send(): Promise<Rows>;
  /** Fails what has not settled. */
  abort(error: Error): void;
}

export type BatchMaker = (commands: readonly BulkCommand[]) => BulkBatch;

type Source = Iterable<BulkCommand> | AsyncIterable<BulkCommand>;
type AnyIterator = Iterator<BulkCommand> | AsyncIterator<BulkCommand>;

const DEFAULTS = { batchSize: 10_000, maxBytes: 8 * 1024 * 1024, inFlight: 2, maxErrors: 100 };

export class Bulk implements AsyncIterable<Row> {
  /** What has happened so far. */
  readonly progress: BulkProgress = { issued: 0, settled: 0, failed: 0, bytes: 0 };

  private readonly batchSize: number;
  private readonly maxBytes: number;
  private readonly inFlight: number;
  private readonly maxErrors: number;
  private readonly errors: BulkSummary["errors"] = [];
  private outcome: Promise<BulkSummary> | null = null;
  private isIterated = false;
  private durationMs = 0;

  constructor(
    private readonly source: Source,
    private readonly makeBatch: BatchMaker,
    private readonly options: BulkOptions = {},
  ) {
    this.batchSize = atLeastOne("batchSize", options.batchSize ?? DEFAULTS.batchSize);
    this.maxBytes = atLeastOne("maxBytes", options.maxBytes ?? DEFAULTS.maxBytes);
    this.inFlight = atLeastOne("inFlight", options.inFlight ?? DEFAULTS.inFlight);
    this.maxErrors = options.maxErrors ?? DEFAULTS.maxErrors;
  }

  /** Runs to the end without keeping rows (unless it is being iterated) and tells how it went. */
  summary(): Promise<BulkSummary> {
    this.outcome ??= this.drain();
    return this.outcome;
  }

  /** The rows in the order of the commands, `[null, reply]` or `[error]`. Can be iterated once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
    if (this.isIterated || this.outcome !== null) {
      throw new TypeError("A bulk can be read once, and not after summary() has started it");
    }
    this.isIterated = true;
    let finish!: (summary: BulkSummary | Promise<never>) => void;
    this.outcome = new Promise((resolve) => {
      finish = resolve;
    });
    this.outcome.catch(() => {});
    try {
      for await (const rows of this.run()) yield* rows;
    } catch (error) {
      finish(Promise.reject(error));
      throw error;
    } finally {
      // Also when the reader left early: what was done is the summary.
      finish(this.summarize());
    }
  }

  private async drain(): Promise<BulkSummary> {
    for await (const rows of this.run()) void rows;
    return this.summarize();
  }

  /** Batches of rows, in order; at most `inFlight` batches are sent and not yet handed out. */
  private async *run(): AsyncGenerator<Rows> {
    const startedAtMs = performance.now();
    const iterator = open(this.source);
    const sent: { batch: BulkBatch; rows: Promise<Rows> }[] = [];
    const onAbort = (): void => {
      for (const { batch } of sent) batch.abort(this.abortError());
    };
    this.options.signal?.addEventListener("abort", onAbort, { once: true });
    let isDrained = false;
    try {
      while (!isDrained || sent.length > 0) {
        while (!isDrained && sent.length < this.inFlight) {
          if (this.options.signal?.aborted) throw this.abortError();
          const commands: BulkCommand[] = [];
          isDrained = await this.gather(iterator, commands);
          if (commands.length === 0) continue;
          const batch = this.makeBatch(commands);
          sent.push({ batch, rows: batch.send() });
        }
        const oldest = sent[0];
        if (oldest === undefined) break;
        const rows = await oldest.rows;
        sent.shift();
        this.account(rows);
        if (this.options.signal?.aborted) throw this.abortError();
        yield rows;
      }
    } finally {
      this.options.signal?.removeEventListener("abort", onAbort);
      this.durationMs = performance.now() - startedAtMs;
      if (!isDrained) await iterator.return?.();
    }
  }

  /** Fills `commands` with the next batch; true when the source is at its end. */
  private async gather(iterator: AnyIterator, commands: BulkCommand[]): Promise<boolean> {
    let bytes = 0;
    while (commands.length < this.batchSize && bytes < this.maxBytes) {
      const step = iterator.next();
      const { done, value } = step instanceof Promise ? await step : (step as IteratorResult<BulkCommand>);
      if (done) return true;
      commands.push(value);
      const size = sizeOf(value);
      bytes += size;
      this.progress.issued++;
      this.progress.bytes += size;
    }
    return false;
  }

  private account(rows: Rows): void {
    const { progress } = this;
    for (const row of rows) {
      if (row[0] !== null) {
        progress.failed++;
        if (this.errors.length < this.maxErrors) this.errors.push({ index: progress.settled, error: row[0] });
      }
      progress.settled++;
    }
    this.options.onProgress?.(progress);
  }

  private summarize(): BulkSummary {
    const { progress, errors, durationMs } = this;
    return { ...progress, succeeded: progress.settled - progress.failed, errors, durationMs };
  }

  private abortError(): BulkAbortedError {
    return new BulkAbortedError(this.progress.settled, { cause: this.options.signal?.reason });
  }
}

function open(source: Source): AnyIterator {
  if (Symbol.asyncIterator in source) return source[Symbol.asyncIterator]();
  if (Symbol.iterator in source) return source[Symbol.iterator]();
  throw new TypeError("bulk() takes an iterable or async iterable of [name, ...args] arrays");
}

function sizeOf(command: BulkCommand): number {
  let size = 0;
  for (const arg of command) {
    size += typeof arg === "string" || Buffer.isBuffer(arg) ? arg.length : 8;
  }
  return size;
}

function atLeastOne(name: string, value: number): number {
  if (!(value >= 1)) throw new RangeError(`bulk option "${name}" must be at least 1, got ${value}`);
  return value;
}
