/**
 * One request with its arguments; settles exactly once. Plain fields, always in the same order:
 * this object is made for every call on the data path. What few commands need (a deadline, an
 * abort signal, a tracer's replacement of `resolve`) sits in `extra`, null otherwise.
 *
 *   Created -> Queued -> Sent -> Settled
 *         \________\________/       (a settled command is skipped when its turn to be written
 *                                    comes, and its late reply is dropped)
 */

import { ReplyError, SluiceError } from "../errors";
import type { Argument, Reply } from "../protocol/resp-types";
import { describeCommand } from "../util/credentials";
import { INSPECT, type InspectArguments } from "../util/inspect";
import { callUser, toError } from "../util/user-code";
import type { Batch } from "./batch";
import { CommandExtra } from "./command-extra";
import type { CommandSpec, ReplyShape } from "./command-spec";
import { decodeBuffersDeep, mapReply } from "./reply-mappers";
import { UNROUTED } from "./slot";

export const CommandState = {
  Created: 0,
  /** Handed over, not written yet (offline or unsent). */
  Queued: 1,
  /** Encoded for the present connection and unanswered. */
  Sent: 2,
  Settled: 3,
  /** Settled before it was written: it holds a place in the command queue but has no reply. */
  Dropped: 4,
} as const;
export type CommandState = (typeof CommandState)[keyof typeof CommandState];

/** The issuer of a command: it decides what a lost connection, a redirect or a tracer makes of it. */
export const Origin = {
  /** A caller of the client: single calls, pipelines, transactions. */
  User: 0,
  /** A connection, for itself (handshake, probes, scripts that were forgotten): ends with that connection. */
  Connection: 1,
  /** A link, to restore its subscriptions on a new connection: ends with that connection. */
  Restore: 2,
  /** A cluster client, to make its subscriptions what they should be. */
  Resubscribe: 3,
  /** The client, on the way of other commands (SELECT, ASKING, UNWATCH): nobody awaits its outcome. */
  Client: 4,
  /** A cluster transaction that goes again, in the place of a member whose caller has given up. */
  Copy: 5,
  /** A command that several nodes run, for one of them. */
  Part: 6,
  /** A cluster client, to learn who serves what: ends with its connection. */
  Question: 7,
} as const;
export type Origin = (typeof Origin)[keyof typeof Origin];

/**
 * Is told how a command ended. A single command has a promise, a pipeline is itself the completion
 * of all its commands (`command.index` tells which row). Called exactly once for each command;
 * implementations must not throw.
 */
export interface Completion {
  /** The promise handed to the caller, if there is one for the single command. */
  readonly promise: Promise<unknown> | null;
  fulfil(command: Command, value: Reply, shape: ReplyShape): void;
  reject(command: Command, error: Error): void;
}

const KNOWN_SHAPE: ReplyShape = { protocol: 3, replyMapping: "legacy" };

const NOBODY: Completion = { promise: null, fulfil() {}, reject() {} };

/** Whether a user has made it for `sendCommand`; see `LegacyCommand`. */
export const MADE_BY_HAND: unique symbol = Symbol("madeByHand");

export class Command {
  state: CommandState = CommandState.Created;
  origin: Origin = Origin.User;
  /** Place in its batch. */
  index = 0;
  /** Database it was issued for. */
  db = 0;
  /** The loss of connections: bit 0 is `mayHaveRun`, the others count `losses`. One field, since all commands have it. */
  private past = 0;
  /** Slot of its first key once a cluster has routed it. */
  slot = UNROUTED;
  batch: Batch | null = null;
  extra: CommandExtra | null = null;

  constructor(
    public spec: CommandSpec,
    readonly args: Argument[],
    readonly wantsBuffers: boolean,
    public completion: Completion,
  ) {}

  /** The command word as it is sent. */
  get name(): string {
    return this.spec.name;
  }

  /** True once the outcome is known. */
  get isSettled(): boolean {
    return this.state >= CommandState.Settled;
  }

  get [MADE_BY_HAND](): boolean {
    return false;
  }

  /** Connections lost while it was the oldest unanswered command. */
  get losses(): number {
    return this.past >> 1;
  }

  /** It was written to a connection that was lost before it was answered. */
  get mayHaveRun(): boolean {
    return (this.past & 1) !== 0;
  }

  noteLossAsOldest(): void {
    this.past += 2;
  }

  noteLossAfterWriting(): void {
    this.past |= 1;
  }

  /** A promise of the outcome; made when first read if the command is part of a pipeline. */
  get promise(): Promise<unknown> {
    return this.completion.promise ?? this.ensureExtra().promise;
  }

  /**
   * Settles the command with a raw reply: Buffers become strings where the call asked for strings.
   * Tracers replace it to see the reply first.
   */
  get resolve(): (raw?: unknown) => void {
    return this.extra?.resolve ?? ((raw) => this.complete(this.asWanted(raw), this.ensureExtra().shape));
  }

  set resolve(replacement: (raw?: unknown) => void) {
    this.ensureExtra().resolve = replacement;
  }

  /** Strings of its reply are read as Buffers: a replaced `resolve` sees those, whatever its caller wants. */
  get isReadAsBuffers(): boolean {
    return this.wantsBuffers || (this.extra !== null && this.extra.resolve !== null);
  }

  /** Settles the command with an error. Tracers replace it to see the error first. */
  get reject(): (error: Error) => void {
    return this.extra?.reject ?? ((error) => this.abandon(error));
  }

  set reject(replacement: (error: Error) => void) {
    this.ensureExtra().reject = replacement;
  }

  /** A reply has arrived: maps it and tells the completion. */
  fulfil(raw: Reply, shape: ReplyShape): void {
    const extra = this.extra;
    if (extra !== null && extra.resolve !== null) {
      const { resolve } = extra;
      extra.shape = shape;
      callUser(
        () => resolve(raw),
        () => this.complete(this.asWanted(raw), shape),
      );
      return;
    }
    this.complete(raw, shape);
  }

  /** Settles with a value in its final shape: one that was known without the server. */
  fulfilMapped(value: Reply): void {
    if (this.state >= CommandState.Settled) return;
    this.state = CommandState.Settled;
    if (this.extra !== null) this.extra.onFulfilled(value);
    this.completion.fulfil(this, value, KNOWN_SHAPE);
    if (this.batch !== null) this.batch.settleOne();
  }

  /** The command has failed: tells the completion. */
  fail(error: Error): void {
    const extra = this.extra;
    if (extra === null || extra.reject === null) {
      this.abandon(error);
      return;
    }
    const { reject } = extra;
    callUser(
      () => reject(error),
      () => this.abandon(error),
    );
  }

  /** Lets go of its arguments and its caller: it is settled, was not written, and keeps only its place in a queue. */
  release(): void {
    this.args.length = 0;
    this.completion = NOBODY;
  }

  /** Changes the word and the first argument: a script that goes out by text or by hash. */
  become(spec: CommandSpec, firstArgument: Argument): void {
    this.spec = spec;
    this.args[0] = firstArgument;
  }

  /** Its place in an explicit pipeline or transaction, MULTI included; undefined outside of one. */
  get pipelineIndex(): number | undefined {
    return this.extra?.pipelineIndex;
  }

  set pipelineIndex(index: number | undefined) {
    this.ensureExtra().pipelineIndex = index;
  }

  /** True for MULTI in a pipeline and for the commands between it and its EXEC. */
  get inTransaction(): boolean {
    return this.extra?.inTransaction ?? false;
  }

  set inTransaction(isInTransaction: boolean) {
    this.ensureExtra().inTransaction = isInTransaction;
  }

  /** The batch whose fate it shares after a loss: the transaction opened by hand, or its own batch. */
  get group(): Batch | null {
    return this.extra?.group ?? this.batch;
  }

  /** How `util.inspect` shows it: credentials among the arguments are masked. */
  [INSPECT](_depth: number, ...[style, inspect]: InspectArguments): string {
    const { name, args } = this;
    return `Command ${inspect(describeCommand(name, args), style)}`;
  }

  ensureExtra(): CommandExtra {
    this.extra ??= new CommandExtra();
    return this.extra;
  }

  private asWanted(raw: Reply): Reply {
    return this.wantsBuffers ? raw : withText(raw);
  }

  private complete(raw: Reply, shape: ReplyShape): void {
    if (this.state >= CommandState.Settled) return;
    let value = raw;
    if (this.spec.replyMapper !== null) {
      try {
        value = mapReply(this.spec, raw, shape);
      } catch (error) {
        this.abandon(toError(error));
        return;
      }
    }
    this.state = CommandState.Settled;
    if (this.extra !== null) this.extra.onFulfilled(value);
    this.completion.fulfil(this, value, shape);
    if (this.batch !== null) this.batch.settleOne();
  }

  private abandon(error: Error): void {
    if (this.state >= CommandState.Settled) return;
    this.state = CommandState.Settled;
    nameCommand(error, this.name, this.args);
    if (this.extra !== null) this.extra.onFailed(error);
    this.completion.reject(this, error);
    if (this.batch !== null) this.batch.settleOne();
  }
}

/** A new command that is not a caller's. */
export function issuedBy(origin: Origin, command: Command): Command {
  command.origin = origin;
  return command;
}

/** The batch of commands that were handed over together. A cache puts a command of the connection before its reads. */
export function batchOf(commands: readonly Command[]): Batch | null {
  const first = commands[0]?.origin === Origin.Connection ? commands[1] : commands[0];
  return first?.batch ?? null;
}

/** A reply to the command has arrived: what it shares its fate with does not go again as a whole. */
export function markAnswered(command: Command): void {
  const { batch, extra } = command;
  if (batch !== null && !batch.isAnswered) batch.noteAnswer();
  if (extra !== null && extra.group !== null) extra.group.isAnswered = true;
}

/** Notes the command on its error, unless it is there already or the error is somebody else's. */
export function nameCommand(error: Error, name: string, args: readonly Argument[]): void {
  if (!(error instanceof SluiceError || error instanceof ReplyError) || error.command !== undefined) return;
  error.command = describeCommand(name, args);
}

/**
 * Strings in place of Buffers, at any depth. Lists are copied, since a tracer may have kept them, unless
 * there is no Buffer in them; maps are changed.
 */
function withText(raw: Reply): Reply {
  if (Buffer.isBuffer(raw)) return raw.toString();
  if (!Array.isArray(raw)) return decodeBuffersDeep(raw);
  const list: unknown[] = raw;
  for (let index = 0; index < list.length; index++) {
    const element = list[index];
    if (typeof element !== "object" || withText(element) === element) continue;
    return list.map(withText);
  }
  return raw;
}
