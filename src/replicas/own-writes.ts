/**
 * The slots that this client has written recently (`readYourWrites`). A read of such a slot could miss the
 * write at a replica. A slot counts as written from the issue of a write until `windowMs` after its reply.
 * Keys of one slot share an entry, so the table has a fixed size. In doubt, a slot counts as written. The
 * writes of other clients are unknown.
 */

import type { Command } from "../command/command";
import type { CommandSpec } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { Effect, effectOf } from "../command/effects";
import { keyPositions } from "../command/key-positions";
import { isReplicaRead } from "../command/replica-read";
import { SLOT_COUNT, slotOfKey } from "../command/slot";
import type { Argument } from "../protocol/resp-types";
import { clockMs } from "../util/scheduling";

/** Writes whose keys are unknown. */
const EVERY_SLOT = SLOT_COUNT;
/** All writes together, for reads whose keys are unknown. */
const ANY_SLOT = SLOT_COUNT + 1;
const EVERY_KEY: readonly number[] = [EVERY_SLOT];

export class OwnWrites {
  /** Unanswered writes. */
  private readonly underWay = new Uint32Array(SLOT_COUNT + 2);
  private readonly recentUntilMs = new Float64Array(SLOT_COUNT + 2);

  constructor(private readonly windowMs: number) {}

  /** Whether a read could miss a write of this client at a replica. */
  concerns({ spec, args }: Command): boolean {
    const nowMs = clockMs();
    if (!this.isRecent(ANY_SLOT, nowMs)) return false;
    if (this.isRecent(EVERY_SLOT, nowMs)) return true;
    const positions = keyPositions(spec, args);
    // BY and GET of SORT_RO read keys that only the server knows.
    if (positions.length === 0 || (spec.lowerName === "sort_ro" && args.length > 1)) return true;
    return positions.some((at) => this.isRecent(slotOfKey(args[at] as Argument), nowMs));
  }

  /** A write has been issued. */
  begin(slots: readonly number[]): void {
    for (const slot of slots) this.count(slot, 1);
    this.count(ANY_SLOT, 1);
  }

  /** A write has settled. */
  settle(slots: readonly number[]): void {
    const untilMs = clockMs() + this.windowMs;
    for (const slot of slots) this.renew(slot, untilMs);
    this.renew(ANY_SLOT, untilMs);
  }

  /** Another server has the slot: its replicas receive keys that may have been written long ago. */
  noteMoved(slot: number): void {
    const untilMs = clockMs() + this.windowMs;
    this.recentUntilMs[slot] = untilMs;
    this.recentUntilMs[ANY_SLOT] = untilMs;
  }

  /** Sends a command directly to nodes of a cluster, and notes it if it is a write. */
  async cover<Result>(
    spec: CommandSpec,
    args: readonly Argument[],
    send: () => Promise<Result>,
  ): Promise<Result> {
    const effect = effectOf(spec, args);
    if (effect !== Effect.Keys && effect !== Effect.Everything) return send();
    this.begin(EVERY_KEY);
    try {
      return await send();
    } finally {
      this.settle(EVERY_KEY);
    }
  }

  private renew(slot: number, untilMs: number): void {
    this.count(slot, -1);
    this.recentUntilMs[slot] = untilMs;
  }

  private count(slot: number, change: 1 | -1): void {
    this.underWay[slot] = (this.underWay[slot] as number) + change;
  }

  private isRecent(slot: number, nowMs: number): boolean {
    return (this.underWay[slot] as number) > 0 || (this.recentUntilMs[slot] as number) > nowMs;
  }
}

/** Notes the writes of one connection. */
export class WriteNotes {
  /** The slots written since MULTI: EXEC runs these writes, after the replies to them. */
  private queued: Set<number> | null = null;

  constructor(private readonly writes: OwnWrites) {}

  /** A command is being dispatched. */
  note(command: Command): void {
    if (isReplicaRead(command)) return;
    switch (effectOf(command.spec, command.args)) {
      case Effect.Keys:
        this.begin(command, slotsOf(command));
        break;
      case Effect.Everything:
        this.begin(command, EVERY_KEY);
        break;
      case Effect.Multi:
        // The server refuses a MULTI within another one, and the transaction continues.
        this.queued ??= new Set();
        break;
      case Effect.Discard:
        this.queued = null;
        break;
      case Effect.Exec:
        this.end(command);
        break;
    }
  }

  private end(exec: Command): void {
    const { queued } = this;
    this.queued = null;
    if (queued !== null && queued.size > 0) this.begin(exec, [...queued]);
  }

  private begin(command: Command, slots: readonly number[]): void {
    const { writes, queued } = this;
    // Also after an error, because the write may have run.
    command.ensureExtra().addHook({ onSettled: () => writes.settle(slots) });
    if (queued !== null) for (const slot of slots) queued.add(slot);
    writes.begin(slots);
  }
}

function slotsOf({ spec, args }: Command): readonly number[] {
  const slots = keyPositions(spec, args).map((at) => slotOfKey(args[at] as Argument));
  return slots.length === 1 ? slots : [...new Set(slots)];
}

/** Notes the writes among the commands that it passes on. */
export class WriteObserver implements Dispatcher {
  private readonly notes: WriteNotes;

  constructor(
    /** Replaced when auto-pipelining is switched on or off. */
    public next: Dispatcher,
    writes: OwnWrites,
  ) {
    this.notes = new WriteNotes(writes);
  }

  dispatch(command: Command): void {
    this.notes.note(command);
    this.next.dispatch(command);
  }

  /** All are noted first: a read must not run after a later write of its batch. */
  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.notes.note(command);
    this.next.dispatchBatch(commands);
  }
}
