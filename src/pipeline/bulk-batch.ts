/**
 * One batch of a bulk: encodes commands as they arrive from the source, so that the caller's arrays need not be
 * kept, and is the completion of all of them. After a loss its commands follow the rules of single ones, and
 * those of a transaction the rules of transactions. Rows are created only if they are read; failures are always
 * kept.
 */

import { BatchKind } from "../command/batch";
import { CommandFlag } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { CommandMethod } from "../command/commander";
import { AbortError } from "../errors";
import type { Reply } from "../protocol/resp-types";
import { methodOf, type Pipeline } from "./pipeline";
import { type PipelineHost, PipelineRun } from "./pipeline-run";
import type { Row } from "./transaction";

/** One command: `[name, ...args]`, as in the pipeline constructor. */
export type BulkCommand = readonly unknown[];

export interface BulkFailure {
  index: number;
  error: Error;
}

function isOfClosedClient({ code }: Error & { code?: unknown }): boolean {
  return code === "CONNECTION_CLOSED" || code === "CLUSTER_ENDED";
}

/** The estimated memory of a value that is neither text nor bytes. */
const WORD_BYTES = 8;
/** The placeholder of a row that was handed out. */
const TAKEN: Row = [null, null];

export class BulkBatch extends PipelineRun {
  readonly failures: BulkFailure[] = [];
  /** The last command name. Sources repeat names, so a name is looked up only when it changes. */
  private word: unknown;
  private method: CommandMethod | null = null;
  /** For commands that need more than a table row, such as MULTI: it queues into this batch. */
  private pipeline: Pipeline | null = null;
  /** The size of the replies so far, while rows are kept. */
  replyBytes = 0;
  /** The position of the row that the reader waits for. */
  private awaited = -1;
  private wakeReader: (() => void) | null = null;

  constructor(
    client: PipelineHost,
    private readonly PipelineClass: typeof Pipeline,
    keepsRows: boolean,
  ) {
    super(client, false, keepsRows);
    this.batch.kind = BatchKind.Automatic;
    // A source may reuse the same memory for its next command.
    this.copiesAtOnce = true;
    // A batch may be rejected before its rows are read.
    this.outcome.catch(() => {});
  }

  override get kind(): "bulk" {
    return "bulk";
  }

  /** A transaction is open, so the batch must not end here. */
  get isOpen(): boolean {
    return this.openTransactions > 0;
  }

  get isSettled(): boolean {
    return this.isExecuted && this.left === 0;
  }

  /** The error of the closed client, if it accepted no command of this batch; null otherwise. */
  get closedBy(): Error | null {
    const { failures, length } = this;
    if (failures.length < length || !failures.every(({ error }) => isOfClosedClient(error))) return null;
    return failures[0]?.error ?? null;
  }

  /** The row at that position, or null while it is missing. The batch no longer keeps the row. */
  takeRow(index: number): Row | null {
    const row = this.rows[index];
    if (row === undefined) return null;
    // EXEC needs the rows of refused members of its transaction.
    if (row[0] === null) this.rows[index] = TAKEN;
    return row;
  }

  /** Resolves when the row at that position is available. */
  untilRow(index: number): Promise<void> {
    this.awaited = index;
    return new Promise((resolve) => {
      this.wakeReader = resolve;
    });
  }

  /** Throws a TypeError for an invalid command. */
  add(command: BulkCommand): void {
    if (!Array.isArray(command)) throw new TypeError("A command of a bulk must be an array [name, ...args]");
    const name: unknown = command[0];
    if (this.method === null || name !== this.word) {
      this.method = methodOf(this.PipelineClass.prototype, name);
      this.word = name;
    }
    const args = command.slice(1);
    const own = this.method.command;
    if (own !== undefined) {
      this.queue(own.spec, args, own.wantsBuffers);
      if ((own.spec.flags & CommandFlag.Discard) !== 0) this.openTransactions = 0;
      return;
    }
    const isExec = String(name).toLowerCase() === "exec";
    if (isExec && !this.isOpen) {
      this.appendBroken(specOf("exec"), new AbortError("ERR EXEC without MULTI"));
      return;
    }
    this.pipeline ??= new this.PipelineClass(this.client, false, this);
    this.method.apply(this.pipeline, args);
    this.carrier = null;
    // Servers have no nested transactions.
    if (isExec) this.openTransactions = 0;
  }

  send(): void {
    if (this.isOpen) {
      const error = new AbortError("The source ended inside a transaction, so the transaction was not sent");
      for (const command of this.commands.slice(this.lastMulti)) this.broken.set(command, error);
    }
    this.start();
  }

  override record(index: number, error: Error | null, value?: Reply): void {
    if (error !== null) this.failures.push({ index, error });
    else if (this.keepsRows) this.replyBytes += sizeOfReply(value);
    super.record(index, error, value);
    if (index !== this.awaited) return;
    this.awaited = -1;
    this.wakeReader?.();
    this.wakeReader = null;
  }
}

/** Estimates the memory of a reply: characters and bytes, and one word for every other value. */
function sizeOfReply(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return WORD_BYTES;
  if (value instanceof Uint8Array) return value.length;
  let size = WORD_BYTES;
  if (Array.isArray(value)) for (const element of value) size += sizeOfReply(element);
  else if (value instanceof Map) for (const [key, one] of value) size += sizeOfReply(key) + sizeOfReply(one);
  else if (value instanceof Set) for (const element of value) size += sizeOfReply(element);
  else for (const [key, one] of Object.entries(value)) size += key.length + sizeOfReply(one);
  return size;
}
