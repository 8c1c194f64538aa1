/**
 * The slots that the connection for large values has. A slot is always in one place: it moves here
 * only while no lane has anything of it, and what follows comes here too until all is answered.
 */

import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { PlainCalls } from "../command/plain-calls";
import { ReplyError } from "../errors";
import type { Reply } from "../protocol/resp-types";
import { microtask } from "../util/scheduling";
import type { Fences } from "./fences";
import type { Lane } from "./lane";
import { Placement, placementOf } from "./lane-rule";
import { areLargeRequests, isLargeReply, isRead, LargeCalls } from "./large-calls";

/** Commands from which an explicit pipeline is large. */
const LARGE_PIPELINE = 1000;

export class BulkSlots {
  /** Unanswered commands here that have keys of the slot. */
  private readonly counts = new Map<number, number>();
  /** Slots of commands that have ended without an answer, while the server may be at work on them. */
  private readonly doubted: (readonly number[])[] = [];
  readonly large = new LargeCalls();

  constructor(
    readonly lane: Lane,
    private readonly lanes: readonly Lane[],
    private readonly fences: Fences,
  ) {}

  /** It has something of one of the slots. */
  has(slots: readonly number[]): boolean {
    if (this.counts.size === 0) return false;
    for (const slot of slots) if (this.counts.has(slot)) return true;
    return false;
  }

  /** Those of the slots of which it has nothing. */
  foreign(slots: readonly number[]): number[] {
    return slots.filter((slot) => !this.counts.has(slot));
  }

  /** The commands are large, or their callers say so. */
  wants(commands: readonly Command[]): boolean {
    for (const command of commands) {
      if (command.extra?.isBulk === true || (isRead(command) && this.large.has(command))) return true;
    }
    return areLargeRequests(commands);
  }

  /** An explicit pipeline is large. */
  wantsPipeline(commands: readonly Command[]): boolean {
    return commands.length >= LARGE_PIPELINE || this.wants(commands);
  }

  wantsCalls(calls: PlainCalls): boolean {
    return calls.length >= LARGE_PIPELINE || !this.large.isEmpty;
  }

  /** No lane has anything of the slots. */
  mayTake(slots: readonly number[]): boolean {
    if (slots.length === 0) return true;
    const wanted = new Set(slots);
    const own: number[] = [];
    const isConcerned = (one: Command | PlainCalls): boolean => {
      // The keys of plain calls have not been looked at.
      if (one instanceof PlainCalls) return true;
      return placementOf(one, own) === Placement.Keyed && own.some((slot) => wanted.has(slot));
    };
    for (const lane of this.lanes) {
      if (lane.isIdle) continue;
      for (const one of lane.pending()) if (isConcerned(one)) return false;
    }
    return true;
  }

  /** A command comes here. */
  take(command: Command, slots: readonly number[]): void {
    if (slots.length === 0) return;
    for (const slot of slots) this.counts.set(slot, (this.counts.get(slot) ?? 0) + 1);
    command.ensureExtra().addHook(new Stay(this, command, [...slots]));
  }

  /** A command goes to another lane: its reply may be large. */
  watch(command: Command): void {
    if (isRead(command)) command.ensureExtra().addHook(new SizeHook(this.large, command));
  }

  leave(slots: readonly number[]): void {
    for (const slot of slots) {
      const left = (this.counts.get(slot) ?? 1) - 1;
      if (left > 0) this.counts.set(slot, left);
      else this.counts.delete(slot);
    }
  }

  doubt(slots: readonly number[]): void {
    this.doubted.push(slots);
    // Not amid the end of a connection, when what it leaves is nowhere.
    microtask(() => this.settleDoubts());
  }

  /** Finds out about commands that have ended without an answer. A fence tells of those alone that it was put behind. */
  settleDoubts(): void {
    const count = this.doubted.length;
    if (count === 0) return;
    if (this.lane.isIdle) this.leaveDoubted(count);
    else {
      this.fences.ask(this.lane, () => {
        this.leaveDoubted(count);
        this.settleDoubts();
      });
    }
  }

  private leaveDoubted(count: number): void {
    for (const slots of this.doubted.splice(0, count)) this.leave(slots);
  }
}

/** A command that has slots at the bulk lane until it is answered. */
class Stay implements SettleHook {
  constructor(
    private readonly bulk: BulkSlots,
    private readonly command: Command,
    private readonly slots: readonly number[],
  ) {}

  onFulfilled(value: unknown): void {
    const { bulk, command, slots } = this;
    if (isRead(command)) bulk.large.note(command, isLargeReply(value as Reply));
    if (command.extra?.isLeftBlocked === true) bulk.doubt(slots);
    else bulk.leave(slots);
  }

  onFailed(error: Error): void {
    if (error instanceof ReplyError) this.bulk.leave(this.slots);
    else this.bulk.doubt(this.slots);
  }
}

/** Looks at the size of a reply. */
class SizeHook implements SettleHook {
  constructor(
    private readonly large: LargeCalls,
    private readonly command: Command,
  ) {}

  onFulfilled(value: unknown): void {
    this.large.note(this.command, isLargeReply(value as Reply));
  }

  onFailed(): void {}
}
