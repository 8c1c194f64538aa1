/**
 * Gathers the commands of one event-loop turn and hands them on as a batch, so that they share
 * one write. While `maxInFlight` batches are unanswered it goes on gathering; when the last
 * reply of one arrives, the gathered batch leaves at once. A command that may not wait, and
 * every explicit batch, first flushes what is pending: order of issue is order of sending.
 *
 * A turn that merges and issues many hundreds leaves in pieces, the first ones before its end: a run
 * is no longer than a piece, so that to wait for more would only keep the server idle. Its pieces
 * count as batches, but none of them waits for another. On a cluster there are none: what is to be
 * merged there has to be the end of what is sent (`merging/`).
 *
 *   turn:  |---- piece ----|---- piece ----|-- rest --|
 *                                  ^ leaves when half as much has gathered behind it
 *
 * Each command settles on its own reply.
 */

import { Batch, BatchKind, type BatchMerging } from "../command/batch";
import type { Command } from "../command/command";
import { goesAlone } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import type { PlainCalls } from "../command/plain-calls";
import { UNROUTED } from "../command/slot";
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
  /** Commands that leave before the end of their turn when half as many more have gathered; `Infinity`: none do. */
  readonly pieceSize: number;
  /** Lower-case command names that are never gathered. */
  readonly ignored: ReadonlySet<string>;
  /** Makes fewer commands of a batch. */
  readonly merging?: BatchMerging | null | undefined;
  /** Commands were given up while they were gathered; they go no further. */
  readonly onGivenUp?: (() => void) | undefined;
  /** A batch leaves that was gathered for so many milliseconds; not called while nobody listens. */
  readonly onGathered?: ((ms: number) => void) | undefined;
}

/** The rest has to be worth a batch: what may be merged only at the end of what is sent is merged there. */
const PIECES_GATHERED = 1.5;

export class AutoPipeliner implements Dispatcher {
  private pending: Command[] = [];
  private inFlight = 0;
  private isBooked = false;
  private isHolding = false;
  private isSending = false;
  private isFlushDue = false;
  /** A piece of the present turn has left: the rest leaves at its end. */
  private hasBegun = false;
  /** When the present batch began to be gathered; 0 if nobody listened then. */
  private gatheredFromMs = 0;
  private readonly onTurnEnd = (): void => {
    const { hasBegun } = this;
    this.isBooked = false;
    this.hasBegun = false;
    if (hasBegun || !this.isHolding) this.flush();
    else this.sendWhatMayGo();
  };
  private readonly onBatchDone = (): void => {
    this.inFlight--;
    this.sendWhatMayGo(true);
  };
  /** As many as are worth a look before the end of the turn. */
  private readonly lookAt: number;
  private readonly adaptive: AdaptiveWindow | null;
  private readonly window: { readonly size: number };

  constructor(
    private readonly next: Dispatcher,
    private readonly options: AutoPipelinerOptions,
  ) {
    const { maxInFlight, maxCommands, pieceSize } = options;
    this.lookAt = Math.min(maxCommands, pieceSize * PIECES_GATHERED);
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
    if (this.pending.length >= this.lookAt && this.isHolding) this.sendEarly(command.slot);
    if (!this.isBooked) {
      this.isBooked = true;
      atTurnEnd(this.onTurnEnd);
    }
  }

  private isExcluded(command: Command): boolean {
    return goesAlone(command.spec, command.args, this.options.ignored);
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

  private sendEarly(slot: number): void {
    const { maxCommands, pieceSize } = this.options;
    if (this.pending.length >= maxCommands) this.sendWhatMayGo();
    else if (slot === UNROUTED && (this.hasBegun || this.inFlight < this.window.size)) {
      this.hasBegun = true;
      this.sendBatch(false, pieceSize);
    }
  }

  private sendWhatMayGo(isHeld = false): void {
    while (this.pending.length > 0 && this.inFlight < this.window.size) this.sendBatch(isHeld);
  }

  /**
   * @param isHeld It had to wait for the answer to another one.
   * @param pieceSize Less than all that is pending: the rest follows.
   */
  private sendBatch(isHeld = false, pieceSize = Number.POSITIVE_INFINITY): void {
    const commands = this.takeBatch(pieceSize);
    if (this.gatheredFromMs !== 0) this.tellGathered();
    if (commands.length === 0) return;
    this.inFlight++;
    const onDone = this.adaptive === null ? this.onBatchDone : this.measured(this.adaptive);
    const batch = new Batch(BatchKind.Automatic, 0, onDone);
    batch.merging = this.options.merging ?? null;
    batch.isHeld = isHeld;
    batch.isFollowed = pieceSize !== Number.POSITIVE_INFINITY;
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
  private takeBatch(most: number): Command[] {
    const { pending } = this;
    const count = Math.min(most, this.countThatFit(pending));
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
