/**
 * Divides the commands of a client among several connections to one server so that what has to stay
 * in order does. Commands with keys go to the lane of their slots; commands that stand between all
 * others (`Placement.Barrier`) go to the main lane when the other lanes are done, and those lanes get
 * nothing before they are answered. What may not go yet is held, in order, and so is all behind it.
 *
 *   held ->  keyed    -> lane of the slots, unless a barrier is unanswered and the lane is not main
 *            free     -> main
 *            barrier  -> main, once every other lane is done: fences tell when
 *
 * A command whose keys lie in several lanes is a barrier. With a connection for large values a slot
 * is always in one place, a lane or that connection (see `BulkSlots`).
 */

import { BatchKind } from "../command/batch";
import { Command, issuedBy, Origin } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import type { PlainCalls } from "../command/plain-calls";
import { IGNORED } from "../command/promise-completion";
import { AbortError, ReplyError } from "../errors";
import { Deque } from "../util/deque";
import { microtask } from "../util/scheduling";
import { BulkSlots } from "./bulk-slots";
import { Fences } from "./fences";
import type { Lane, MainLane } from "./lane";
import { bindsToMain, isForAll, Placement, placementOf } from "./lane-rule";
import { waitOnAll } from "./wait-on-all";

/** One call: a single command, or what is left of a batch. */
interface Entry {
  readonly commands: readonly Command[];
  readonly isBatch: boolean;
}

const NONE: readonly Command[] = [];

const nothing = (): void => {};

export class Lanes implements Dispatcher {
  /** Those that slots are divided among, the main one first. */
  private readonly lanes: readonly Lane[];
  /** All but the main one. */
  private readonly others: readonly Lane[];
  private readonly bulk: BulkSlots | null;
  private readonly fences = new Fences(() => this.lookSoon());
  private readonly held = new Deque<Entry>();
  /** Commands that are held. */
  heldCount = 0;
  /** Barriers that the main lane has and that have not settled. */
  private unanswered = 0;
  /** Barriers of an earlier epoch do not count any more. */
  private epoch = 0;
  /** Barriers that have ended without an answer: the server may be at work on them. */
  private doubts = 0;
  /** A MULTI has ended before it went anywhere: its caller cannot know yet, and goes on. */
  private isRefusing = false;
  /** Something was set up on the main connection that the others do not have. */
  private isBound = false;
  private isPassing = false;
  /** Slots of the command that is being looked at. */
  private readonly slots: number[] = [];

  constructor(
    private readonly main: MainLane,
    further: readonly Lane[],
    bulk: Lane | null,
  ) {
    this.lanes = [main, ...further];
    this.others = bulk === null ? further : [...further, bulk];
    this.bulk = bulk === null ? null : new BulkSlots(bulk, this.lanes, this.fences);
  }

  // --- Dispatcher --------------------------------------------------------------------------

  dispatch(command: Command): void {
    if (this.isBusy) this.hold([command], false);
    else if (this.passSingle([command]).length > 0) this.hold([command], false);
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (this.isBusy) {
      this.hold(commands, true);
      return;
    }
    this.isPassing = true;
    const rest = this.passBatch(this.refuse(commands));
    this.isPassing = false;
    if (rest.length > 0) this.holdFirst(rest, true);
    if (this.held.length > 0) this.pump();
  }

  /** Only if all of them are of one lane; otherwise they come again as commands. */
  dispatchCalls(calls: PlainCalls): boolean {
    if (this.isBusy || this.bulk?.wantsCalls(calls) === true) return false;
    const lane = this.takesAll ? this.main : this.laneOfCalls(calls);
    if (lane === null || !this.mayGoTo(lane)) return false;
    this.ready(lane);
    return lane.dispatchCalls?.(calls) ?? false;
  }

  // --- what others ask and tell ------------------------------------------------------------

  /** A transaction or a WATCH is held: what comes now may belong to it. */
  get holdsTransaction(): boolean {
    const flags = CommandFlag.Multi | CommandFlag.Watch;
    return this.lastHeld(({ spec }) => (spec.flags & flags) !== 0) !== undefined;
  }

  /** The youngest held command that the test is true for. */
  lastHeld(isWanted: (command: Command) => boolean): Command | undefined {
    for (const { commands } of this.held.toArray().reverse()) {
      const found = commands.findLast(isWanted);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The held commands, in order. */
  pendingHeld(): Command[] {
    return this.held.toArray().flatMap(({ commands }) => commands);
  }

  /** Takes out those held commands that the test is true for, in order; the others stay held. */
  takeHeld(isWanted: (command: Command) => boolean): Command[] {
    const taken: Command[] = [];
    const entries = this.held.toArray();
    this.held.clear();
    this.heldCount = 0;
    for (const { commands, isBatch } of entries) {
      const left: Command[] = [];
      for (const command of commands) (isWanted(command) ? taken : left).push(command);
      if (left.length === 0) continue;
      this.held.push({ commands: left, isBatch });
      this.heldCount += left.length;
    }
    return taken;
  }

  /** Something has happened to a connection: what was waited for may be over, or has to be asked for again. */
  onChange(): void {
    this.fences.retry();
    this.lookSoon();
  }

  /** A command has left the main lane and goes on elsewhere: it may settle late. */
  onTaken(): void {
    if (this.unanswered === 0) return;
    this.epoch++;
    this.unanswered = 0;
    this.doubts++;
    this.onChange();
  }

  // --- holding -----------------------------------------------------------------------------

  /** Something waits, or is being handed on: what a caller issues then goes behind it. */
  private get isBusy(): boolean {
    return this.held.length > 0 || this.isPassing;
  }

  private hold(commands: readonly Command[], isBatch: boolean): void {
    this.held.push({ commands, isBatch });
    this.heldCount += commands.length;
    if (!this.isPassing) this.askForIdle();
  }

  private holdFirst(commands: readonly Command[], isBatch: boolean): void {
    this.held.unshift({ commands, isBatch });
    this.heldCount += commands.length;
  }

  /** Hands on what may go now. */
  private readonly pump = (): void => {
    if (this.isPassing) return;
    this.isPassing = true;
    for (let entry = this.held.shift(); entry !== undefined; entry = this.held.shift()) {
      const { commands, isBatch } = entry;
      this.heldCount -= commands.length;
      const rest = isBatch ? this.passBatch(this.refuse(commands)) : this.passSingle(commands);
      if (rest.length === 0) continue;
      this.holdFirst(rest, isBatch);
      break;
    }
    this.isPassing = false;
    if (this.held.length > 0) this.askForIdle();
  };

  private passSingle(commands: readonly Command[]): readonly Command[] {
    const command = commands[0] as Command;
    const isEnd = (command.spec.flags & TRANSACTION_END) !== 0;
    this.refuse(commands);
    if (!command.isSettled || (isEnd && this.main.takesAll)) {
      // EXEC goes on although it was given up, and finds that the transaction lacks a member.
      if (!this.passOne(command)) return commands;
    } else if (this.main.takesAll) this.main.loseMember();
    if (isEnd) this.isRefusing = false;
    if ((command.spec.flags & CommandFlag.Multi) !== 0 && command.isSettled) this.refuseOpened();
    return NONE;
  }

  /** Commands behind a MULTI that went nowhere, in the same run or held behind it, must not run outside of it. */
  private refuseOpened(): void {
    this.isRefusing = true;
    microtask(() => {
      this.isRefusing = false;
    });
  }

  private refuse(commands: readonly Command[]): readonly Command[] {
    if (!this.isRefusing) return commands;
    for (const command of commands) {
      if ((command.spec.flags & CommandFlag.Quit) === 0) command.fail(new AbortError());
    }
    return commands.filter((command) => !command.isSettled);
  }

  /** Puts fences behind what the first held command waits for. */
  private askForIdle(): void {
    const { fences, main } = this;
    for (const lane of this.others) if (!lane.isIdle) fences.ask(lane, nothing);
    if (this.doubts === 0 || this.unanswered > 0 || main.takesAll) return;
    const { doubts } = this;
    if (main.isIdle) this.settleDoubts(doubts);
    else fences.ask(main, () => this.settleDoubts(doubts));
  }

  /** Not amid a reply, which the lane counts as unanswered perhaps, nor amid the end of a connection. */
  private lookSoon(): void {
    microtask(() => {
      this.bulk?.settleDoubts();
      this.pump();
    });
  }

  /** Those that came after the fence are left. */
  private settleDoubts(count: number): void {
    if (this.doubts === count) this.doubts = 0;
    this.lookSoon();
  }

  // --- the way -----------------------------------------------------------------------------

  private get takesAll(): boolean {
    return this.isBound || this.main.takesAll;
  }

  private mayGoTo(lane: Lane): boolean {
    return lane === this.main || (this.unanswered === 0 && this.doubts === 0);
  }

  /** False if the command may not go yet. */
  private passOne(command: Command): boolean {
    const placement = placementOf(command, this.slots);
    const unit = [command];
    const lane = this.placeOf(placement, unit);
    if (lane === null) return this.passBarrier(unit, false);
    if (!this.mayGoTo(lane)) return false;
    this.note(unit, lane);
    this.ready(lane);
    lane.dispatch(command);
    return true;
  }

  /** Hands a batch on as far as it may go; returns the rest. What goes to one lane leaves contiguously. */
  private passBatch(commands: readonly Command[]): readonly Command[] {
    if (this.passLargePipeline(commands)) return NONE;
    const buckets = new Map<Lane, Command[]>();
    for (let start = 0; start < commands.length; ) {
      const end = endOfUnit(commands, start);
      const unit = commands.slice(start, end);
      const placement = this.lookAt(unit);
      // A command that is about to go has to be seen where it goes.
      if (this.bulk !== null && (this.bulk.has(this.slots) || this.bulk.wants(unit))) this.empty(buckets);
      const lane = this.placeOf(placement, unit);
      if (lane === null) this.empty(buckets);
      if (lane === null ? !this.passBarrier(unit, true) : !this.mayGoTo(lane)) {
        this.empty(buckets);
        return commands.slice(start);
      }
      if (lane !== null) {
        this.note(unit, lane);
        const bucket = buckets.get(lane);
        if (bucket === undefined) buckets.set(lane, unit);
        else bucket.push(...unit);
      }
      start = end;
    }
    this.empty(buckets);
    return NONE;
  }

  private empty(buckets: Map<Lane, Command[]>): void {
    for (const [lane, commands] of buckets) {
      buckets.delete(lane);
      this.ready(lane);
      lane.dispatchBatch(commands);
    }
  }

  /** A large pipeline of commands with keys, if none of them has to wait for what a lane has. */
  private passLargePipeline(commands: readonly Command[]): boolean {
    const { bulk } = this;
    if (bulk === null || commands[0]?.batch?.kind !== BatchKind.Pipeline || this.takesAll) return false;
    if (!this.mayGoTo(bulk.lane) || !bulk.wantsPipeline(commands)) return false;
    const all: number[] = [];
    for (const command of commands) {
      if (placementOf(command, this.slots) !== Placement.Keyed) return false;
      for (const slot of this.slots) all.push(slot);
    }
    if (!bulk.mayTake(all)) return false;
    for (const command of commands) {
      placementOf(command, this.slots);
      bulk.take(command, this.slots);
    }
    this.ready(bulk.lane);
    bulk.lane.dispatchBatch(commands);
    return true;
  }

  /** The placement of a command, or of a transaction with all its members. */
  private lookAt(unit: readonly Command[]): Placement {
    if (unit.length === 1) return placementOf(unit[0] as Command, this.slots);
    const all: number[] = [];
    for (const command of unit) {
      if ((command.spec.flags & FRAME) !== 0 || isAsking(command)) continue;
      const placement = placementOf(command, this.slots);
      if (placement === Placement.Barrier) return placement;
      for (const slot of this.slots) all.push(slot);
    }
    this.slots.length = 0;
    for (const slot of all) this.slots.push(slot);
    const isTransaction = unit.some(({ spec }) => (spec.flags & CommandFlag.Multi) !== 0);
    return all.length === 0 || (isTransaction && this.main.isWatched) ? Placement.Barrier : Placement.Keyed;
  }

  /** The lane that a command goes to; null if it stands between all. */
  private placeOf(placement: Placement, unit: readonly Command[]): Lane | null {
    if (placement === Placement.Barrier) return null;
    if (placement === Placement.Free || this.takesAll) return this.main;
    const { bulk, slots } = this;
    if (bulk !== null) {
      if (bulk.has(slots)) return bulk.mayTake(bulk.foreign(slots)) ? bulk.lane : null;
      if (this.mayGoTo(bulk.lane) && bulk.wants(unit) && bulk.mayTake(slots)) return bulk.lane;
    }
    return this.laneOf(slots);
  }

  /** The lane of all the slots, or null. */
  private laneOf(slots: readonly number[]): Lane | null {
    const count = this.lanes.length;
    const index = (slots[0] as number) % count;
    for (let i = 1; i < slots.length; i++) if ((slots[i] as number) % count !== index) return null;
    return this.lanes[index] as Lane;
  }

  private laneOfCalls(calls: PlainCalls): Lane | null {
    let lane: Lane | null = null;
    for (let index = 0; index < calls.length; index++) {
      const { slots } = this;
      if (placementOf(calls.view(index, IGNORED), slots) !== Placement.Keyed) return null;
      const own = this.bulk?.has(slots) === true ? null : this.laneOf(slots);
      if (own === null || (lane !== null && lane !== own)) return null;
      lane = own;
    }
    return lane;
  }

  /** The slots of what is looked at are at the lane. */
  private note(unit: readonly Command[], lane: Lane): void {
    const { bulk } = this;
    if (bulk === null) return;
    const last = unit[unit.length - 1] as Command;
    if (lane === bulk.lane) bulk.take(last, this.slots);
    else if (unit.length === 1) bulk.watch(last);
  }

  /** A lane follows the main one to another database. */
  private ready(lane: Lane): void {
    if (lane !== this.main && lane.db !== this.main.db) lane.useDb(this.main.db);
  }

  /** Hands on what stands between all others; false if it may not go yet. */
  private passBarrier(unit: readonly Command[], isBatch: boolean): boolean {
    const { main } = this;
    if (!this.takesAll && !this.areOthersIdle()) return false;
    const last = unit[unit.length - 1] as Command;
    // EXEC goes on when it was given up: what becomes of it only a fence tells.
    if (last.isSettled) this.doubts++;
    else this.unanswered++;
    last.ensureExtra().addHook(new BarrierHook(this.epoch, last, this.endOfBarrier));
    for (const command of unit) this.setUp(command);
    if ((last.spec.flags & CommandFlag.Waits) !== 0 && !this.takesAll)
      waitOnAll(last, [main, ...this.others]);
    else if (isBatch) main.dispatchBatch(unit);
    else main.dispatch(last);
    return true;
  }

  private areOthersIdle(): boolean {
    for (const lane of this.others) if (!lane.isIdle) return false;
    return true;
  }

  /** The state that a command makes of its connection has to be so on all of them, or all commands have to go where it is. */
  private setUp(command: Command): void {
    const { spec, args, isSettled } = command;
    if (isSettled) return;
    if (bindsToMain(command)) this.isBound = true;
    if ((spec.flags & CommandFlag.Reset) !== 0) this.isBound = false;
    if (!isForAll(command) || this.main.takesAll) return;
    for (const lane of this.others) {
      lane.dispatchBatch([issuedBy(Origin.Client, new Command(spec, [...args], false, IGNORED))]);
    }
  }

  private readonly endOfBarrier = (epoch: number, isAnswered: boolean): void => {
    if (epoch !== this.epoch) return;
    this.unanswered--;
    if (!isAnswered) this.doubts++;
    if (this.held.length > 0) this.lookSoon();
  };
}

/** MULTI and what ends it. */
const FRAME = CommandFlag.Multi | TRANSACTION_END;

/** Tells when a barrier has ended, and whether the server has answered it. */
class BarrierHook implements SettleHook {
  constructor(
    private readonly epoch: number,
    private readonly command: Command,
    private readonly onEnd: (epoch: number, isAnswered: boolean) => void,
  ) {}

  onFulfilled(): void {
    this.onEnd(this.epoch, this.command.extra?.isLeftBlocked !== true);
  }

  onFailed(error: Error): void {
    this.onEnd(this.epoch, error instanceof ReplyError);
  }
}

/** Commands that must not be divided: a transaction, and an ASKING with what it is for. */
function endOfUnit(commands: readonly Command[], start: number): number {
  const first = commands[start] as Command;
  if (isAsking(first) && start + 1 < commands.length) return endOfUnit(commands, start + 1);
  const { batch } = first;
  let end = start + 1;
  if (batch?.kind !== BatchKind.Transaction) return end;
  while (end < commands.length && commands[end]?.batch === batch) end++;
  return end;
}

function isAsking({ spec, origin }: Command): boolean {
  return origin === Origin.Client && spec.lowerName === "asking";
}
