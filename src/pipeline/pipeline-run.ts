/**
 * The inside of a pipeline: the queued commands, their rows, and how it ends. It is itself the
 * completion of all its commands, so a thousand commands cost one promise.
 */

import { captureArguments } from "../command/argument-mappers";
import { Batch, BatchKind, type BatchMerging, type BatchTrace } from "../command/batch";
import { presentCaller } from "../command/caller";
import { Command, CommandState, type Completion } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import {
  applyPrefix,
  type KeyPrefix,
  makeCommand,
  makeQueuedCommand,
  refusalByHand,
  refuseLooseArguments,
} from "../command/command-factory";
import { CommandFlag, type CommandSpec, type ReplyShape } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { isForgettable } from "../command/fate";
import type { Tally } from "../command/promise-completion";
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

/** Code of commands that waited for a cluster which then could not be reached. */
const NO_NODE = "CLUSTER_UNAVAILABLE";

/** Key of the sender of a client, and of the pipeline class with the methods that the client was given. */
export const SENDER: unique symbol = Symbol("sender");
export const PIPELINE_CLASS: unique symbol = Symbol("pipelineClass");

/** The parts of its client that a pipeline needs. */
export interface PipelineHost {
  readonly options: { readonly keyPrefix?: KeyPrefix | undefined };
  readonly isCluster: boolean;
  readonly [SENDER]: BatchSender;
  [PIPELINE_CLASS]?(): { readonly prototype: object };
}

type Preparation = (command: Command) => void;

/** How a pipeline reaches the layers below; the client gives it. */
export interface BatchSender {
  /** Arguments without a text of their own are refused. */
  isStrict?(): boolean;
  /** Hands the batch on; nothing is returned, outcomes travel with the commands. */
  sendBatch(commands: readonly Command[]): void;
  /** The work that each command needs as it is queued. */
  preparation(): Preparation | null;
  /** Counts what becomes of the commands. */
  readonly tally?: Tally;
  /** Called before anything is sent; null while nobody listens. */
  trace?(run: BatchFacts): PipelineObserver | null;
  /** Called before a transaction of so many commands is sent. */
  observe(size: number): BatchObserver | null;
}

/** Is told how a batch goes; sending it happens inside of `around`. */
export interface PipelineObserver extends BatchTrace {
  around(send: () => void): void;
  /** @param refusal What `exec()` rejects with. */
  onEnd(rows: Rows, failures: number, refusal: Error | null): void;
}

/** Is told how a transaction ends; sending it happens inside of `around`. */
export interface BatchObserver extends SettleHook {
  around(send: () => void): unknown;
}

/** Makes the command of one call: a script. */
export interface CommandMaker {
  makeCommand(args: unknown[], wantsBuffers: boolean, completion: Completion, copies: boolean): Command;
}

/** A pipeline that goes out in parts. */
interface Parts {
  readonly commands: readonly Command[];
  readonly size: number;
  /** The first command that is not sent. */
  next: number;
  isSending: boolean;
}

export class PipelineRun implements Completion, BatchFacts {
  /** Commands that wait or are under way. */
  protected commands: Command[] = [];
  private readonly prepare: Preparation | null;
  /** A replaced `sendCommand` of the pipeline. */
  private replacedSend: ((command: Command) => unknown) | null = null;
  /** Commands queued so far. */
  length = 0;
  readonly outcome: Promise<Rows | null>;
  /** As a completion of single commands it has no promise. */
  readonly promise = null;
  /** MULTIs without their EXEC. */
  openTransactions = 0;
  isExecuted = false;
  /** Bytes are copied when a command is queued, not at `exec()`. */
  protected copiesAtOnce = false;

  private readonly isStrict: boolean;
  protected readonly rows: Rows = [];
  protected callbacks: Map<number, Teller> | null = null;
  /** Commands that could not be encoded: never sent, their row is the error. */
  protected broken: Map<Command, Error> | null = null;
  protected left = 0;
  /** Commands left when the next thing is due: the next part, or the end. */
  private pauseAt = 0;
  private parts: Parts | null = null;
  protected readonly batch = new Batch(BatchKind.Pipeline, 0, null);
  private observer: BatchObserver | null = null;
  private failedCount = 0;
  private trace: PipelineObserver | null = null;
  private settle!: (rows: Rows | null) => void;
  private fail!: (error: Error) => void;

  constructor(
    protected readonly sender: BatchSender,
    private readonly prefix: KeyPrefix | undefined,
    /** The pipeline is one transaction and reports only what EXEC brought. */
    readonly isTransaction: boolean,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    this.isStrict = sender.isStrict?.() === true;
    this.prepare = sender.preparation();
  }

  queue(spec: CommandSpec, args: unknown[], wantsBuffers: boolean): void {
    this.takeCallback(args);
    if (this.isExecuted) {
      this.length++;
      return;
    }
    try {
      if (this.isStrict) refuseLooseArguments(spec, args);
      const make = this.copiesAtOnce ? makeCommand : makeQueuedCommand;
      this.hand(applyPrefix(make(spec, args, wantsBuffers, this), this.prefix));
    } catch (error) {
      this.appendBroken(spec, toError(error));
    }
  }

  /** Names and arguments of the first commands, for people to read: credentials are masked. */
  describe(most: number): unknown[][] {
    return this.commands.slice(0, most).map(({ name, args }) => {
      const shown = describeCommand(name, args);
      return [shown.name, ...shown.args];
    });
  }

  queueScript(script: CommandMaker, args: unknown[], wantsBuffers: boolean): void {
    this.takeCallback(args);
    try {
      if (this.isStrict) refuseLooseArguments(specOf("evalsha"), args);
      const command = script.makeCommand(args, wantsBuffers, this, this.copiesAtOnce);
      command.ensureExtra().scriptBatch = this.batch;
      this.hand(command);
    } catch (error) {
      this.appendBroken(specOf("evalsha"), toError(error));
    }
  }

  /** Queues a command that was built by hand; its own promise is settled as well. */
  queueCommand(command: Command): void {
    if (command.completion === this) {
      this.append(command);
      return;
    }
    const refusal = refusalByHand(command);
    if (refusal !== null) {
      command.fail(refusal);
      this.appendBroken(command.spec, refusal);
      return;
    }
    // The row tells its outcome; the promise is a second look at it.
    command.promise.catch(() => {});
    command.pipelineIndex = this.length;
    command.inTransaction = this.openTransactions > 0;
    this.append(command);
    command.ensureExtra().addHook(new RowOf(this, command.index));
  }

  /** Commands that follow one another may become one. */
  mergeBy(merging: BatchMerging | null): void {
    this.batch.merging = merging;
  }

  /** Every command goes through this from now on, which hands it to `queueCommand` or keeps it. */
  passThrough(send: (command: Command) => unknown): void {
    this.replacedSend = send;
  }

  private hand(command: Command): void {
    if (this.replacedSend === null) this.append(command);
    else {
      command.pipelineIndex = this.length;
      this.replacedSend(command);
    }
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
    this.prepare?.(command);
  }

  /** Takes the place of a command that cannot be sent: its row is the error. */
  appendBroken(spec: CommandSpec, error: Error): void {
    const command = new Command(spec, [], false, this);
    this.broken ??= new Map();
    this.broken.set(command, error);
    this.append(command);
  }

  private takeCallback(args: unknown[]): void {
    if (typeof args[args.length - 1] !== "function") return;
    this.callbacks ??= new Map();
    this.callbacks.set(this.length, tellLater(args.pop() as Callback<unknown>));
  }

  openTransaction(): void {
    this.openTransactions++;
    this.queue(specOf("multi"), [], false);
  }

  closeTransaction(): void {
    this.openTransactions--;
    const opened = this.commands.findLastIndex((one) => (one.spec.flags & CommandFlag.Multi) !== 0);
    const wantsBuffers = this.commands.slice(opened + 1).some((one) => one.wantsBuffers);
    this.queue(specOf("exec"), [], wantsBuffers);
  }

  get kind(): BatchFacts["kind"] {
    return this.isTransaction ? "transaction" : "pipeline";
  }

  nameAt(index: number): string {
    return (this.commands[index] as Command).spec.lowerName;
  }

  /** Sends everything, at once or `batchSize` commands after another. */
  start(batchSize = Number.POSITIVE_INFINITY): void {
    this.isExecuted = true;
    this.left = this.length;
    if (this.sender.tally !== undefined) this.sender.tally.issued += this.length;
    if (this.left === 0) {
      this.settle([]);
      return;
    }
    this.rows.length = this.left;
    if (!this.copiesAtOnce) this.capture();
    const trace = this.sender.trace?.(this) ?? null;
    this.trace = trace;
    this.batch.trace = trace;
    if (trace === null) this.sendAll(batchSize);
    else trace.around(() => this.sendAll(batchSize));
  }

  private sendAll(batchSize: number): void {
    const ready = this.broken === null ? this.commands : this.withoutBroken(this.broken);
    if ((this.batch.flags & CommandFlag.Multi) !== 0) this.becomeTransaction();
    // A transaction is never divided.
    const isWhole = this.batch.kind === BatchKind.Transaction || batchSize >= ready.length;
    if (!isWhole) {
      this.parts = { commands: ready, size: batchSize, next: 0, isSending: false };
      this.pauseAt = this.left;
      this.sendParts();
    } else if (this.isTransaction) this.sendObserved(ready);
    else if (ready.length > 0) this.sender.sendBatch(ready);
  }

  /** From now on callers may change the Buffers that they passed. */
  private capture(): void {
    for (const command of this.commands) captureArguments(command.args);
  }

  private becomeTransaction(): void {
    this.batch.kind = BatchKind.Transaction;
    this.batch.caller = presentCaller() ?? null;
  }

  /** Fails what has not settled. */
  abort(error: Error): void {
    for (const command of this.commands) {
      const isUnwritten = command.state < CommandState.Sent;
      command.fail(error);
      // It may wait for long behind a peer that takes nothing.
      if (isUnwritten && isForgettable(command)) command.release();
    }
  }

  private sendObserved(commands: readonly Command[]): void {
    if (commands.length === 0) return;
    // MULTI and EXEC are not counted.
    this.observer = this.sender.observe(this.length - 2);
    if (this.observer === null) this.sender.sendBatch(commands);
    else this.observer.around(() => this.sender.sendBatch(commands));
  }

  /**
   * Sends part after part; a cluster takes the batch away from its commands, so it is `left` that
   * tells when one is over. A loop where that is at once (the client is closed), not a recursion.
   */
  private sendParts(): void {
    const { parts } = this;
    while (parts !== null && this.left === this.pauseAt && this.left > 0) {
      const part = parts.commands.slice(parts.next, parts.next + parts.size);
      parts.next += part.length;
      this.pauseAt -= part.length;
      const batch = new Batch(this.batch.kind, 0, null);
      batch.merging = this.batch.merging;
      for (const command of part) {
        batch.add(command);
        if (command.extra?.script) command.extra.scriptBatch = batch;
      }
      parts.isSending = true;
      this.sender.sendBatch(part);
      parts.isSending = false;
    }
  }

  // --- Completion --------------------------------------------------------------------------

  answer(index: number, value: Reply): void {
    this.record(index, [null, value]);
  }

  refuse(index: number, error: Error): void {
    this.noteFailure(error);
    this.record(index, [error]);
  }

  fulfil(command: Command, value: Reply, shape: ReplyShape): void {
    if ((command.spec.flags & CommandFlag.Exec) !== 0) {
      const members = membersOf(this.commands, this.rows, command);
      const result = mapExecReply(members, command, value, shape);
      this.noteMembers(result);
      this.record(command.index, [null, result]);
    } else if (command.spec.replyMapper === null) this.answer(command.index, value);
    else this.answerMapped(command.index, value);
  }

  /** What a transformer has made of a reply: a promise is waited for, as by the caller of a single command. */
  answerMapped(index: number, value: Reply): void {
    if (!isThenable(value)) {
      this.answer(index, value);
      return;
    }
    void Promise.resolve(value).then(
      (result) => this.answer(index, result),
      (error: unknown) => this.refuse(index, toError(error)),
    );
  }

  reject(command: Command, error: Error): void {
    this.noteFailure(error);
    this.record(command.index, [error]);
  }

  // --- inside ------------------------------------------------------------------------------

  private noteFailure(error: Error): void {
    this.failedCount++;
    this.sender.tally?.onFailed(error);
  }

  /** The replies of EXEC for the members: an error is not thrown by the command that was answered QUEUED. */
  private noteMembers(rows: unknown): void {
    if (!Array.isArray(rows)) return;
    for (const row of rows) if (row instanceof Error) this.noteFailure(row);
  }

  private record(index: number, row: Row): void {
    this.rows[index] = row;
    if (this.callbacks !== null) this.callbacks.get(index)?.(row);
    this.countDown();
  }

  protected countDown(): void {
    if (--this.left !== this.pauseAt) return;
    if (this.left === 0) this.finish();
    else if (this.parts?.isSending === false) this.sendParts();
  }

  protected finish(): void {
    if (this.sender.tally !== undefined) this.sender.tally.fulfilled += this.rows.length - this.failedCount;
    // A caller that keeps the pipeline need not keep its commands.
    this.commands = [];
    this.broken = null;
    this.parts = null;
    this.callbacks = null;
    if (!this.isTransaction) {
      const refusal = refusalOfAll(this.rows);
      this.trace?.onEnd(this.rows, this.failedCount, refusal);
      if (refusal === null) this.settle(this.rows);
      else this.fail(refusal);
      return;
    }
    const outcome = transactionOutcome(this.rows);
    this.trace?.onEnd(this.rows, this.failedCount, outcome instanceof Error ? outcome : null);
    if (outcome instanceof Error) {
      this.observer?.onFailed(outcome);
      this.fail(outcome);
    } else {
      this.observer?.onFulfilled(outcome);
      this.settle(outcome);
    }
  }

  /** Fails commands that cannot be sent, and with them the transaction they are part of. */
  private withoutBroken(broken: ReadonlyMap<Command, Error>): Command[] {
    const ready: Command[] = [];
    let group: Command[] | null = null;
    for (const command of this.commands) {
      const { flags } = command.spec;
      if ((flags & CommandFlag.Multi) !== 0 && group === null) group = [];
      if (group === null) {
        const error = broken.get(command);
        if (error === undefined) ready.push(command);
        else command.fail(error);
        continue;
      }
      group.push(command);
      if ((flags & (CommandFlag.Exec | CommandFlag.Discard)) === 0) continue;
      if (group.some((one) => broken.has(one))) failGroup(group, broken);
      else ready.push(...group);
      group = null;
    }
    for (const command of group ?? []) {
      const error = broken.get(command);
      if (error === undefined) ready.push(command);
      else command.fail(error);
    }
    return ready;
  }
}

/** Writes the outcome of a command that has a completion of its own into its row. */
class RowOf implements SettleHook {
  constructor(
    private readonly run: PipelineRun,
    private readonly index: number,
  ) {}

  onFulfilled(value: unknown): void {
    this.run.answerMapped(this.index, value);
  }

  onFailed(error: Error): void {
    this.run.refuse(this.index, error);
  }
}

/** The API rejects a pipeline of which nothing left because no node of the cluster could be reached. */
function refusalOfAll(rows: Rows): Error | null {
  const first = rows[0]?.[0] ?? null;
  if (first === null || codeOf(first) !== NO_NODE) return null;
  return rows.every(([error]) => codeOf(error) === NO_NODE) ? first : null;
}

function codeOf(error: (Error & { code?: unknown }) | null): unknown {
  return error?.code;
}

function failGroup(group: readonly Command[], broken: ReadonlyMap<Command, Error>): void {
  for (const command of group) command.fail(broken.get(command) ?? abortedTransaction());
}
