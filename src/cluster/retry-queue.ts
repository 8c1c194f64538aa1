/**
 * Where commands wait that a node gave back. While a slot has commands waiting, its gate is closed:
 * later commands of the slot line up behind them, so that the order of issue is the order of
 * sending. All of a slot leave together, when the one with the longest delay may; slots do not wait
 * for each other. Each reason has a room, each room one timer.
 *
 *   room:  | returned, in the order of their replies | arrivals since the gate closed |
 *
 * What returns was sent before the gate closed, so it is older than every arrival. Commands
 * answered TRYAGAIN wait without closing the gate: their slot works for everybody else.
 */

import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { Delay, userClockMs } from "../util/scheduling";
import type { ClusterNode } from "./cluster-node";

export const WaitReason = {
  /** The connection was lost or cannot be made. */
  Failover: 0,
  ClusterDown: 1,
  Moved: 2,
  TryAgain: 3,
} as const;
export type WaitReason = (typeof WaitReason)[keyof typeof WaitReason];

/** A command that the old owner never answers cannot hold its slot for longer. */
const ORDER_LIMIT_MS = 1000;

/** Slots that may go within so many milliseconds go together. */
const TOGETHER_MS = 2;

interface Wait {
  readonly delayMs: number;
  readonly dueMs: number;
}

/** Why and how long a slot waits when it is let out of the room that kept its order. */
interface DelayedSlot {
  readonly reason: WaitReason;
  readonly wait: Wait;
}

class Waiting {
  returned: Command[] = [];
  arrivals: Command[] = [];
  readonly slots = new Set<number>();
  /** How long those of a slot wait, or a single command whose slot is open. */
  readonly waits = new Map<number | Command, Wait>();
  timer: Delay | null = null;
  /** When the timer fires. */
  opensAtMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.returned.length + this.arrivals.length;
  }
}

/**
 * Later commands of a moved slot wait until its markers are answered: the last commands that were given to former
 * owners, and those on their way to a node that may send them on.
 */
class OrderHold extends Waiting {
  /** Slots whose commands have come back for a reason of their own, and have its delay before them. */
  readonly delayed = new Map<number, DelayedSlot>();

  readonly markers = new Set<Command>();
  /** Redirected commands that came back and go before all that waits. */
  readonly front: Command[] = [];
  /** Slots of which redirected commands are held back. */
  readonly held = new Set<number>();

  /** Whether earlier commands of the slot are held; one that was travelling is older than all but those in front. */
  holdsBefore(slot: number, wasTravelling: boolean): boolean {
    if (!this.held.has(slot)) return false;
    return !wasTravelling || this.front.some((command) => command.slot === slot);
  }

  note(slot: number, reason: WaitReason, delayMs: number): void {
    const before = this.delayed.get(slot);
    if (before !== undefined && before.wait.delayMs >= delayMs) return;
    this.delayed.set(slot, { reason, wait: { delayMs, dueMs: userClockMs() + delayMs } });
  }
}

/** Redirected commands of a slot that are not answered, and the node that they were sent to. */
interface Travellers {
  node: ClusterNode;
  readonly commands: Set<Command>;
}

/** A marker has been answered. */
class MarkerHook implements SettleHook {
  constructor(private readonly onSettled: () => void) {}

  onFulfilled(): void {
    this.onSettled();
  }

  onFailed(): void {
    this.onSettled();
  }
}

export class RetryQueue {
  private readonly rooms = [new Waiting(), new Waiting(), new Waiting(), new Waiting()] as const;
  /** Rooms of closed gates, by slot. */
  private readonly gates = new Map<number, Waiting>();
  private readonly markers = new Map<Command, Set<OrderHold>>();
  private readonly travellers = new Map<number, Travellers>();
  /** The redirected command that came back last. */
  private arrived: Command | null = null;

  /** `leave` sends what is let out, in order. */
  constructor(private readonly leave: (commands: readonly Command[]) => void) {}

  /** Commands that wait. */
  get size(): number {
    let size = 0;
    for (const room of new Set<Waiting>([...this.rooms, ...this.gates.values()])) size += room.size;
    return size;
  }

  /** True while commands of the slot must line up. */
  isClosed(slot: number): boolean {
    return this.gates.size !== 0 && this.gates.has(slot);
  }

  /** A new command of a slot whose gate is closed. */
  lineUp(command: Command): void {
    this.gates.get(command.slot)?.arrivals.push(command);
  }

  /** A command that a node gave back. */
  giveBack(command: Command, reason: WaitReason, delayMs: number): void {
    const own = this.rooms[reason];
    const room = this.gates.get(command.slot) ?? own;
    room.returned.push(command);
    if (room === own && reason !== WaitReason.TryAgain) this.close(command.slot, room);
    if (room instanceof OrderHold) {
      if (reason !== WaitReason.Moved || delayMs > 0) room.note(command.slot, reason, delayMs);
      return;
    }
    const key = this.gates.has(command.slot) ? command.slot : command;
    this.postpone(room, key, delayMs);
  }

  /** Closes the gate for a command that cannot be sent now, with the same delay as those given back. */
  arrive(command: Command, reason: WaitReason, delayMs: number): void {
    const room = this.rooms[reason];
    this.close(command.slot, room);
    room.arrivals.push(command);
    const key = this.gates.has(command.slot) ? command.slot : command;
    this.postpone(room, key, delayMs);
  }

  /**
   * The slot has moved: new commands wait until `last` has been answered, the youngest command that its old owner was
   * given, or one that is on its way to a node that is not the owner. Several such commands are waited for together.
   */
  keepOrder(slot: number, last: Command): void {
    const gate = this.gates.get(slot);
    if (gate instanceof OrderHold) {
      this.mark(gate, last);
      return;
    }
    if (gate !== undefined) return;
    const known = this.markers.get(last);
    let room = known === undefined ? undefined : [...known].find(({ markers }) => markers.size === 1);
    if (room === undefined) {
      const made = new OrderHold();
      made.timer = new Delay(() => this.release(made), ORDER_LIMIT_MS);
      this.mark(made, last);
      room = made;
    }
    this.close(slot, room);
  }

  /** A node gave the command back: if it was redirected to there, it is on its way no longer. */
  endTravel(command: Command): void {
    if (this.travellers.size === 0) return;
    const wasTravelling = this.travellers.get(command.slot)?.commands.delete(command) === true;
    this.arrived = wasTravelling ? command : null;
  }

  /**
   * A command that was redirected wants to go to `target`. True if it may now: all earlier ones of its slot that were
   * redirected are at the same node. Else it is held until they are answered or come back. Later commands of the slot
   * wait for all of them.
   */
  mayTravel(command: Command, target: ClusterNode): boolean {
    const { slot } = command;
    const others = this.travellers.get(slot);
    const wasTravelling = this.arrived === command;
    const isAhead = others !== undefined && others.commands.size > 0 && others.node !== target;
    const gate = this.gates.get(slot);
    const isBehind = gate instanceof OrderHold && gate.holdsBefore(slot, wasTravelling);
    if (!isAhead && !isBehind) return true;
    for (const other of isAhead ? others.commands : []) this.keepOrder(slot, other);
    const room = this.gates.get(slot);
    if (!(room instanceof OrderHold)) return true;
    room.held.add(slot);
    (wasTravelling ? room.front : room.returned).push(command);
    return false;
  }

  /** A redirected command was sent to `node`. */
  travels(command: Command, node: ClusterNode): void {
    const { slot } = command;
    // One that blocks may take for ever, and waits for what others do.
    if (slot < 0 || command.isSettled || (command.spec.flags & CommandFlag.Blocking) !== 0) return;
    const known = this.travellers.get(slot);
    if (known === undefined) this.travellers.set(slot, { node, commands: new Set([command]) });
    else {
      known.node = node;
      known.commands.add(command);
    }
    this.keepOrder(slot, command);
  }

  /** True if returning commands of the slot must wait behind others that returned before. */
  hasReturned(slot: number): boolean {
    const room = this.gates.get(slot);
    return room !== undefined && !(room instanceof OrderHold);
  }

  /** A command was given back by the node that it was sent to: whoever waited for it goes on. */
  onReturned(command: Command): void {
    if (this.markers.size === 0) return;
    const travellers = this.travellers.get(command.slot);
    // Sent on already: it is waited for until it is answered there.
    if (travellers?.commands.has(command) !== true) this.pass(command);
  }

  /** These slots have new owners: commands of them may try at once; others keep their delays. */
  onNews(slots: Iterable<number>): void {
    const { Failover, ClusterDown } = WaitReason;
    const concerned = new Set<Waiting>();
    for (const slot of slots) {
      const room = this.gates.get(slot);
      if (room === undefined || (room !== this.rooms[Failover] && room !== this.rooms[ClusterDown])) continue;
      const wait = room.waits.get(slot);
      if (wait === undefined) continue;
      room.waits.set(slot, { delayMs: wait.delayMs, dueMs: 0 });
      concerned.add(room);
    }
    for (const room of concerned) this.openDue(room);
  }

  /** Empties all rooms; what was in them, oldest first. */
  takeAll(): Command[] {
    const rooms = new Set<Waiting>([...this.rooms, ...this.gates.values()]);
    const all: Command[] = [];
    for (const room of rooms) if (room instanceof OrderHold) all.push(...room.front.splice(0));
    for (const room of rooms) all.push(...room.returned);
    for (const room of rooms) all.push(...room.arrivals);
    for (const room of rooms) this.empty(room);
    this.markers.clear();
    this.travellers.clear();
    return all.filter(isWaiting);
  }

  /** Only a longer delay than that of who waits already makes all of them wait longer. */
  private postpone(room: Waiting, key: number | Command, delayMs: number): void {
    const wait = room.waits.get(key);
    if (wait !== undefined && wait.delayMs >= delayMs) return;
    this.keep(room, key, { delayMs, dueMs: userClockMs() + delayMs });
  }

  private keep(room: Waiting, key: number | Command, wait: Wait): void {
    room.waits.set(key, wait);
    if (wait.dueMs >= room.opensAtMs) return;
    room.timer?.stop();
    room.opensAtMs = wait.dueMs;
    room.timer = new Delay(() => this.openDue(room), Math.min(wait.delayMs, wait.dueMs - userClockMs()));
  }

  /** Lets those out whose time has come. */
  private openDue(room: Waiting): void {
    const all = [room.returned, room.arrivals] as const;
    const waits = new Map(room.waits);
    // Those that are nearly due leave too, lest each slot has a write of its own.
    const nowMs = userClockMs() + TOGETHER_MS;
    const keyOf = (command: Command): number | Command => (waits.has(command) ? command : command.slot);
    const isDue = (command: Command): boolean => isOver(waits.get(keyOf(command)), nowMs);
    this.empty(room);
    const [returned, arrivals] = all.map((part) => part.filter((one) => !isDue(one) && isWaiting(one)));
    Object.assign(room, { returned, arrivals });
    for (const command of [...room.returned, ...room.arrivals]) {
      if (keyOf(command) === command.slot) this.close(command.slot, room);
      this.keep(room, keyOf(command), waits.get(keyOf(command)) as Wait);
    }
    const leaving = all.flatMap((part) => part.filter((one) => isDue(one) && isWaiting(one)));
    if (leaving.length > 0) this.leave(leaving);
  }

  private close(slot: number, room: Waiting): void {
    if (slot < 0 || this.gates.has(slot)) return;
    this.gates.set(slot, room);
    room.slots.add(slot);
  }

  private mark(room: OrderHold, marker: Command): void {
    if (room.markers.has(marker)) return;
    room.markers.add(marker);
    const rooms = this.markers.get(marker);
    if (rooms !== undefined) rooms.add(room);
    else {
      this.markers.set(marker, new Set([room]));
      marker.ensureExtra().addHook(new MarkerHook(() => this.pass(marker)));
    }
  }

  private pass(marker: Command): void {
    const rooms = this.markers.get(marker);
    if (rooms === undefined) return;
    this.markers.delete(marker);
    if (marker.isSettled) this.travellers.get(marker.slot)?.commands.delete(marker);
    for (const room of rooms) {
      room.markers.delete(marker);
      if (room.markers.size === 0) this.release(room);
    }
  }

  private release(room: OrderHold): void {
    for (const marker of room.markers) {
      const rooms = this.markers.get(marker);
      rooms?.delete(room);
      if (rooms?.size === 0) this.markers.delete(marker);
    }
    room.markers.clear();
    const { front, arrivals, delayed } = room;
    const returned = [...front.splice(0), ...room.returned];
    for (const slot of room.slots) this.travellers.delete(slot);
    room.held.clear();
    const leaving = [...returned, ...arrivals].filter((one) => isWaiting(one) && !delayed.has(one.slot));
    this.empty(room);
    for (const [slot, { reason, wait }] of delayed) {
      const target = this.rooms[reason];
      target.returned.push(...returned.filter((command) => command.slot === slot));
      target.arrivals.push(...arrivals.filter((command) => command.slot === slot));
      this.close(slot, target);
      this.keep(target, slot, wait);
    }
    if (leaving.length > 0) this.leave(leaving);
  }

  private empty(room: Waiting): void {
    room.timer?.stop();
    room.timer = null;
    room.opensAtMs = Number.POSITIVE_INFINITY;
    room.waits.clear();
    for (const slot of room.slots) this.gates.delete(slot);
    room.slots.clear();
    room.returned = [];
    room.arrivals = [];
  }
}

/** Not ended by a time limit meanwhile. A transaction is represented by the command that closes it. */
function isWaiting(command: Command): boolean {
  return !command.isSettled;
}

/** A wait that is longer than it was asked to be was begun by another clock, which is not faked any more. */
function isOver(wait: Wait | undefined, nowMs: number): boolean {
  return wait === undefined || wait.dueMs <= nowMs || wait.dueMs - nowMs > wait.delayMs;
}
