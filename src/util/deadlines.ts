/**
 * Time limits for many operations with one coarse timer: it ticks every 8 ms while a limit is pending and not
 * at all otherwise. A limit expires at most 10 ms late and needs no timer of its own. Setting and cancelling
 * are O(1).
 */

import { sharesTimers } from "./runtime";
import { clockMs, Delay, isClockFaked, startTimer, stopTimer } from "./scheduling";

/** Timers count whole milliseconds and are one or two milliseconds late. */
const TICK_MS = 8;

const NO_TICK = -1;

/** An object with a time limit. */
export interface Expiring {
  onExpired(): void;
}

/** A scheduled time limit; pass it to `cancel`. */
export class Deadline {
  /** Its index in the list of its tick; -1 once expired or cancelled. */
  position = 0;
  /** The timer of this limit, used instead of a tick: under a faked clock, and if timers are not shared. */
  alone: Delay | null = null;

  constructor(
    readonly tick: number,
    readonly target: Expiring,
  ) {}
}

/** The clock and the timers of `Deadlines`. */
export interface TimeSource {
  clockMs(): number;
  startTimer(work: () => void, delayMs: number): NodeJS.Timeout;
  stopTimer(timer: NodeJS.Timeout | undefined): void;
}

export class Deadlines {
  private readonly ticks = new Map<number, Deadline[]>();
  private count = 0;
  private timer: NodeJS.Timeout | undefined;
  private lastTick = 0;
  /** The list that was used last; an empty one is kept for the next limit of its tick. */
  private latest: Deadline[] = [];
  private latestTick = -1;

  constructor(
    private readonly time: TimeSource,
    /** Otherwise each limit has its own timer. */
    private readonly isShared: boolean = true,
  ) {}

  /** Calls `target.onExpired()` once, `delayMs` from now unless cancelled before. */
  schedule(target: Expiring, delayMs: number): Deadline {
    if (!this.isShared) return scheduleAlone(target, delayMs);
    // The tick after the limit: never early, and never a tick that has passed already.
    const tick = Math.floor((this.time.clockMs() + Math.max(0, delayMs)) / TICK_MS) + 1;
    const deadline = new Deadline(tick, target);
    if (tick !== this.latestTick) this.turnTo(tick);
    deadline.position = this.latest.push(deadline) - 1;
    if (this.count++ === 0) this.start();
    return deadline;
  }

  /** Like `schedule`, for a limit that a user has set: under a faked clock it is exact by that clock. */
  scheduleForUser(target: Expiring, delayMs: number): Deadline {
    return isClockFaked() ? scheduleAlone(target, delayMs) : this.schedule(target, delayMs);
  }

  cancel(deadline: Deadline): void {
    if (deadline.position < 0) return;
    if (deadline.alone !== null) {
      deadline.position = -1;
      deadline.alone.stop();
      return;
    }
    const list = this.ticks.get(deadline.tick);
    if (list !== undefined) {
      // Keeps the list dense, so that settled commands are not retained until their tick.
      const last = list.pop();
      if (last !== undefined && last !== deadline) {
        list[deadline.position] = last;
        last.position = deadline.position;
      }
      if (list.length === 0 && list !== this.latest) this.ticks.delete(deadline.tick);
    }
    this.settle(deadline);
  }

  /** Removes empty lists, so that long limits of quickly answered calls leave no list behind. */
  private turnTo(tick: number): void {
    if (this.latest.length === 0) this.ticks.delete(this.latestTick);
    this.latest = this.ticks.get(tick) ?? [];
    this.latestTick = tick;
    this.ticks.set(tick, this.latest);
  }

  private start(): void {
    this.lastTick = Math.floor(this.time.clockMs() / TICK_MS);
    this.wind();
  }

  /** Until the end of the current tick: an unaligned timer would add up to one tick more. */
  private wind(): void {
    this.time.stopTimer(this.timer);
    const leftMs = TICK_MS - (this.time.clockMs() % TICK_MS);
    this.timer = this.time.startTimer(() => {
      this.wind();
      this.expire(Math.floor(this.time.clockMs() / TICK_MS));
    }, Math.ceil(leftMs));
  }

  private expire(now: number): void {
    // Ticks are in a map, not a ring: after a long pause only existing ones are visited.
    if (now - this.lastTick > this.ticks.size) {
      for (const tick of [...this.ticks.keys()].sort((a, b) => a - b)) {
        if (tick <= now) this.expireTick(tick);
      }
    } else for (let tick = this.lastTick + 1; tick <= now; tick++) this.expireTick(tick);
    this.lastTick = now;
  }

  private expireTick(tick: number): void {
    const list = this.ticks.get(tick);
    if (list === undefined) return;
    this.ticks.delete(tick);
    if (tick === this.latestTick) this.forgetLatest();
    for (const deadline of list) {
      if (deadline.position < 0) continue;
      this.settle(deadline);
      deadline.target.onExpired();
    }
  }

  private forgetLatest(): void {
    this.latest = [];
    this.latestTick = -1;
  }

  private settle(deadline: Deadline): void {
    deadline.position = -1;
    if (--this.count === 0) {
      this.time.stopTimer(this.timer);
      this.timer = undefined;
      this.ticks.clear();
      this.forgetLatest();
    }
  }
}

function scheduleAlone(target: Expiring, delayMs: number): Deadline {
  const deadline = new Deadline(NO_TICK, target);
  deadline.alone = new Delay(() => {
    deadline.position = -1;
    target.onExpired();
  }, delayMs);
  return deadline;
}

/** The one instance of the process. */
export const deadlines = new Deadlines({ clockMs, startTimer, stopTimer }, sharesTimers);
