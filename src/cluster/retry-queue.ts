/**
 * Holds commands that a node returned. It keeps the order of each slot through every redirect and loss by one
 * rule: **all commands of a slot that are in flight are at one node.**
 *
 *   open ----- a command came back, or the slot has a new owner --------> held
 *     ^                                                                    |  new commands line up
 *     |                                                                    v
 *     '--- all went to the owner ---- sent <--- no command in flight any more, the delay is over
 *                                      |
 *                                      '-- not all, or elsewhere (ASK, a node that was named): held
 *
 * A held slot waits for two conditions (`HeldSlot`): the node that had its commands has answered or returned
 * them (`drain`), and the longest delay of the returned commands is over (`delay`). Returned commands
 * (`returned`) were sent before the slot was held, so they are older than the commands that lined up since
 * (`arrivals`). Slots do not wait for each other. A command answered TRYAGAIN waits alone, and so does one without a
 * slot: the slot keeps working for other commands.
 *
 * A node may refuse a command and serve the next one, for example when a failover ends between them. So a slot that
 * was not served is in doubt: its oldest command is sent alone, and its reply, even an error, opens the slot for the
 * others.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { Delay } from "../util/scheduling";
import { type NodeClient, UNHEARD_MS } from "./cluster-node";
import { membersOf, transactionOf } from "./cluster-transaction";
import { isServed } from "./redirect";

export type WaitReason =
  /** The owner is lost or cannot serve: a new owner ends the delay. */
  "not served" | "moved" | "try again";

export interface WaitTerms {
  readonly reason: WaitReason;
  readonly delayMs: number;
}

/** A command that a node returned. A transaction is represented by the command that closes it. */
export interface Returned extends WaitTerms {
  readonly command: Command;
}

/** The interval between checks of a node. Two checks in a row without a new reply mean that it is silent. */
const LOOK_MS = UNHEARD_MS / 2;

/** The commands of a slot that are still at a node; the slot waits for them while the node answers. */
class Drain {
  look: Delay | null = null;
  private head: Command | undefined;
  private wasSilent = false;

  constructor(
    readonly client: NodeClient,
    public last: Command,
  ) {
    this.head = headOf(client);
  }

  /**
   * Checks the node. Returns true if two checks in a row found no new reply. One check is not enough: after
   * the process was suspended, it precedes the replies that have arrived meanwhile.
   */
  isInVain(): boolean {
    const head = headOf(this.client);
    const { wasSilent } = this;
    this.wasSilent = head === this.head;
    this.head = head;
    return wasSilent && this.wasSilent;
  }
}

function headOf({ link }: NodeClient): Command | undefined {
  return link.connection?.queue.head();
}

class HeldSlot {
  returned: Command[] = [];
  /** New commands, sent after the returned ones. */
  arrivals: Command[] = [];
  /** The delay of the slot, with its length. If `isHastened`, a new owner of the slot ends it early. */
  delay: { readonly timer: Delay; readonly ms: number; readonly isHastened: boolean } | null = null;
  drain: Drain | null = null;
  /** A node did not serve the slot, and none of its commands has been answered since. */
  isInDoubt = false;

  constructor(readonly slot: number) {}

  get size(): number {
    return this.returned.length + this.arrivals.length;
  }

  endDelay(): void {
    this.delay?.timer.stop();
    this.delay = null;
  }

  endDrain(): void {
    this.drain?.look?.stop();
    this.drain = null;
  }

  /**
   * Removes the first commands that go to the same target; in doubt only the first one. The rest is younger than
   * any command that comes back.
   */
  takeRun(): Command[] {
    const all = [...this.returned, ...this.arrivals].filter(isWaiting);
    const way = askedAt(all[0]);
    const isAlone = this.isInDoubt && way === null;
    const end = isAlone ? 1 : all.findIndex((command) => askedAt(command) !== way);
    this.returned = [];
    this.arrivals = end < 0 ? [] : all.splice(end);
    return all;
  }
}

export interface RetryQueueDeps {
  readonly router: { sendAgain(commands: readonly Command[]): void };
  /** Commands have waited, or the cluster has changed: the router may try failed nodes again. */
  readonly pool: { forgetDown(): void };
}

export class RetryQueue {
  private readonly held = new Map<number, HeldSlot>();
  /** Commands that wait without holding a slot. */
  private readonly alone = new Map<Command, Delay>();
  /** The slots that wait for a command. */
  private readonly drains = new Map<Command, Set<HeldSlot>>();
  private readySlots = new Set<HeldSlot>();
  private readyAlone: Command[] = [];
  private isSending = false;
  private isPaused = true;

  constructor(private readonly deps: RetryQueueDeps) {}

  get size(): number {
    let { size } = this.alone;
    for (const slot of this.held.values()) size += slot.size;
    return size;
  }

  /** The waiting commands, including all members of transactions. */
  pending(): Command[] {
    const slots = [...this.held.values()].flatMap(({ returned, arrivals }) => [...returned, ...arrivals]);
    return [...this.alone.keys(), ...slots].flatMap(membersOf);
  }

  /** Commands wait for a delay, and not only for other commands of their slot. */
  get hasDelayed(): boolean {
    if (this.alone.size > 0) return true;
    for (const slot of this.held.values()) if (slot.size > 0 && slot.delay !== null) return true;
    return false;
  }

  isHeld(slot: number): boolean {
    return this.held.size !== 0 && this.held.has(slot);
  }

  /** Keeps a new command if its slot is held. Returns false if it may be sent. */
  lineUp(command: Command): boolean {
    const slot = this.held.get(command.slot);
    slot?.arrivals.push(command);
    return slot !== undefined;
  }

  /**
   * Takes commands that a node returned. `from` may have other commands of the same slots in flight. `gone`
   * contains every command that is no longer at the node, including members of transactions.
   */
  giveBack(returned: readonly Returned[], gone: readonly Command[], from: NodeClient | null): void {
    for (const one of returned) {
      const { command, reason, delayMs } = one;
      if (command.slot < 0 || reason === "try again") this.waitAlone(command, delayMs);
      else {
        if (from !== null) this.hold(command.slot, from);
        const slot = this.heldSlot(command.slot);
        slot.returned.push(command);
        this.postpone(slot, one);
      }
    }
    for (const command of gone) this.noteGone(command);
    this.sendReady();
  }

  /**
   * Takes commands of one slot, or one without a slot, that cannot be sent now. They precede all other
   * waiting commands of the slot.
   */
  putBack(commands: readonly Command[], terms: WaitTerms): void {
    const [first] = commands;
    if (first === undefined) return;
    if (first.slot < 0) this.waitAlone(first, terms.delayMs);
    else {
      const slot = this.heldSlot(first.slot);
      slot.returned.unshift(...commands);
      this.postpone(slot, terms);
    }
    this.sendReady();
  }

  /** If the node has commands of a slot in flight, holds the slot until they have ended. */
  hold(slot: number, client: NodeClient): void {
    if (slot < 0 || this.held.has(slot)) return;
    const last = client.lastOf(slot);
    if (last !== null) this.awaitLast(this.heldSlot(slot), client, last);
  }

  holdAll(slots: readonly number[], client: NodeClient): void {
    const youngest = client.youngest();
    for (const slot of slots) {
      const last = this.held.has(slot) ? undefined : youngest.get(slot);
      if (last !== undefined) this.awaitLast(this.heldSlot(slot), client, last);
    }
  }

  /** Holds a slot until the node has answered the slot's commands that are about to be sent there. */
  holdBehind(commands: readonly Command[], client: NodeClient): void {
    // A blocking command may take forever, because it waits for other commands.
    const last = commands.findLast((one) => !one.isSettled && (one.spec.flags & CommandFlag.Blocking) === 0);
    if (last !== undefined && last.slot >= 0) this.awaitLast(this.heldSlot(last.slot), client, last);
  }

  /** These slots have new owners: their commands may be sent immediately; others keep their delays. */
  onNewOwners(slots: Iterable<number>): void {
    for (const number of slots) {
      const slot = this.held.get(number);
      if (slot?.delay?.isHastened !== true) continue;
      slot.endDelay();
      this.reconsider(slot);
    }
    if (this.readySlots.size === 0) return;
    this.deps.pool.forgetDown();
    this.sendReady();
  }

  pause(): void {
    this.isPaused = true;
  }

  /** Sends everything. Targets named by nodes are dropped, because they belong to the time before the pause. */
  resume(): void {
    this.isPaused = false;
    const all = this.takeAll();
    for (const { extra } of all) if (extra?.trail) extra.trail.next = null;
    if (all.length > 0) this.deps.router.sendAgain(all);
  }

  takeAll(): Command[] {
    const slots = [...this.held.values()];
    const returned = slots.flatMap((slot) => slot.returned);
    const arrivals = slots.flatMap((slot) => slot.arrivals);
    const all = [...returned, ...this.readyAlone, ...this.alone.keys(), ...arrivals];
    for (const slot of slots) {
      slot.endDelay();
      slot.endDrain();
    }
    for (const delay of this.alone.values()) delay.stop();
    this.held.clear();
    this.alone.clear();
    this.drains.clear();
    this.readySlots.clear();
    this.readyAlone = [];
    return all.filter(isWaiting);
  }

  private heldSlot(number: number): HeldSlot {
    let slot = this.held.get(number);
    if (slot === undefined) this.held.set(number, (slot = new HeldSlot(number)));
    return slot;
  }

  private later(delayMs: number, work: () => void): Delay {
    return new Delay(() => {
      this.deps.pool.forgetDown();
      work();
      this.sendReady();
    }, delayMs);
  }

  private waitAlone(command: Command, delayMs: number): void {
    const goOn = (): void => {
      this.alone.delete(command);
      this.readyAlone.push(command);
    };
    if (delayMs === 0) goOn();
    else this.alone.set(command, this.later(delayMs, goOn));
  }

  /** The slot was not served. Only a delay that is longer than the current one extends the wait. */
  private postpone(slot: HeldSlot, { reason, delayMs }: WaitTerms): void {
    slot.isInDoubt = true;
    if (delayMs > (slot.delay?.ms ?? 0)) {
      const goOn = (): void => {
        slot.endDelay();
        this.reconsider(slot);
      };
      slot.endDelay();
      slot.delay = { timer: this.later(delayMs, goOn), ms: delayMs, isHastened: reason === "not served" };
    }
    this.reconsider(slot);
  }

  /** The slot waits until the node has answered or returned `last`, its youngest command of the slot. */
  private awaitLast(slot: HeldSlot, client: NodeClient, last: Command): void {
    if (slot.drain === null) {
      slot.drain = new Drain(client, last);
      this.watch(slot, slot.drain);
    } else {
      this.drains.get(slot.drain.last)?.delete(slot);
      slot.drain.last = last;
    }
    const slots = this.drains.get(last);
    if (slots !== undefined) slots.add(slot);
    else {
      this.drains.set(last, new Set([slot]));
      const onSettled = (error: Error | null): void => {
        this.noteGone(last, error === null || isServed(error));
        this.sendReady();
      };
      last.ensureExtra().addHook({ onSettled });
    }
  }

  private watch(slot: HeldSlot, drain: Drain): void {
    drain.look = this.later(LOOK_MS, () => {
      if (!drain.isInVain()) this.watch(slot, drain);
      else {
        this.drains.get(drain.last)?.delete(slot);
        slot.endDrain();
        this.reconsider(slot);
      }
    });
  }

  /**
   * A command is no longer at its node: slots that waited for it continue, or wait for the next older one.
   * When a command is answered, all older ones have been answered.
   */
  private noteGone(command: Command, isAnswered = false): void {
    const slots = this.drains.get(command);
    if (slots === undefined) return;
    this.drains.delete(command);
    for (const slot of slots) {
      const { drain } = slot;
      if (drain?.last !== command) continue;
      if (isAnswered && slot.returned.length === 0) slot.isInDoubt = false;
      // It may have been given up while older ones are still at the node: those are waited for next.
      const last = isAnswered ? null : drain.client.lastOf(slot.slot);
      if (last !== null) this.awaitLast(slot, drain.client, last);
      else {
        slot.endDrain();
        this.reconsider(slot);
      }
    }
  }

  private reconsider(slot: HeldSlot): void {
    if (slot.drain === null && slot.delay === null) this.readySlots.add(slot);
  }

  /** Sends the ready commands. Commands that are returned meanwhile are sent in the next round. */
  private sendReady(): void {
    if (this.isSending || this.isPaused) return;
    this.isSending = true;
    while (this.readySlots.size > 0 || this.readyAlone.length > 0) {
      const slots = this.readySlots;
      this.readySlots = new Set();
      const leaving = [...slots].flatMap((slot) => this.takeReady(slot));
      for (const command of this.readyAlone.splice(0)) {
        if (!this.lineUp(command) && isWaiting(command)) leaving.push(command);
      }
      if (leaving.length > 0) this.deps.router.sendAgain(leaving);
      // A command with another target follows immediately, unless its slot waits for the commands before it.
      for (const slot of slots) if (this.held.get(slot.slot) === slot) this.reconsider(slot);
    }
    this.isSending = false;
  }

  /** The commands of the slot that are sent together; none if the slot was held again since it became ready. */
  private takeReady(slot: HeldSlot): Command[] {
    if (this.held.get(slot.slot) !== slot || slot.drain !== null || slot.delay !== null) return [];
    const run = slot.takeRun();
    if (run.length === 0 || (slot.size === 0 && !slot.isInDoubt)) this.held.delete(slot.slot);
    return run;
  }
}

/** The target of a command sent with ASKING, or null: the owner of its slot. */
function askedAt(command: Command | undefined): string | null {
  const next = command?.extra?.trail?.next ?? null;
  return next?.isAsk ? `${next.host}:${next.port}` : null;
}

/** Whether the command has not settled. The router itself discards transactions that were given up. */
function isWaiting(command: Command): boolean {
  return !command.isSettled || transactionOf(command) !== null;
}
