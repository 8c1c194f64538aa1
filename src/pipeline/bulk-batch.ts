/**
 * One batch of a bulk: takes commands as they come from the source, so that the caller's arrays
 * need not be kept, and is the completion of all of them. After a loss its commands follow the
 * rules of single ones, those of a transaction its own. Rows are made only for those who read
 * them; failures are kept in any case.
 */

import { BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import { CommandFlag, type ReplyShape } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { CommandMethod } from "../command/commander";
import { AbortError } from "../errors";
import type { Reply } from "../protocol/resp-types";
import { methodOf, type Pipeline } from "./pipeline";
import { type PipelineHost, PipelineRun, PORT, type Rows } from "./pipeline-run";

/** One command: `[name, ...args]`, as in the pipeline constructor. */
export type BulkCommand = readonly unknown[];

export interface BulkFailure {
  index: number;
  error: Error;
}

export class BulkBatch extends PipelineRun {
  /** What failed, by its place in the batch. */
  readonly failures: BulkFailure[] = [];
  /** Sources repeat the same word; it is looked up when it changes. */
  private word: unknown = null;
  private method!: CommandMethod;
  private face: Pipeline | null = null;

  constructor(
    private readonly client: PipelineHost,
    private readonly Face: typeof Pipeline,
    private readonly keepsRows: boolean,
  ) {
    super(client[PORT], client.options.keyPrefix, false);
    this.batch.kind = BatchKind.Automatic;
    // A source may fill the same memory again for its next command.
    this.copiesAtOnce = true;
  }

  /** A transaction is open, so the batch may not end here. */
  get isOpen(): boolean {
    return this.openTransactions > 0;
  }

  get isSettled(): boolean {
    return this.isExecuted && this.left === 0;
  }

  /** All rows, once it has settled; empty places where none were wanted. */
  get answers(): Rows {
    return this.rows;
  }

  /** Throws a TypeError for what is no command. */
  add(command: BulkCommand): void {
    if (!Array.isArray(command)) throw new TypeError("A command of a bulk is an array [name, ...args]");
    if (command[0] !== this.word) {
      this.method = methodOf(this.Face.prototype, command[0]);
      this.word = command[0];
    }
    const args = command.slice(1);
    const own = this.method.command;
    if (own !== undefined) this.queue(own.spec, args, own.wantsBuffers);
    else if (this.word === "exec" && !this.isOpen) {
      this.appendBroken(specOf("exec"), new AbortError("ERR EXEC without MULTI"));
    } else {
      this.face ??= new this.Face(this.client, false, this);
      this.method.apply(this.face, args);
    }
  }

  send(): void {
    if (this.isOpen)
      this.breakOpen(new AbortError("The source ended inside of a transaction; it was not sent"));
    this.start();
  }

  override answer(index: number, value: Reply): void {
    if (!this.keepsRows && this.callbacks === null) this.countDown();
    else super.answer(index, value);
  }

  override refuse(index: number, error: Error): void {
    this.failures.push({ index, error });
    super.refuse(index, error);
  }

  override fulfil(command: Command, value: Reply, shape: ReplyShape): void {
    const isPlain = (command.spec.flags & CommandFlag.Exec) === 0;
    if (!this.keepsRows && isPlain && this.callbacks === null) this.countDown();
    else super.fulfil(command, value, shape);
  }

  override reject(command: Command, error: Error): void {
    this.failures.push({ index: command.index, error });
    super.reject(command, error);
  }

  private breakOpen(error: Error): void {
    const opened = this.commands.findLastIndex((one) => (one.spec.flags & CommandFlag.Multi) !== 0);
    this.broken ??= new Map();
    for (const command of this.commands.slice(opened)) this.broken.set(command, error);
  }
}
