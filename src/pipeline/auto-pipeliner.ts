/**
 * Gathers the commands of one event-loop turn and hands them on as a batch, so that they share
 * one write. While `maxInFlight` batches are unanswered it goes on gathering; when the last
 * reply of one arrives, the gathered batch leaves at once. A command that may not wait, and
 * every explicit batch, first flushes what is pending: order of issue is order of sending.
 *
 * It knows neither slots nor sockets. Each command settles on its own reply.
 */

import { Batch, BatchKind, type BatchMerging } from "../command/batch";
import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import type { PlainCalls } from "../command/plain-calls";
import { hooks } from "../observability/hooks";
import { atTurnEnd, clockMs } from "../util/scheduling";
import { AdaptiveWindow } from "./adaptive-window";

export interface AutoPipelinerOptions {
  /** Unanswered batches at which it goes on gathering; "adaptive" follows the round trip. */
  readonly maxInFlight: number | "adaptive";
  /** Most commands of one batch. */
  readonly maxCommands: number;
  /** Bytes of arguments (characters of strings) at which a batch is full. */
  readonly maxBytes: number;
  /** Lower-case command names that are never gathered. */
  readonly ignored: ReadonlySet<string>;
  /** Makes fewer commands of a batch. */
  readonly merging?: BatchMerging | null | undefined;
  /** Commands were given up while they were gathered; they go no further. */
  readonly onGivenUp?: (() => void) | undefined;
  /** A batch leaves that was gathered for so many milliseconds; not called while nobody listens. */
  readonly onGathered?: ((ms: number) => void) | undefined;
}

export class AutoPipeliner implements Dispatcher {
  private pending: Command[] = [];
  private inFlight = 0;
  private isBooked = false;
  private isHolding = false;
  private isSending = false;
  private isFlushDue = false;
  /** When the present batch began to be gathered; 0 if nobody listened then. */
  private gatheredFromMs = 0;
  private readonly onTurnEnd = (): void => {
    this.isBooked = false;
    if (!this.isHolding) this.flush();
    else this.sendWhatMayGo();
  };
  private readonly onBatchDone = (): void => {
    this.inFlight--;
    this.sendWhatMayGo(true);
  };
  private readonly adaptive: AdaptiveWindow | null;
  private readonly window: { readonly size: number };

  constructor(
    private readonly next: Dispatcher,
    private readonly options: AutoPipelinerOptions,
  ) {
    const { maxInFlight } = options;
    this.adaptive = maxInFlight === "adaptive" ? new AdaptiveWindow() : null;
    this.window = maxInFlight === "adaptive" ? (this.adaptive as AdaptiveWindow) : { size: maxInFlight };
  }

  /** The youngest of the gathered commands that the test is true for. */
  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    return this.pending.findLast(isWanted);
  }

  /** Batches that may be unanswered at present. */
  get windowSize(): number {
    return this.window.size;
  }

  /** The commands gathered and not handed on. */
  get gathered(): readonly Command[] {
    return this.pending;
  }

  /** How many of them there are. */
  get size(): number {
    return this.pending.length;
  }

  /**
   * Whether commands may be held back behind unanswered batches: only while the connection is
   * ready. Otherwise they go on at the end of the turn, to wait or fail under the link's rules.
   */
  hold(isHolding: boolean): void {
    this.isHolding = isHolding;
    // A link that is woken by a batch says so before it has taken the batch: the rest goes behind it.
    if (this.isSending) this.isFlushDue = !isHolding;
    else if (!isHolding) this.flush();
  }

  dispatch(command: Command): void {
    if (this.isExcluded(command)) {
      this.flush();
      this.next.dispatch(command);
      return;
    }
    this.pending.push(command);
    if (hooks.gathered !== null && this.gatheredFromMs === 0) this.gatheredFromMs = clockMs();
    if (this.pending.length >= this.options.maxCommands && this.isHolding) this.sendWhatMayGo();
    if (!this.isBooked) {
      this.isBooked = true;
      atTurnEnd(this.onTurnEnd);
    }
  }

  private isExcluded(command: Command): boolean {
    return isExcluded(command, this.options.ignored);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.flush();
    this.next.dispatchBatch(commands);
  }

  dispatchCalls(calls: PlainCalls): boolean {
    this.flush();
    return this.next.dispatchCalls?.(calls) ?? false;
  }

  /** Hands on all that is pending, whatever is in flight. */
  flush(): void {
    while (this.pending.length > 0) this.sendBatch();
  }

  private sendWhatMayGo(isHeld = false): void {
    while (this.pending.length > 0 && this.inFlight < this.window.size) this.sendBatch(isHeld);
  }

  /** @param isHeld It had to wait for the answer to another one. */
  private sendBatch(isHeld = false): void {
    const commands = this.takeBatch();
    if (this.gatheredFromMs !== 0) this.tellGathered();
    if (commands.length === 0) return;
    this.inFlight++;
    const onDone = this.adaptive === null ? this.onBatchDone : this.measured(this.adaptive);
    const batch = new Batch(BatchKind.Automatic, 0, onDone);
    batch.merging = this.options.merging ?? null;
    batch.isHeld = isHeld;
    for (const command of commands) batch.add(command);
    const isNested = this.isSending;
    this.isSending = true;
    this.next.dispatchBatch(commands);
    this.isSending = isNested;
    if (!this.isFlushDue || isNested) return;
    this.isFlushDue = false;
    this.flush();
  }

  /** The rest belongs to the next batch, whose time begins now. */
  private tellGathered(): void {
    const nowMs = clockMs();
    this.options.onGathered?.(nowMs - this.gatheredFromMs);
    this.gatheredFromMs = this.pending.length === 0 ? 0 : nowMs;
  }

  /** The next commands that fit into one batch, without those that settled while they waited. */
  private takeBatch(): Command[] {
    const { pending } = this;
    const count = this.countThatFit(pending);
    this.pending = count === pending.length ? [] : pending.slice(count);
    if (count < pending.length) pending.length = count;
    if (!pending.some(isSettled)) return pending;
    this.options.onGivenUp?.();
    return pending.filter((command) => !command.isSettled);
  }

  private countThatFit(pending: readonly Command[]): number {
    const { maxCommands, maxBytes } = this.options;
    if (maxBytes === Number.POSITIVE_INFINITY) return Math.min(pending.length, maxCommands);
    let count = 0;
    let bytes = 0;
    for (const command of pending) {
      if (count > 0 && (count >= maxCommands || bytes >= maxBytes)) break;
      for (const arg of command.args) bytes += arg.length;
      count++;
    }
    return count;
  }

  private measured(window: AdaptiveWindow): () => void {
    const sentAtMs = clockMs();
    return () => {
      const nowMs = clockMs();
      window.note(nowMs - sentAtMs, nowMs);
      this.onBatchDone();
    };
  }
}

function isSettled(command: Command): boolean {
  return command.isSettled;
}

/** True if a command goes by itself: by its kind, or by `autoPipeliningIgnoredCommands`. */
export function isExcluded({ spec, args }: Command, ignored: ReadonlySet<string>): boolean {
  if ((flagsFor(spec, args) & CommandFlag.NeverAutoPipelined) !== 0) return true;
  return ignored.size > 0 && ignored.has(spec.lowerName);
}
