/**
 * The internal state of a pipeline: the queued commands, their rows, and the outcome. It is the completion of
 * all its commands, so a thousand commands cost one promise.
 */

import { captureArguments, keptBytes } from "../command/argument-mappers";
import { Batch, BatchKind, type BatchMerging, type BatchTrace } from "../command/batch";
import { Command, CommandState, type Completion } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import {
  type KeyPrefix,
  makeCommand,
  prefixKeys,
  prepareArguments,
  refusalByHand,
  refuseLooseArguments,
} from "../command/command-factory";
import { CommandFlag, type CommandSpec, type ReplyShape, TRANSACTION_END } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { isForgettable } from "../command/fate";
import { CALLS, type CallCounts } from "../command/promise-completion";
import type { Script } from "../command/script";
import { presentUser } from "../command/watch-user";
import type { BatchFacts } from "../observability/hooks";
import type { Reply } from "../protocol/resp-types";
import { type Callback, type Teller, tellLater } from "../util/callback";
import { describeCommand } from "../util/credentials";
import { isThenable, toError } from "../util/user-code";
import {
  abortedTransaction,
  mapExecReply,
  membersOf,
  type Row,
  type Rows,
  transactionOutcome,
} from "./transaction";

export type { BatchFacts };

/** The error code of commands that waited for an unreachable cluster. */
const NO_NODE = "CLUSTER_UNAVAILABLE";

export const PIPELINE_CLASS: unique symbol = Symbol("pipelineClass");
export const SEND_BATCH: unique symbol = Symbol("sendBatch");
export const TRACE_BATCH: unique symbol = Symbol("traceBatch");
export const OBSERVE: unique symbol = Symbol("observe");

/** The client of a pipeline, or a view of the client. */
export interface PipelineHost {
  readonly options: {
    readonly keyPrefix?: KeyPrefix | undefined;
    readonly showFriendlyErrorStack?: boolean | undefined;
    readonly strictArguments?: boolean | undefined;
  };
  readonly isCluster: boolean;
  /** Counts the outcomes of the commands. */
  readonly [CALLS]: CallCounts;
  /** The pipeline class with the client's own methods. */
  [PIPELINE_CLASS]?(): { readonly prototype: object };
  /** Sends the batch; commands carry their outcomes. */
  [SEND_BATCH](commands: readonly Command[]): void;
  /** Called before a batch is sent; null without a subscriber. */
  [TRACE_BATCH](run: BatchFacts): PipelineObserver | null;
  /** Called before a transaction with this many commands is sent. */
  [OBSERVE]?(size: number): BatchObserver | null;
}

/** Receives the progress of a batch, which is sent inside `around`. */
export interface PipelineObserver extends BatchTrace {
  around(send: () => void): void;
  /** @param refusal The error with which `exec()` rejects. */
  onEnd(rows: Rows, failures: number, refusal: Error | null): void;
}

/** Receives the outcome of a transaction, which is sent inside `around`. */
export interface BatchObserver extends SettleHook {
  around(send: () => void): unknown;
}

/** A pipeline whose `sendCommand` a tracer or wrapper has replaced. */
interface Carrier {
  sendCommand(command: Command): unknown;
}

export class PipelineRun implements Completion, BatchFacts {
  /** Queued commands, and later those in flight. */
  protected commands: Command[] = [];
  length = 0;
  readonly outcome: Promise<Rows | null>;
  /** The number of MULTIs without EXEC. */
  openTransactions = 0;
  isExecuted = false;
  /** Receives each command and passes it to `queueCommand`, or keeps it; null: `sendCommand` is not replaced. */
  carrier: Carrier | null = null;
  /** Bytes are copied when a command is queued, not at `exec()`. */
  protected copiesAtOnce = false;
  /** An argument is a Buffer, so `exec()` must copy bytes. */
  private hasBytes = false;

  private readonly prefix: KeyPrefix | undefined;
  private readonly isStrict: boolean;
  private readonly keepsCallSites: boolean;
  protected readonly rows: Rows = [];
  protected callbacks: Map<number, Teller> | null = null;
  /** Commands that could not be encoded: they are never sent, and their row is the error. */
  protected readonly broken = new Map<Command, Error>();
  protected left = 0;
  /** The number of remaining commands at which the next part is sent, or the pipeline ends. */
  private pauseAt = 0;
  private onPartDone: (() => void) | null = null;
  protected readonly batch = new Batch(BatchKind.Pipeline, 0, null);
  private observer: BatchObserver | null = null;
  private failedCount = 0;
  private trace: PipelineObserver | null = null;
  private settle!: (rows: Rows | null) => void;
  private fail!: (error: Error) => void;

  constructor(
    protected readonly client: PipelineHost,
    /** The pipeline is one transaction and reports only the reply of EXEC. */
    readonly isTransaction: boolean,
    /** False: only the rows of failed commands are kept. */
    protected readonly keepsRows = true,
    /** The adjacent commands that may be merged. */
    merging: BatchMerging | null = null,
  ) {
    this.batch.merging = merging;
    this.outcome = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    const { keyPrefix, showFriendlyErrorStack, strictArguments } = client.options;
    this.prefix = keyPrefix;
    this.isStrict = strictArguments === true;
    this.keepsCallSites = Boolean(showFriendlyErrorStack);
  }

  /** @param script Makes the command of a script; null for a command of the table. */
  queue(spec: CommandSpec, args: unknown[], wantsBuffers: boolean, script: Script | null = null): void {
    if (typeof args[args.length - 1] === "function") this.takeCallback(args);
    if (this.isExecuted) {
      this.length++;
      return;
    }
    try {
      if (this.isStrict) refuseLooseArguments(spec, args);
      let command: Command;
      if (script === null) {
        // Otherwise bytes are not copied until `captureArguments` is called.
        command = makeCommand(spec, prepareArguments(spec, args, this.copiesAtOnce), wantsBuffers, this);
        if (this.prefix) prefixKeys(spec, command.args, this.prefix);
      } else {
        command = script.makeCommand(args, wantsBuffers, this, this.copiesAtOnce);
        command.ensureExtra().scriptBatch = this.batch;
      }
      if (keptBytes.wereKept) {
        keptBytes.wereKept = false;
        this.hasBytes = true;
      }
      if (this.carrier === null) this.append(command);
      else {
        command.pipelineIndex = this.length;
        this.carrier.sendCommand(command);
      }
    } catch (error) {
      this.appendBroken(spec, toError(error));
    }
  }

  /** Names and arguments of the first commands, for display: credentials are masked. */
  describe(most: number): unknown[][] {
    return this.commands.slice(0, most).map(({ name, args }) => {
      const shown = describeCommand(name, args);
      return [shown.name, ...shown.args];
    });
  }

  /** Queues a command that was built by hand; its own promise is settled as well. */
  queueCommand(command: Command): void {
    if (command.completion === this) {
      // A replaced `sendCommand` may have changed its arguments.
      this.hasBytes = true;
      this.append(command);
      return;
    }
    const refusal = refusalByHand(command);
    if (refusal !== null) {
      command.fail(refusal);
      this.appendBroken(command.spec, refusal);
      return;
    }
    // The row already reports the outcome, so this promise must not report it as unhandled.
    command.promise.catch(() => {});
    command.pipelineIndex = this.length;
    command.inTransaction = this.openTransactions > 0;
    this.append(command);
    const { index } = command;
    command.ensureExtra().addHook({
      onSettled: (error, value) => {
        if (error === null) this.recordMapped(index, value);
        else this.record(index, error);
      },
    });
  }

  private append(command: Command): void {
    // The layers below may still read the array.
    if (this.isExecuted) {
      this.length++;
      return;
    }
    command.index = this.length++;
    this.batch.add(command);
    this.commands.push(command);
    if (this.keepsCallSites) command.ensureExtra().captureCallSite();
  }

  /** Queues a placeholder for a command that cannot be sent: its row is the error. */
  appendBroken(spec: CommandSpec, error: Error): void {
    const command = new Command(spec, [], false, this);
    this.broken.set(command, error);
    this.append(command);
  }

  private takeCallback(args: unknown[]): void {
    this.callbacks ??= new Map();
    this.callbacks.set(this.length, tellLater(args.pop() as Callback<unknown>));
  }

  openTransaction(): void {
    this.openTransactions++;
    this.queue(specOf("multi"), [], false);
  }

  closeTransaction(): void {
    this.openTransactions--;
    const wantsBuffers = this.commands.slice(this.lastMulti + 1).some((one) => one.wantsBuffers);
    this.queue(specOf("exec"), [], wantsBuffers);
  }

  protected get lastMulti(): number {
    return this.commands.findLastIndex((one) => (one.spec.flags & CommandFlag.Multi) !== 0);
  }

  get kind(): BatchFacts["kind"] {
    return this.isTransaction ? "transaction" : "pipeline";
  }

  nameAt(index: number): string {
    return (this.commands[index] as Command).spec.lowerName;
  }

  /** Sends all commands, together or in parts of `batchSize`. */
  start(batchSize = Number.POSITIVE_INFINITY): void {
    this.isExecuted = true;
    this.left = this.length;
    this.client[CALLS].issued += this.length;
    if (this.left === 0) {
      this.settle([]);
      return;
    }
    this.rows.length = this.left;
    // From now on callers may change the Buffers that they passed.
    if (this.hasBytes && !this.copiesAtOnce)
      for (const command of this.commands) captureArguments(command.args);
    const trace = this.client[TRACE_BATCH](this);
    this.trace = trace;
    this.batch.trace = trace;
    if (trace === null) this.sendAll(batchSize);
    else trace.around(() => this.sendAll(batchSize));
  }

  private sendAll(batchSize: number): void {
    const ready = this.broken.size === 0 ? this.commands : this.withoutBroken();
    if ((this.batch.flags & CommandFlag.Multi) !== 0) {
      this.batch.kind = BatchKind.Transaction;
      this.batch.watchUser = presentUser() ?? null;
    }
    // A transaction is never divided.
    if (this.batch.kind !== BatchKind.Transaction && batchSize < ready.length) {
      void this.sendParts(ready, batchSize);
    } else if (ready.length > 0) this.sendWhole(ready);
    // The queue releases each command when it is answered. Only EXEC and `abort` of a bulk need them here.
    const isNeeded = this.batch.kind !== BatchKind.Pipeline || (this.batch.flags & CommandFlag.Exec) !== 0;
    if (!isNeeded) this.commands = [];
  }

  /** Fails the unsettled commands. */
  abort(error: Error): void {
    for (const command of this.commands) {
      const isUnwritten = command.state < CommandState.Sent;
      command.fail(error);
      // It may stay in the queue for long if the peer accepts no bytes.
      if (isUnwritten && isForgettable(command)) command.release();
    }
  }

  private sendWhole(commands: readonly Command[]): void {
    // MULTI and EXEC are not counted.
    this.observer = this.isTransaction ? (this.client[OBSERVE]?.(this.length - 2) ?? null) : null;
    if (this.observer === null) this.client[SEND_BATCH](commands);
    else this.observer.around(() => this.client[SEND_BATCH](commands));
  }

  /** Sends part after part. A cluster detaches commands from the batch, so `left` shows when a part is complete. */
  private async sendParts(commands: readonly Command[], size: number): Promise<void> {
    let next = 0;
    while (next < commands.length && this.left > 0) {
      const part = commands.slice(next, next + size);
      next += part.length;
      const batch = new Batch(this.batch.kind, 0, null);
      batch.merging = this.batch.merging;
      for (const command of part) {
        batch.add(command);
        if (command.extra?.script) command.extra.scriptBatch = batch;
      }
      // Commands of later parts may settle before their part is sent.
      this.pauseAt = commands.length - next;
      this.client[SEND_BATCH](part);
      if (this.left <= this.pauseAt) continue;
      await new Promise<void>((resolve) => {
        this.onPartDone = resolve;
      });
    }
  }

  // --- Completion --------------------------------------------------------------------------

  record(index: number, error: Error | null, value?: Reply): void {
    if (error !== null) this.noteFailure(error);
    if (this.keepsRows || error !== null || this.callbacks !== null) {
      const row: Row = error === null ? [null, value] : [error];
      this.rows[index] = row;
      if (this.callbacks !== null) this.callbacks.get(index)?.(row);
    }
    if (--this.left <= this.pauseAt) this.onPartDone?.();
    if (this.left === 0) this.finish();
  }

  fulfil(command: Command, value: Reply, shape: ReplyShape): void {
    if ((command.spec.flags & CommandFlag.Exec) !== 0) {
      const members = membersOf(this.commands, this.rows, command);
      const result = mapExecReply(members, command, value, shape);
      this.noteMembers(result);
      this.record(command.index, null, result);
    } else if (command.spec.replyMapper === null) this.record(command.index, null, value);
    else this.recordMapped(command.index, value);
  }

  /** Delivers the result of a transformer. A promise is awaited, as for the caller of a single command. */
  private recordMapped(index: number, value: Reply): void {
    if (!isThenable(value)) {
      this.record(index, null, value);
      return;
    }
    void Promise.resolve(value).then(
      (result) => this.record(index, null, result),
      (error: unknown) => this.record(index, toError(error)),
    );
  }

  reject(command: Command, error: Error): void {
    this.record(command.index, error);
  }

  // --- private -----------------------------------------------------------------------------

  private noteFailure(error: Error): void {
    this.failedCount++;
    this.client[CALLS].onFailed(error);
  }

  /** Counts the errors in the reply of EXEC; the members themselves were only answered QUEUED. */
  private noteMembers(rows: unknown): void {
    if (!Array.isArray(rows)) return;
    for (const row of rows) if (row instanceof Error) this.noteFailure(row);
  }

  private finish(): void {
    this.client[CALLS].fulfilled += this.rows.length - this.failedCount;
    // A caller that keeps the pipeline must not keep its commands in memory.
    this.commands = [];
    this.broken.clear();
    this.callbacks = null;
    const outcome = this.isTransaction
      ? transactionOutcome(this.rows)
      : (refusalOfAll(this.rows) ?? this.rows);
    const refusal = outcome instanceof Error ? outcome : null;
    this.trace?.onEnd(this.rows, this.failedCount, refusal);
    this.observer?.onSettled(refusal, outcome);
    if (outcome instanceof Error) this.fail(outcome);
    else this.settle(outcome);
  }

  /** Fails the commands that cannot be sent, together with their transactions. */
  private withoutBroken(): Command[] {
    const { broken } = this;
    let members: Command[] | null = null;
    for (const command of this.commands) {
      const { flags } = command.spec;
      if ((flags & CommandFlag.Multi) !== 0) members ??= [];
      members?.push(command);
      if (members === null || (flags & TRANSACTION_END) === 0) continue;
      const isBroken = members.some((one) => broken.has(one));
      for (const one of isBroken ? members : []) if (!broken.has(one)) broken.set(one, abortedTransaction());
      members = null;
    }
    return this.commands.filter((command) => {
      const error = broken.get(command);
      if (error !== undefined) command.fail(error);
      return error === undefined;
    });
  }
}

/** The API rejects a pipeline if no command was sent because no node of the cluster could be reached. */
function refusalOfAll(rows: Rows): Error | null {
  const isRefused = ([error]: Row): boolean => error !== null && "code" in error && error.code === NO_NODE;
  return rows.every(isRefused) ? (rows[0]?.[0] ?? null) : null;
}
