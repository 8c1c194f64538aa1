/**
 * Divides the commands of one connection into batches and limits how many of them are unanswered. A batch is
 * open from its first command until the end of the event-loop turn. Commands of an open batch are dispatched to
 * the connection as they are issued, so the connection decides when they are written. While `maxInFlight`
 * batches are unanswered, commands are collected. When the last reply of a batch arrives, the collected
 * commands are dispatched immediately as the next batch. Callers whose replies arrive in the same read still
 * join it, so callers with replies in several reads stay together.
 *
 *   open:      | a b c ... end of the turn |--- unanswered ---| last reply
 *   collected:                             | d e f            | dispatched; g h join until the turn ends
 *
 * With an adaptive window, the reply to the first command of a batch counts instead of the last one.
 *
 * With merging, the commands of a turn are dispatched at its end, in pieces if there are many hundreds, because
 * only commands that are dispatched together can be merged.
 *
 * A command that must not wait, and every explicit batch, first flushes the collected commands: the order of
 * issue is the order of sending. Each command settles on its own reply.
 */

import { Batch, BatchKind, type BatchMerging } from "../command/batch";
import { type Command, UNROUTED } from "../command/command";
import { goesAlone, MAY_GO_ALONE } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { hooks } from "../observability/hooks";
import { atTurnEnd, clockMs } from "../util/scheduling";
import { AdaptiveWindow } from "./adaptive-window";

export interface AutoPipelinerOptions {
  /** The number of unanswered batches from which commands are collected; "adaptive" follows the round trip. */
  readonly maxInFlight: number | "adaptive";
  /** The most commands of one batch. */
  readonly maxCommands: number;
  /** The bytes of arguments (characters of strings) at which a batch is full. */
  readonly maxBytes: number;
  /**
   * The number of commands in a piece that is sent before the end of its turn, once 1.5 times as many have
   * been collected; `Infinity`: no pieces.
   */
  readonly pieceSize: number;
  /** Lower-case command names that are never collected. */
  readonly ignored: ReadonlySet<string>;
  /** The commands of a batch that are merged; null: none. */
  readonly merging: BatchMerging | null;
  /** Commands were given up while they were collected; they are not dispatched. */
  readonly onGivenUp?: (() => void) | undefined;
  /** A batch that was collected for this time is being sent; undefined without a subscriber. */
  readonly onGathered?: ((ms: number) => void) | undefined;
}

/** Commands of a cluster have a slot. It may move, and then a merged command of several keys is refused. */
function isUnrouted({ slot }: Command): boolean {
  return slot === UNROUTED;
}

/** In pieces: at least half a piece must remain, because commands merge best at the end of a batch. */
const PIECES_GATHERED = 1.5;

export class AutoPipeliner implements Dispatcher {
  private pending: Command[] = [];
  /** The batch of the current turn, while it is not full. */
  private open: Batch | null = null;
  private openBytes = 0;
  /** Batches that are open or unanswered. */
  private inFlight = 0;
  private isScheduled = false;
  private isHolding = false;
  private isSending = false;
  private isFlushDue = false;
  /** The time at which the first collected command was issued; 0 if there was no subscriber. */
  private gatheredFromMs = 0;
  private readonly onTurnEnd = (): void => {
    this.isScheduled = false;
    this.sendWhatMayGo();
    this.close();
  };
  private readonly onBatchDone = (): void => {
    this.inFlight--;
    this.sendWhatMayGo(true);
  };
  /** True without merging, limits and ignored commands: most commands then need no further check. */
  private readonly isPlain: boolean;
  /** Null with a fixed number of batches. */
  private readonly adaptive: AdaptiveWindow | null;

  constructor(
    public next: Dispatcher,
    private readonly options: AutoPipelinerOptions,
  ) {
    const { maxInFlight, maxCommands, maxBytes, ignored, merging } = options;
    const isLimited = Math.min(maxCommands, maxBytes) < Number.POSITIVE_INFINITY || ignored.size > 0;
    this.isPlain = merging === null && !isLimited;
    this.adaptive = maxInFlight === "adaptive" ? new AdaptiveWindow() : null;
  }

  /** The number of batches that may currently be unanswered. */
  get windowSize(): number {
    return this.adaptive?.size ?? (this.options.maxInFlight as number);
  }

  /** The commands that are collected and not dispatched. */
  get gathered(): readonly Command[] {
    return this.pending;
  }

  /** The number of collected commands and of those in the open batch. */
  get size(): number {
    return this.pending.length + (this.open?.size ?? 0);
  }

  /**
   * Whether commands may be held back behind unanswered batches: only while the connection is ready. Otherwise
   * they are dispatched, and wait or fail under the link's rules.
   */
  hold(isHolding: boolean): void {
    // For example, a lazy connection begins to connect: the batch of the turn stays open.
    if (isHolding === this.isHolding) return;
    this.isHolding = isHolding;
    // A batch may make the link reconnect, which the link reports before it has accepted the batch. The
    // remaining commands are sent afterwards.
    if (this.isSending) this.isFlushDue = !isHolding;
    else if (!isHolding) this.flush();
  }

  dispatch(command: Command): void {
    const { open } = this;
    // The same as below, in half the time, for most commands. No command is collected while a batch is open.
    if (open !== null && this.isPlain && (command.spec.flags & MAY_GO_ALONE) === 0) {
      // With an adaptive window, the reply to the first command counts as the end of the batch.
      if (this.adaptive === null) open.add(command);
      else open.size++;
      this.next.dispatch(command);
      return;
    }
    const { ignored, merging } = this.options;
    if (goesAlone(command.spec, command.args, ignored)) this.flush();
    else if (merging === null && this.pending.length === 0 && this.mayJoin)
      this.join(this.openBatch(), command);
    else {
      this.collect(command);
      return;
    }
    this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.flush();
    this.next.dispatchBatch(commands);
  }

  /** Dispatches all collected commands, regardless of those in flight, and ends the batch. */
  flush(): void {
    while (this.pending.length > 0) this.send();
    this.close();
  }

  private collect(command: Command): void {
    const { pending } = this;
    pending.push(command);
    if (hooks.gathered !== null && this.gatheredFromMs === 0) this.gatheredFromMs = clockMs();
    const { pieceSize } = this.options;
    const isLong = pending.length >= pieceSize * PIECES_GATHERED;
    if (isLong && this.isHolding && this.mayJoin && pending.every(isUnrouted)) this.send(false, pieceSize);
    this.scheduleTurnEnd();
  }

  /** Another command may be dispatched: it joins the open batch, or begins one. */
  private get mayJoin(): boolean {
    return this.open !== null || !this.isHolding || this.inFlight < this.windowSize;
  }

  private scheduleTurnEnd(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    atTurnEnd(this.onTurnEnd);
  }

  private sendWhatMayGo(isHeld = false): void {
    while (this.pending.length > 0 && this.mayJoin) this.send(isHeld);
  }

  /**
   * @param isHeld The commands had to wait for the reply to another batch.
   * @param most The most commands to dispatch; the rest of the turn follows.
   */
  private send(isHeld = false, most = Number.POSITIVE_INFINITY): void {
    const { pending } = this;
    const batch = this.openBatch();
    const sent: Command[] = [];
    let count = 0;
    while (count < pending.length && sent.length < most && this.open === batch) {
      const command = pending[count++] as Command;
      if (command.isSettled) continue;
      this.join(batch, command);
      sent.push(command);
    }
    this.pending = count === pending.length ? [] : pending.slice(count);
    if (sent.length < count) this.options.onGivenUp?.();
    if (sent.length === 0) return;
    batch.isHeld = isHeld;
    const isNested = this.isSending;
    this.isSending = true;
    this.next.dispatchBatch(sent);
    this.isSending = isNested;
    if (!this.isFlushDue || isNested) return;
    this.isFlushDue = false;
    this.flush();
  }

  /** The batch that the next command joins. It counts as unanswered until it is closed. */
  private openBatch(): Batch {
    if (this.open !== null) return this.open;
    this.scheduleTurnEnd();
    this.inFlight++;
    const { adaptive } = this;
    const sentAtMs = adaptive === null ? 0 : clockMs();
    const onDone = adaptive === null ? this.onBatchDone : () => this.measure(adaptive, batch, sentAtMs);
    const batch: Batch = new Batch(BatchKind.Automatic, 1, onDone);
    batch.merging = this.options.merging;
    this.open = batch;
    this.openBytes = 0;
    const fromMs = this.gatheredFromMs;
    if (hooks.gathered !== null) this.options.onGathered?.(fromMs === 0 ? 0 : clockMs() - fromMs);
    this.gatheredFromMs = 0;
    return batch;
  }

  private join(batch: Batch, command: Command): void {
    const { maxCommands, maxBytes } = this.options;
    batch.add(command);
    if (maxBytes !== Number.POSITIVE_INFINITY) for (const arg of command.args) this.openBytes += arg.length;
    if (batch.size >= maxCommands || this.openBytes >= maxBytes) this.close();
  }

  /** Ends the batch: further commands belong to the next one. */
  private close(): void {
    const { open } = this;
    this.open = null;
    open?.settleOne();
  }

  private measure(window: AdaptiveWindow, batch: Batch, sentAtMs: number): void {
    const nowMs = clockMs();
    // Commands that are given up end without a round trip.
    if (batch.isAnswered) window.note(nowMs - sentAtMs, nowMs);
    this.onBatchDone();
  }
}
