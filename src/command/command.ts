/**
 * One request with its arguments; settles exactly once. It has plain fields in a fixed order, because the data
 * path creates this object for every call. State that few commands need (a deadline, an abort signal, a
 * tracer's replacement of `resolve`) is in `extra`, which is null otherwise.
 *
 *   Created -> Queued -> Sent -> Settled
 *         \________\________/       (a settled command is skipped when its turn to be written
 *                                    comes, and its late reply is dropped)
 */

import { ReplyError, SluiceError } from "../errors";
import { type Argument, Decode, type Reply } from "../protocol/resp-types";
import { describeCommand } from "../util/credentials";
import { INSPECT, type InspectArguments } from "../util/inspect";
import { callUser, toError } from "../util/user-code";
import type { Batch } from "./batch";
import { CommandExtra, type SentCommand } from "./command-extra";
import { type CommandSpec, LEGACY_SHAPE, type ReplyShape } from "./command-spec";
import { mapReply, withText } from "./reply-mappers";

export const CommandState = {
  Created: 0,
  /** Dispatched, but not written yet (offline or unsent). */
  Queued: 1,
  /** Encoded for the current connection and unanswered. */
  Sent: 2,
  Settled: 3,
  /** Settled, and not written when its turn came: it only keeps its place in the queue of a connection. */
  Dropped: 4,
} as const;
export type CommandState = (typeof CommandState)[keyof typeof CommandState];

/** The slot of a command that no cluster has inspected: it was given directly to the client of one node. */
export const UNROUTED = -3;

/** The issuer of a command, which determines how a lost connection, a redirect or a tracer treats it. */
export const Origin = {
  /** A caller of the client: single calls, pipelines, transactions. */
  User: 0,
  /** A connection, for itself (handshake, probes, forgotten scripts): ends with that connection. */
  Connection: 1,
  /** A link, to restore its subscriptions on a new connection: ends with that connection. */
  Restore: 2,
  /** A cluster client, to correct its subscriptions. */
  Resubscribe: 3,
  /** The client, in support of other commands (SELECT, ASKING, UNWATCH): its outcome is ignored. */
  Client: 4,
  /** A cluster transaction that is sent again, in place of a member whose caller has given up. */
  Copy: 5,
  /** A command that runs on several nodes, for one of them. */
  Part: 6,
  /** A cluster client, to learn the slot owners: ends with its connection. */
  Question: 7,
} as const;
export type Origin = (typeof Origin)[keyof typeof Origin];

/**
 * Receives the outcome of a command. A single command has a promise; a pipeline is the completion of all its
 * commands (`command.index` is the row). Called exactly once for each command; implementations must not throw.
 */
export interface Completion {
  /** The promise for the caller, if the single command has one. */
  readonly promise?: Promise<unknown>;
  fulfil(command: Command, value: Reply, shape: ReplyShape): void;
  reject(command: Command, error: Error): void;
}

/** Ignores the outcome. */
export const IGNORED: Completion = { fulfil() {}, reject() {} };

/** Whether a user has created it for `sendCommand`; see `LegacyCommand`. */
export const MADE_BY_HAND: unique symbol = Symbol("madeByHand");

export class Command {
  state: CommandState = CommandState.Created;
  origin: Origin = Origin.User;
  /** Its place in its batch. */
  index = 0;
  /** The database for which it was issued. */
  db = 0;
  /** Connections lost while it was the oldest unanswered command. */
  losses = 0;
  /** It was written to a connection that was lost before the reply. */
  mayHaveRun = false;
  /** The slot of its first key once a cluster has routed it. */
  slot = UNROUTED;
  batch: Batch | null = null;
  extra: CommandExtra | null = null;

  constructor(
    public spec: CommandSpec,
    readonly args: Argument[],
    /** Strings of its reply are Buffers. */
    public wantsBuffers: boolean,
    public completion: Completion,
  ) {}

  get name(): string {
    return this.spec.name;
  }

  get isSettled(): boolean {
    return this.state >= CommandState.Settled;
  }

  get [MADE_BY_HAND](): boolean {
    return false;
  }

  /** A promise of the outcome; created on first access if the command is part of a pipeline. */
  get promise(): Promise<unknown> {
    return this.completion.promise ?? this.ensureExtra().promise;
  }

  /** Settles with a raw reply, whose strings may be Buffers. Tracers replace it to see the reply first. */
  get resolve(): (raw?: unknown) => void {
    return this.extra?.resolve ?? ((raw) => this.fulfilAsWanted(raw, this.ensureExtra().shape));
  }

  set resolve(replacement: (raw?: unknown) => void) {
    this.ensureExtra().resolve = replacement;
  }

  /** The `Decode` bits for its reply on a connection with these bits. A replaced `resolve` receives Buffers. */
  decodingOn(decoding: number): number {
    const { extra } = this;
    if (extra === null) return this.wantsBuffers ? decoding | Decode.Buffers : decoding;
    const own = extra.form === null ? decoding : extra.form.on(decoding);
    return this.wantsBuffers || extra.resolve !== null ? own | Decode.Buffers : own;
  }

  /** Settles the command with an error. Tracers replace it to see the error first. */
  get reject(): (error: Error) => void {
    return this.extra?.reject ?? ((error) => this.abandon(error));
  }

  set reject(replacement: (error: Error) => void) {
    this.ensureExtra().reject = replacement;
  }

  /**
   * Maps the reply and settles the completion.
   * @param mapper Null for a value in its final shape.
   * @param resolve The replacement that receives the reply instead; null: none, or it has received the reply.
   */
  fulfil(
    raw: Reply,
    shape: ReplyShape,
    mapper = this.spec.replyMapper,
    resolve = this.extra === null ? null : this.extra.resolve,
  ): void {
    if (resolve !== null) {
      this.ensureExtra().shape = shape;
      callUser(
        () => resolve(raw),
        () => this.fulfilAsWanted(raw, shape),
      );
      return;
    }
    if (this.state >= CommandState.Settled) return;
    let value = raw;
    if (mapper !== null) {
      try {
        value = mapReply(this, raw, shape);
      } catch (error) {
        this.abandon(toError(error));
        return;
      }
    }
    this.state = CommandState.Settled;
    if (this.extra !== null) this.extra.onSettled(null, value);
    this.completion.fulfil(this, value, shape);
    if (this.batch !== null) this.batch.settleOne();
  }

  /** Settles with a value in its final shape, which was known without the server. */
  fulfilMapped(value: Reply): void {
    this.fulfil(value, LEGACY_SHAPE, null, null);
  }

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

  /** Frees the memory of a command that settled before it was written and stays in a queue. */
  release(): void {
    this.args.length = 0;
    this.completion = IGNORED;
  }

  /** Changes the name and the first argument: for a script that is sent by text or by hash. */
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

  /** The batch with which it is resent or fails after a loss. */
  get group(): Batch | null {
    return this.extra?.group ?? this.batch;
  }

  /** The output of `util.inspect`: credentials among the arguments are masked. */
  [INSPECT](_depth: number, ...[style, inspect]: InspectArguments): string {
    const { name, args } = this;
    return `Command ${inspect(describeCommand(name, args), style)}`;
  }

  ensureExtra(): CommandExtra {
    this.extra ??= new CommandExtra();
    return this.extra;
  }

  /** Settles with a reply that a replaced `resolve` has received: with Buffers in place of strings. */
  private fulfilAsWanted(raw: Reply, shape: ReplyShape): void {
    this.fulfil(this.wantsBuffers ? raw : withText(raw), shape, this.spec.replyMapper, null);
  }

  private abandon(error: Error): void {
    if (this.state >= CommandState.Settled) return;
    this.state = CommandState.Settled;
    nameCommand(error, this.name, this.args);
    if (this.extra !== null) this.extra.onSettled(error);
    this.completion.reject(this, error);
    if (this.batch !== null) this.batch.settleOne();
  }
}

/** A new command that does not come from a caller. */
export function issuedBy(origin: Origin, command: Command): Command {
  command.origin = origin;
  return command;
}

/** The command that is written in its place if it was merged or split; otherwise the command itself. */
export function sentFor(command: SentCommand): SentCommand {
  const sent = command.extra?.sentAs ?? null;
  return sent === null ? command : sentFor(sent);
}

/** The batch of commands that were dispatched together. A cache puts a command of the connection first. */
export function batchOf(commands: readonly Command[]): Batch | null {
  const first = commands[0]?.origin === Origin.Connection ? commands[1] : commands[0];
  return first?.batch ?? null;
}

/** A reply to the command has arrived: its group is no longer sent again as a whole. */
export function markAnswered(command: Command): void {
  const { batch, extra } = command;
  if (batch !== null && !batch.isAnswered) batch.noteAnswer();
  if (extra !== null && extra.group !== null) extra.group.isAnswered = true;
}

/** Adds the command to its error, unless the error has one or belongs to another command. */
export function nameCommand(error: Error, name: string, args: readonly Argument[]): void {
  if (!(error instanceof SluiceError || error instanceof ReplyError) || error.command !== undefined) return;
  error.command = describeCommand(name, args);
}
