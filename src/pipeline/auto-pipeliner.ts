/**
 * Divides the commands of one connection into batches and limits how many of them are unanswered.
 * A batch is open from its first command until the end of the event-loop turn. Commands of an open
 * batch go on to the connection as they are issued, so the connection decides when they are written.
 * While `maxInFlight` batches are unanswered, commands gather. When the last reply of one arrives,
 * the gathered commands are handed on at once as the next batch, which the callers that were
 * answered by the same read still join: callers that are answered by several reads stay together.
 *
 *   open:      | a b c ... end of the turn |--- unanswered ---| last reply
 *   gathered:                              | d e f            | handed on; g h join until the turn ends
 *
 * With merging, the commands of a turn are handed on at its end, in pieces if there are many hundreds:
 * only commands that are handed on together are merged.
 *
 * A command that may not wait, and every explicit batch, first flushes what is gathered: the order of
 * issue is the order of sending. Each command settles on its own reply.
 */

import { Batch, BatchKind, type BatchMerging } from "../command/batch";
import type { Command } from "../command/command";
import { goesAlone } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
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

/** A remaining piece is handed on only if it is half as large: commands merge best at the end of what is sent. */
const PIECES_GATHERED = 1.5;

export class AutoPipeliner implements Dispatcher {
  private pending: Command[] = [];
  /** The batch of the present turn, while it is not full. */
  private open: Batch | null = null;
  private openBytes = 0;
  /** Batches that are open or unanswered. */
  private inFlight = 0;
  private isBooked = false;
  private isHolding = false;
  private isSending = false;
  private isFlushDue = false;
  /** When the first of the gathered commands was issued; 0 if nobody listened then. */
  private gatheredFromMs = 0;
  private readonly onTurnEnd = (): void => {
    this.isBooked = false;
    this.sendWhatMayGo();
    this.close();
  };
  private readonly onBatchDone = (): void => {
    this.inFlight--;
    this.sendWhatMayGo(true);
  };
  private readonly merging: BatchMerging | null;
  private readonly adaptive: AdaptiveWindow | null;
  private readonly window: { readonly size: number };

  constructor(
    private readonly next: Dispatcher,
    private readonly options: AutoPipelinerOptions,
  ) {
    const { maxInFlight, merging } = options;
    this.merging = merging ?? null;
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

  /** Commands that are gathered, and those of the open batch. */
  get size(): number {
    return this.pending.length + (this.open?.size ?? 0);
  }

  /**
   * Whether commands may be held back behind unanswered batches: only while the connection is
   * ready. Otherwise they go on, to wait or fail under the link's rules.
   */
  hold(isHolding: boolean): void {
    // A lazy connection that begins to connect is not ready before and after: the batch of the turn stays open.
    if (isHolding === this.isHolding) return;
    this.isHolding = isHolding;
    // A link that is woken by a batch says so before it has taken the batch: the rest goes behind it.
    if (this.isSending) this.isFlushDue = !isHolding;
    else if (!isHolding) this.flush();
  }

  dispatch(command: Command): void {
    if (goesAlone(command.spec, command.args, this.options.ignored)) {
      this.flush();
      this.next.dispatch(command);
      return;
    }
    if (this.merging === null && this.mayJoin && this.pending.length === 0) {
      this.join(this.openBatch(), command);
      this.next.dispatch(command);
      return;
    }
    this.pending.push(command);
    if (hooks.gathered !== null && this.gatheredFromMs === 0) this.gatheredFromMs = clockMs();
    if (command.slot === UNROUTED && this.pending.length >= this.options.pieceSize * PIECES_GATHERED) {
      if (this.isHolding && this.mayJoin) this.send(false, this.options.pieceSize);
    }
    this.bookTurnEnd();
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.flush();
    this.next.dispatchBatch(commands);
  }

  /** Hands on all that is gathered, whatever is in flight, and ends the batch. */
  flush(): void {
    while (this.pending.length > 0) this.send();
    this.close();
  }

  /** Another command may be handed on: it joins the open batch, or begins one. */
  private get mayJoin(): boolean {
    return this.open !== null || !this.isHolding || this.inFlight < this.window.size;
  }

  private bookTurnEnd(): void {
    if (this.isBooked) return;
    this.isBooked = true;
    atTurnEnd(this.onTurnEnd);
  }

  private sendWhatMayGo(isHeld = false): void {
    while (this.pending.length > 0 && this.mayJoin) this.send(isHeld);
  }

  /**
   * @param isHeld The commands had to wait for the answer to another batch.
   * @param most Most commands that are handed on; the rest of the turn follows.
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
    batch.isFollowed = most !== Number.POSITIVE_INFINITY;
    this.handOn(sent);
  }

  private handOn(commands: readonly Command[]): void {
    const isNested = this.isSending;
    this.isSending = true;
    this.next.dispatchBatch(commands);
    this.isSending = isNested;
    if (!this.isFlushDue || isNested) return;
    this.isFlushDue = false;
    this.flush();
  }

  /** The batch that the next command joins. It counts as unanswered until it is closed. */
  private openBatch(): Batch {
    if (this.open !== null) return this.open;
    this.bookTurnEnd();
    this.inFlight++;
    const onDone = this.adaptive === null ? this.onBatchDone : this.measured(this.adaptive);
    const batch = new Batch(BatchKind.Automatic, 1, onDone);
    batch.merging = this.merging;
    this.open = batch;
    this.openBytes = 0;
    if (hooks.gathered !== null) this.reportGathered();
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

  private reportGathered(): void {
    const fromMs = this.gatheredFromMs;
    this.gatheredFromMs = 0;
    this.options.onGathered?.(fromMs === 0 ? 0 : clockMs() - fromMs);
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
