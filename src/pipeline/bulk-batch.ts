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
import { sizeOfReply } from "./reply-size";
import type { Row } from "./transaction";

/** One command: `[name, ...args]`, as in the pipeline constructor. */
export type BulkCommand = readonly unknown[];

export interface BulkFailure {
  index: number;
  error: Error;
}

function isDiscard({ command }: CommandMethod): boolean {
  return command !== undefined && (command.spec.flags & CommandFlag.Discard) !== 0;
}

function isOfClosedClient({ code }: Error & { code?: unknown }): boolean {
  return code === "CONNECTION_CLOSED" || code === "CLUSTER_ENDED";
}

/** The placeholder while no command name is known; a source may yield any value. */
const NO_WORD = Symbol("no word");

/** The placeholder of a row that was handed out. */
const TAKEN: Row = [null, null];

export class BulkBatch extends PipelineRun {
  /** The failures, by their position in the batch. */
  readonly failures: BulkFailure[] = [];
  /** The last command name. Sources repeat names, so a name is looked up only when it changes. */
  private word: unknown = NO_WORD;
  private method!: CommandMethod;
  private isExec = false;
  /** The name ends a transaction: servers have no nested ones. */
  private isEnd = false;
  /**
   * Created for the first command that needs more than a table row, such as MULTI: it queues into this batch.
   */
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
    // Batches are read in order, so a batch that is rejected before its turn must not be reported as unhandled.
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

  /** The reason why the client takes no commands, if it took none of this batch; null otherwise. */
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
    if (command[0] !== this.word) {
      this.method = methodOf(this.PipelineClass.prototype, command[0]);
      this.word = command[0];
      this.isExec = String(this.word).toLowerCase() === "exec";
      this.isEnd = this.isExec || isDiscard(this.method);
    }
    const args = command.slice(1);
    const own = this.method.command;
    if (own !== undefined) this.queue(own.spec, args, own.wantsBuffers);
    else if (this.isExec && !this.isOpen) {
      this.appendBroken(specOf("exec"), new AbortError("ERR EXEC without MULTI"));
    } else {
      this.pipeline ??= new this.PipelineClass(this.client, false, this);
      this.method.apply(this.pipeline, args);
    }
    if (this.isEnd) this.openTransactions = 0;
  }

  send(): void {
    if (this.isOpen)
      this.breakOpen(
        new AbortError("The source ended inside a transaction, so the transaction was not sent"),
      );
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

  private breakOpen(error: Error): void {
    const opened = this.commands.findLastIndex((one) => (one.spec.flags & CommandFlag.Multi) !== 0);
    this.broken ??= new Map();
    for (const command of this.commands.slice(opened)) this.broken.set(command, error);
  }
}
