/**
 * The calls of a pipeline while nothing about them is special: names and arguments in
 * columns, settled in order by their replies. A hundred thousand calls are then three arrays
 * instead of a hundred thousand objects that live until they are answered.
 *
 * As soon as a call needs a life of its own (an error reply, a lost connection, a router) it is
 * made into a `Command`, once, and from then on only that command settles it.
 */

import type { Argument, Reply } from "../protocol/resp-types";
import { isThenable, toError } from "../util/user-code";
import { captureArguments } from "./argument-mappers";
import type { Batch } from "./batch";
import { Command, CommandState, type Completion, nameCommand } from "./command";
import { CommandFlag, type CommandSpec, type ReplyShape } from "./command-spec";
import { mapReply } from "./reply-mappers";
import { estimateSum } from "./size";

/** The collector of the answers; called once for each call, or once for the command made of it. */
export interface CallCollector extends Completion {
  answer(index: number, value: Reply): void;
  refuse(index: number, error: Error): void;
}

/** Tells what a transformer has made of a reply: a promise is waited for, as by the caller of a single command. */
export function tellMapped(collector: CallCollector, index: number, value: Reply): void {
  if (!isThenable(value)) {
    collector.answer(index, value);
    return;
  }
  void Promise.resolve(value).then(
    (result) => collector.answer(index, result),
    (error: unknown) => collector.refuse(index, toError(error)),
  );
}

/** With any other flag a call is not plain: it has to be looked at on its way. */
const PLAIN_FLAGS =
  CommandFlag.Readonly |
  CommandFlag.Write |
  CommandFlag.ValidInSubscriber |
  CommandFlag.ValidInMonitor |
  CommandFlag.Known;

/** True if calls of the command may stay calls. */
function isPlain(spec: CommandSpec): boolean {
  return (spec.flags & ~PLAIN_FLAGS) === 0;
}

/** Hears what nobody waits for any more. */
const NOBODY: CallCollector = { promise: null, answer() {}, refuse() {}, fulfil() {}, reject() {} };

export class PlainCalls {
  readonly specs: CommandSpec[] = [];
  /** The arguments of all calls, one behind the other; those of a call end where `ends` says. */
  readonly args: Argument[] = [];
  readonly ends: number[] = [];
  /** All calls want their replies as Buffers, or none; the first one decides. */
  wantsBuffers = false;
  /** Database they are issued for. */
  db = 0;
  /** An argument is a Buffer. */
  private hasBytes = false;
  /** Given up: nothing more is written, replies that still come are dropped. */
  isAbandoned = false;
  /** Calls before this one are answered, or were made into commands. */
  private next = 0;
  /** By their places. */
  private made: Command[] | null = null;

  constructor(
    /** The batch that their commands will share after a loss. */
    readonly batch: Batch,
    private collector: CallCollector,
  ) {}

  get length(): number {
    return this.specs.length;
  }

  /** True if a call may join. */
  fits(spec: CommandSpec, wantsBuffers: boolean): boolean {
    return isPlain(spec) && (this.wantsBuffers === wantsBuffers || this.length === 0);
  }

  /** Where the arguments of a call begin. */
  startOf(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] as number);
  }

  add(spec: CommandSpec, args: readonly Argument[], wantsBuffers: boolean): void {
    this.wantsBuffers = wantsBuffers;
    this.specs.push(spec);
    for (let index = 0; index < args.length; index++) {
      const arg = args[index] as Argument;
      if (typeof arg !== "string") this.hasBytes = true;
      this.args.push(arg);
    }
    this.ends.push(this.args.length);
    this.batch.count(spec.flags);
  }

  /** Copies the bytes among the arguments: from now on their callers may change them. */
  capture(): void {
    if (this.hasBytes) captureArguments(this.args);
    this.hasBytes = false;
  }

  /** A reply has arrived for a call that is still one. */
  answer(index: number, raw: Reply, shape: ReplyShape): void {
    if (this.isAbandoned) return;
    this.next = index + 1;
    const spec = this.specs[index] as CommandSpec;
    if (spec.replyMapper === null) {
      this.collector.answer(index, raw);
      return;
    }
    let value: Reply;
    try {
      value = mapReply(spec, raw, shape);
    } catch (error) {
      this.collector.refuse(index, toError(error));
      return;
    }
    tellMapped(this.collector, index, value);
  }

  /** A call that is still one has failed: the error tells its command. */
  fail(index: number, error: Error): void {
    this.next = index + 1;
    nameCommand(error, (this.specs[index] as CommandSpec).name, this.argumentsOf(index));
    this.collector.refuse(index, error);
  }

  /** Bytes of the arguments of the calls `from` to `to - 1`, as `estimateSum` tells them. */
  bytesOf(from: number, to: number, most: number): number {
    // Those of calls that were given up are forgotten.
    if (to <= from || this.length < to) return 0;
    return estimateSum(to - from, (index) => this.sizeAt(from + index), most);
  }

  /** Bytes of the arguments of one call. */
  sizeAt(index: number): number {
    const end = this.ends[index] as number;
    let size = 0;
    for (let at = this.startOf(index); at < end; at++) size += (this.args[at] as Argument).length;
    return size;
  }

  /** The command that the call becomes. */
  commandAt(index: number): Command {
    const existing = this.made?.[index];
    if (existing !== undefined) return existing;
    const command = this.view(index, this.collector);
    command.index = index;
    command.db = this.db;
    command.batch = this.batch;
    // Its row is told already, so an error that still comes is nobody's.
    if (this.isAbandoned) command.state = CommandState.Settled;
    this.made ??= [];
    this.made[index] = command;
    return command;
  }

  /** Fails what has not settled. Nothing is kept of what may wait for long behind a peer that takes nothing. */
  abandon(error: Error): void {
    this.isAbandoned = true;
    for (let index = this.next; index < this.length; index++) {
      if (this.made?.[index] === undefined) this.collector.refuse(index, error);
    }
    // Where none was made there is a hole, which is passed over.
    this.made?.forEach((command) => {
      command.fail(error);
    });
    this.collector = NOBODY;
    if (this.batch.isStarted) return;
    this.specs.length = 0;
    this.args.length = 0;
    this.ends.length = 0;
  }

  /** The call as a command to be looked at, which settles for `completion` alone. */
  view(index: number, completion: Completion): Command {
    const spec = this.specs[index] as CommandSpec;
    return new Command(spec, this.argumentsOf(index), this.wantsBuffers, completion);
  }

  private argumentsOf(index: number): Argument[] {
    return this.args.slice(this.startOf(index), this.ends[index]);
  }
}
