/**
 * The producer's side of a bulk: takes commands from the source into batches and sends them, with at most
 * `inFlight` batches that are not handed out. At that limit it stops reading the source. A batch is sent when
 * it is full, at the end of the source, and when an asynchronous source has no command for a whole turn of the
 * event loop.
 *
 *   source --next()--> batch --send()--> sent: | oldest | ... | newest |   --take--> reader
 */

import { EventEmitter, once } from "node:events";
import { atTurnEnd } from "../util/scheduling";
import type { BulkBatch, BulkCommand } from "./bulk-batch";

export type BulkSource = Iterable<BulkCommand> | AsyncIterable<BulkCommand>;
type AnyIterator = Iterator<BulkCommand, unknown> | AsyncIterator<BulkCommand, unknown>;

export interface FeedLimits {
  readonly batchSize: number;
  readonly maxBytes: number;
  readonly inFlight: number;
  /** The size of replies that may be unread, in characters and bytes, estimated from the last ones. */
  readonly maxReplyBytes: number;
}

/** Before the first reply: the most commands of a batch, and the assumed size of each reply. */
const FIRST_COMMANDS = 128;
const FIRST_REPLY_BYTES = 4096;
/** The next batch is at most this many times as large as the last one, because replies may grow. */
const GROWTH = 4;

export class BulkFeed {
  issued = 0;
  bytes = 0;
  /** The batches that were sent and not handed out, oldest first. */
  readonly sent: BulkBatch[] = [];
  private batch: BulkBatch | null = null;
  private batchBytes = 0;
  private isStopped = false;
  isEnded = false;
  private failure: { readonly thrown: unknown } | null = null;
  /** The error that the source threw when it was closed. */
  private refusal: { readonly thrown: unknown } | null = null;
  private isPulling = false;
  private isScheduled = false;
  /** The number of commands of the next batch. */
  private pace: number;
  private lastMeanBytes = 0;
  /** Emits `change` at each change of the state. */
  private readonly state = new EventEmitter();
  private iterator: AnyIterator | null = null;
  private work: Promise<void> | null = null;

  constructor(
    private readonly source: BulkSource,
    private readonly openBatch: () => BulkBatch,
    private readonly limits: FeedLimits,
  ) {
    this.pace = limits.batchSize;
  }

  start(keepsRows: boolean): void {
    if (keepsRows) this.pace = Math.min(FIRST_COMMANDS, this.commandsFor(FIRST_REPLY_BYTES));
    this.work = this.run();
  }

  /** The oldest batch; null at the end. Throws the error of the source after the batches before it. */
  async oldest(): Promise<BulkBatch | null> {
    while (this.sent.length === 0 && !this.isEnded && !this.isStopped) await once(this.state, "change");
    const oldest = this.sent[0];
    if (oldest !== undefined) return oldest;
    if (this.failure !== null) throw this.failure.thrown;
    return null;
  }

  /** The oldest batch has been handed out: another one may be sent, whose size follows from its replies. */
  drop(): void {
    const batch = this.sent.shift();
    if (batch !== undefined && batch.replyBytes > 0) this.follow(batch);
    this.state.emit("change");
  }

  /** Stops reading the source and closes it. Throws the error of closing, once. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.state.emit("change");
    // A pending request to the producer may never be answered.
    if (this.isPulling) this.close().catch(() => {});
    else await this.work;
    const { refusal } = this;
    this.refusal = null;
    if (refusal !== null) throw refusal.thrown;
  }

  // --- private -----------------------------------------------------------------------------

  private follow({ replyBytes, length }: BulkBatch): void {
    const meanBytes = replyBytes / length;
    const largest = Math.max(meanBytes, this.lastMeanBytes);
    this.lastMeanBytes = meanBytes;
    this.pace = Math.min(this.commandsFor(largest), this.pace * GROWTH);
  }

  /** The most commands of a batch whose replies have this size each. */
  private commandsFor(replyBytes: number): number {
    const { batchSize, inFlight, maxReplyBytes } = this.limits;
    return Math.min(batchSize, Math.max(1, Math.floor(maxReplyBytes / inFlight / replyBytes)));
  }

  private async run(): Promise<void> {
    try {
      if (await this.takeAll()) this.send();
      else {
        await this.close().catch((thrown: unknown) => {
          this.refusal = { thrown };
        });
      }
    } catch (thrown) {
      this.failure = { thrown };
      this.isPulling = false;
      await this.close().catch(() => {});
    }
    this.isEnded = true;
    this.state.emit("change");
  }

  /** Takes all commands of the source; returns false when it was stopped before its end. */
  private async takeAll(): Promise<boolean> {
    const { source } = this;
    const isAsync = Symbol.asyncIterator in Object(source);
    if (!isAsync && !(Symbol.iterator in Object(source)))
      throw new TypeError("bulk() expects an iterable or async iterable of [name, ...args] arrays");
    const iterator: AnyIterator = isAsync
      ? (source as AsyncIterable<BulkCommand>)[Symbol.asyncIterator]()
      : (source as Iterable<BulkCommand>)[Symbol.iterator]();
    this.iterator = iterator;
    while (!this.isStopped) {
      let step = iterator.next();
      if (isAsync) {
        this.isPulling = true;
        this.book();
        step = await step;
        this.isPulling = false;
        if (this.isStopped) break;
      }
      const { done, value } = step as IteratorResult<BulkCommand>;
      if (done) return true;
      this.take(value);
      if (this.batch === null || this.isFull) await this.untilRoom();
    }
    return false;
  }

  /** It waits for the source, and all batches are handed out. */
  get isIdle(): boolean {
    return this.isPulling && !this.isStopped && this.batch === null && this.sent.length === 0;
  }

  private get isFull(): boolean {
    return this.sent.length >= this.limits.inFlight;
  }

  /** Adds the command to its batch, which is sent when it is full. */
  private take(command: BulkCommand): void {
    this.batch ??= this.openBatch();
    this.batch.add(command);
    const size = sizeOf(command);
    this.issued++;
    this.bytes += size;
    this.batchBytes += size;
    const isFull = this.batch.length >= this.pace || this.batchBytes >= this.limits.maxBytes;
    if (isFull && !this.batch.isOpen) this.send();
  }

  private send(): void {
    const { batch } = this;
    if (batch === null || this.isStopped) return;
    this.batch = null;
    this.batchBytes = 0;
    this.sent.push(batch);
    batch.send();
    this.state.emit("change");
  }

  private async untilRoom(): Promise<void> {
    // A closed client answers immediately; other work needs a turn too.
    if (this.sent.at(-1)?.isSettled) await new Promise<void>((resolve) => atTurnEnd(resolve));
    while (this.isFull && !this.isStopped) await once(this.state, "change");
  }

  /** Commands that the producer has yielded do not wait for later ones. */
  private book(): void {
    if (this.isScheduled || this.batch === null) return;
    this.isScheduled = true;
    const { issued } = this;
    atTurnEnd(() => {
      this.isScheduled = false;
      if (this.batch === null || this.batch.isOpen || this.isFull) return;
      if (this.issued === issued) this.send();
      else if (this.isPulling) this.book();
    });
  }

  private async close(): Promise<void> {
    const { iterator } = this;
    this.iterator = null;
    await iterator?.return?.();
  }
}

function sizeOf(command: BulkCommand): number {
  let size = 0;
  for (const arg of command) size += typeof arg === "string" || Buffer.isBuffer(arg) ? arg.length : 8;
  return size;
}
