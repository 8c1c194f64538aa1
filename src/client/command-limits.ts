/**
 * Time limits of commands. `commandTimeout` counts from the call, whatever queue the command is
 * in, and rejects; `blockingTimeout` is the client's own patience with blocking commands and
 * resolves null, as the server would. The connection is kept: a late reply is dropped.
 */

import { blockingTimeMs } from "../command/blocking";
import type { Command } from "../command/command";
import { CommandState } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { CommandTimeoutError, type TimeoutDetails } from "../errors";
import { describeCommand } from "../observability/redact";
import { type Deadline, deadlines, type Expiring } from "../util/deadlines";

export interface LimitOptions {
  readonly commandTimeout?: number | undefined;
  readonly blockingTimeout?: number | undefined;
  readonly blockingTimeoutGrace?: number | undefined;
}

/** What the limits ask about the link that a command goes to. */
export interface LimitContext {
  /** Commands are written as they come, none waits for a connection. */
  readonly isWritable: boolean;
  /** Where a command stands, for the error. */
  whereabouts(command: Command): Pick<TimeoutDetails, "commandsAhead" | "server">;
}

/** Commands with a timeout of their own, and XREAD and XREADGROUP even without BLOCK. */
const MAY_BLOCK =
  CommandFlag.TimeoutLast | CommandFlag.TimeoutFirst | CommandFlag.TimeoutFifth | CommandFlag.BlockOption;

/** True when the options set any limit at all. */
export function hasLimits(options: LimitOptions): boolean {
  return typeof options.commandTimeout === "number" || isPositive(options.blockingTimeout);
}

/** Sets the limits that the options ask for. */
export function setLimits(command: Command, options: LimitOptions, context: LimitContext): void {
  if (typeof options.commandTimeout === "number") {
    new CommandLimit(command, context).start(options.commandTimeout);
  }
  if (!isPositive(options.blockingTimeout)) return;
  if ((command.spec.flags & MAY_BLOCK) === 0) return;
  const ownMs = blockingTimeMs(command.spec, command.args) ?? 0;
  const limit = new BlockingLimit(command, ownMs + (options.blockingTimeoutGrace ?? 100));
  limit.start(context.isWritable && ownMs > 0 ? limit.writtenMs : options.blockingTimeout);
  limit.isExtendable = ownMs > 0 && !context.isWritable;
}

function isPositive(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}

abstract class Limit implements Expiring, SettleHook {
  private deadline: Deadline | null = null;

  constructor(protected readonly command: Command) {
    command.ensureExtra().addHook(this);
  }

  start(delayMs: number): void {
    this.deadline = deadlines.schedule(this, delayMs);
  }

  onFulfilled(): void {
    if (this.deadline !== null) deadlines.cancel(this.deadline);
  }

  onFailed(): void {
    if (this.deadline !== null) deadlines.cancel(this.deadline);
  }

  abstract onExpired(): void;
}

/** `commandTimeout`: rejects the command. */
export class CommandLimit extends Limit {
  private readonly issuedAtMs = performance.now();

  constructor(
    command: Command,
    private readonly context: LimitContext,
  ) {
    super(command);
  }

  override onExpired(): void {
    const { command } = this;
    const error = new CommandTimeoutError();
    error.command = describeCommand(command.name, command.args);
    error.details = {
      phase: command.state === CommandState.Sent ? "sent" : "queued",
      elapsedMs: Math.round(performance.now() - this.issuedAtMs),
      ...this.context.whereabouts(command),
    };
    command.fail(error);
  }
}

/** `blockingTimeout`: resolves null. */
class BlockingLimit extends Limit {
  /** Issued while offline: once written, the command's own timeout counts from then on. */
  isExtendable = false;

  constructor(
    command: Command,
    /** Limit of the command once it is written. */
    readonly writtenMs: number,
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
    command.fulfil(null, { protocol: 2, replyMapping: "legacy" });
  }
}
