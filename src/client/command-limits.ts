/**
 * Time limits and abort signals of commands. `commandTimeout` and the limits of `with()` count from the call,
 * including all queues, and reject. `blockingTimeout` limits how long the client itself waits for blocking
 * commands, and resolves with null, as the server would. A limit never closes the connection: an unwritten
 * command is dropped, and a late reply is ignored.
 */

import { blockingTimeMs, heldTimeMs } from "../command/blocking";
import { type Command, CommandState, sentFor } from "../command/command";
import {
  RETRY_POLICIES,
  type ReadFrom,
  type RetryPolicy,
  type SentCommand,
  type SettleHook,
} from "../command/command-extra";
import { CommandFlag, LEGACY_SHAPE } from "../command/command-spec";
import { ReplyForm, type ReplyForms } from "../command/reply-form";
import { isMappedByUser } from "../command/reply-mappers";
import { OptionError } from "../errors";
import { unblocking } from "../link/current-connection";
import type { QueuePosition } from "../link/link-options";
import { Unblocker } from "../link/unblocker";
import { CommandAbortedError, CommandTimeoutError, type TimeoutDetails } from "../part-errors";
import { listenToAbort, stopListening } from "../util/abort-listeners";
import { checkSettings, type SettingChecks, signalOnly } from "../util/check-settings";
import { type Deadline, deadlines, type Expiring } from "../util/deadlines";
import { userClockMs } from "../util/scheduling";
import { withoutStack } from "../util/without-stack";
import { DEFAULT_BLOCKING_GRACE_MS, type RedisOptions } from "./options/redis-options";
import { OF_EVENTS } from "./reserved-names";

// The link needs the class when a blocking call times out. Loading its file could fail at that time.
unblocking.provide({ Unblocker });

export type LimitOptions = Readonly<
  Pick<RedisOptions, "commandTimeout" | "blockingTimeout" | "blockingTimeoutGrace" | "replicas">
>;

/** The settings of `with()` for the calls made through its view. */
export interface CallLimits {
  /** Milliseconds from the call until it rejects; replaces `commandTimeout`. */
  timeout?: number | undefined;
  /** When aborted, drops an unwritten command and ignores the reply to a written one. */
  signal?: AbortSignal | undefined;
  /** Whether a written command is sent again after a lost connection; see `retryPolicy`. */
  retry?: RetryPolicy | undefined;
  /**
   * With the option `cache`: `false` asks the server and does not store the reply. A number of milliseconds
   * accepts only younger cached replies and stores its own reply for that long, regardless of `match`.
   */
  cache?: boolean | number | undefined;
  /**
   * The server of reads: the primary, or a replica even if it may miss recent writes of this client. `"replica"`
   * needs the option `replicas`, on a cluster a `scaleReads` other than `"master"`.
   */
  readFrom?: ReadFrom | undefined;
}

/** All settings of `with()`. */
export interface CallSettings extends CallLimits {
  /** The JavaScript types of replies; other types than those set keep the form of the options. */
  replies?: ReplyForms | undefined;
}

export interface LimitContext {
  /** Commands are written as they arrive, without waiting for a connection. */
  readonly isWritable: boolean;
  /** A cluster whose option `scaleReads` allows reads from replicas. */
  readonly readsReplicas?: boolean;
  positionOf(command: SentCommand): QueuePosition;
  /** The server has announced maintenance: `commandTimeout` waits longer. */
  readonly isRelaxed: boolean;
}

/** How often an expired command is checked while maintenance runs. */
const RELAXED_CHECK_MS = 100;

/** Commands with their own timeout, and XREAD and XREADGROUP even without BLOCK. */
const MAY_BLOCK =
  CommandFlag.TimeoutLast | CommandFlag.TimeoutFirst | CommandFlag.TimeoutFifth | CommandFlag.BlockOption;

/** Sets the limits of a client, or of one view of it. */
export class Limiter {
  private readonly form: ReplyForm | null;

  readonly call: CallSettings;

  constructor(
    private readonly options: LimitOptions,
    private readonly context: LimitContext,
    own: CallSettings,
    inherited?: CallSettings,
  ) {
    checkSettings("with()", own, CALL_CHECKS, "setting");
    const call = { ...inherited, ...own };
    this.call = call;
    const hasReplicas = options.replicas || context.readsReplicas === true;
    if (call.readFrom === "replica" && !hasReplicas) throw new OptionError(NEEDS_REPLICAS);
    this.form = call.replies === undefined ? null : new ReplyForm(call.replies);
  }

  /** May settle the command immediately if its signal is already aborted. */
  limit(command: Command): void {
    const { options, context, call } = this;
    if (call.retry !== undefined) command.ensureExtra().retryPolicy = call.retry;
    if (call.readFrom !== undefined) command.ensureExtra().readFrom = call.readFrom;
    if (call.cache !== undefined) command.ensureExtra().cacheTtlMs = cacheTtlMs(call.cache);
    if (this.form !== null) setForm(command, this.form);
    if (call.signal !== undefined) new AbortHook(command, call.signal, context).follow();
    if (command.isSettled) return;
    if (call.timeout !== undefined) {
      if (call.timeout !== Number.POSITIVE_INFINITY)
        new CommandLimit(command, context, null).start(call.timeout);
    } else if (typeof options.commandTimeout === "number")
      new CommandLimit(command, context, this.heldMs(command)).start(options.commandTimeout);
    const { blockingTimeout } = options;
    if (typeof blockingTimeout === "number" && blockingTimeout > 0)
      this.limitBlocking(command, blockingTimeout);
  }

  /** The time in ms for which the server may hold the command; 0 if the command does not block. */
  private heldMs({ spec, args }: Command): number {
    if ((spec.flags & CommandFlag.Blocking) === 0) return 0;
    const ownMs = heldTimeMs(spec, args);
    if (ownMs === null) return 0;
    return ownMs === 0 ? Number.POSITIVE_INFINITY : ownMs + this.graceMs;
  }

  private get graceMs(): number {
    return this.options.blockingTimeoutGrace ?? DEFAULT_BLOCKING_GRACE_MS;
  }

  private limitBlocking(command: Command, timeoutMs: number): void {
    if ((command.spec.flags & MAY_BLOCK) === 0) return;
    const { isWritable } = this.context;
    const ownMs = blockingTimeMs(command.spec, command.args) ?? 0;
    const writtenMs = ownMs + this.graceMs;
    const limit = new BlockingLimit(command, writtenMs, ownMs > 0 && !isWritable);
    limit.start(isWritable && ownMs > 0 ? writtenMs : timeoutMs);
  }
}

/** A transformer of the user, or of a module command, gets the replies that it was written for. */
function setForm(command: Command, form: ReplyForm): void {
  if (isMappedByUser(command.spec)) return;
  if (form.areBuffers) command.wantsBuffers = true;
  if (!form.isUsual) command.ensureExtra().form = form;
}

const NEEDS_REPLICAS =
  'with({ readFrom: "replica" }) needs the option "replicas", or "scaleReads" on a cluster (for example "primary")';

const CALL_CHECKS: SettingChecks<CallSettings> = {
  timeout: (value) => (typeof value === "number" && !Number.isNaN(value) ? null : "milliseconds"),
  signal: signalOnly,
  retry: (value) => (RETRY_POLICIES.includes(value as RetryPolicy) ? null : RETRY_POLICIES.join(", ")),
  cache: (value) => (isCacheChoice(value) ? null : "a boolean or milliseconds"),
  readFrom: (value) => (value === "primary" || value === "replica" ? null : "primary, replica"),
  replies: (value) => (typeof value === "object" && value !== null ? null : "an object"),
};

function isCacheChoice(choice: unknown): boolean {
  return typeof choice === "boolean" || (typeof choice === "number" && choice >= 0);
}

function cacheTtlMs(choice: boolean | number): number | null {
  if (typeof choice === "number") return choice;
  return choice ? null : 0;
}

/** A command that a limit or a signal may give up. */
interface Limited {
  readonly command: Command;
  readonly context: LimitContext;
  readonly issuedAtMs: number;
}

/** Rejects the command. A blocking call that was given up must not remove a later element. */
function giveUp(
  { command, context, issuedAtMs }: Limited,
  nowMs: number,
  makeError: (details: TimeoutDetails) => Error,
): void {
  const sent = sentFor(command);
  const isSent = sent.state === CommandState.Sent;
  const queuedUntilMs = isSent && sent.extra !== null ? sent.extra.sentAtMs : nowMs;
  const { commandsAhead, bytesAhead, server } = context.positionOf(sent);
  // No object spread, because a timer or a signal may reject many commands at the same time.
  const details: TimeoutDetails = {
    phase: !isSent ? "queued" : bytesAhead > 0 ? "sent" : "waiting",
    mayHaveRun: isSent || sent.mayHaveRun,
    elapsedMs: Math.round(nowMs - issuedAtMs),
    queuedMs: Math.round(Math.max(0, queuedUntilMs - issuedAtMs)),
    commandsAhead,
    bytesAhead,
    server,
  };
  const wasSent = command.state === CommandState.Sent;
  command.fail(withoutStack(() => makeError(details)));
  if (wasSent) command.extra?.recall?.();
}

abstract class Limit implements Expiring, SettleHook {
  private deadline: Deadline | null = null;

  constructor(readonly command: Command) {
    command.ensureExtra().addHook(this);
  }

  start(delayMs: number): void {
    this.deadline = deadlines.scheduleForUser(this, delayMs);
  }

  onSettled(): void {
    if (this.deadline !== null) deadlines.cancel(this.deadline);
  }

  abstract onExpired(): void;
}

export class CommandLimit extends Limit implements Limited {
  readonly issuedAtMs = userClockMs();

  constructor(
    command: Command,
    readonly context: LimitContext,
    /**
     * The time in ms for which the server may hold the written command beyond the limit. Null: the limit comes from
     * `with()`, and the message of the error has details. The error of `commandTimeout` has the message of ioredis.
     */
    private readonly heldMs: number | null,
  ) {
    super(command);
  }

  override onExpired(): void {
    const { heldMs, context } = this;
    // Maintenance does not extend a limit of `with()`.
    const leftMs = heldMs !== null && context.isRelaxed ? RELAXED_CHECK_MS : this.leftMs(heldMs ?? 0);
    if (leftMs <= 0)
      giveUp(this, userClockMs(), (details) => new CommandTimeoutError(details, heldMs === null));
    else if (leftMs < Number.POSITIVE_INFINITY) this.start(leftMs);
  }

  private leftMs(heldMs: number): number {
    const { state, extra } = this.command;
    if (heldMs === 0 || state !== CommandState.Sent || extra === null) return 0;
    return Math.min(heldMs, extra.sentAtMs + heldMs - userClockMs());
  }
}

/** `blockingTimeout`: resolves null. */
class BlockingLimit extends Limit {
  constructor(
    command: Command,
    /** The limit of the command once it is written. */
    private readonly writtenMs: number,
    /** Issued while offline: once the command is written, its own timeout counts from that time. */
    private isExtendable: boolean,
  ) {
    super(command);
  }

  override onExpired(): void {
    const { command } = this;
    if (this.isExtendable && command.state === CommandState.Sent) {
      this.isExtendable = false;
      this.start(this.writtenMs);
      return;
    }
    const recall = command.extra?.recall;
    if (recall && command.state === CommandState.Sent) recall();
    else command.fulfil(null, LEGACY_SHAPE);
  }
}

class AbortHook implements SettleHook, Limited {
  readonly issuedAtMs = userClockMs();

  constructor(
    readonly command: Command,
    private readonly signal: AbortSignal,
    readonly context: LimitContext,
  ) {}

  follow(): void {
    if (this.signal.aborted) {
      this.onAbort(this.issuedAtMs);
      return;
    }
    this.command.ensureExtra().addHook(this);
    listenToAbort(this.signal, this);
  }

  onSettled(): void {
    stopListening(this.signal, this);
  }

  onAbort(nowMs: number): void {
    giveUp(this, nowMs, (details) => new CommandAbortedError(details, this.signal.reason));
  }
}

const OF_THE_CLIENT = [...OF_EVENTS, "defineCommand", "addBuiltinCommand", "messages", "keyspaceEvents"];

/** The common prototype of the views that `with()` returns. It forwards calls that concern the whole client. */
export function makeViewPrototype<Client extends object>(client: Client): Client {
  const prototype = Object.create(client) as Client;
  for (const name of OF_THE_CLIENT) {
    const method = (client as Record<string, unknown>)[name];
    if (typeof method !== "function") continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: Client, ...args: unknown[]) {
        const result: unknown = Reflect.apply(method, client, args);
        return result === client ? this : result;
      },
    });
  }
  return prototype;
}
