/**
 * Time limits for many operations with one coarse timer, which ticks every 8 ms while a limit is pending. A limit
 * expires at most 10 ms late. Setting and cancelling are O(1).
 */

import { sharesTimers } from "./runtime";
import { clockMs, Delay, isClockFaked, startTimer, stopTimer } from "./scheduling";

/** Timers count whole milliseconds and are one or two milliseconds late. */
const TICK_MS = 8;

const NO_TICK = -1;

export interface Expiring {
  onExpired(): void;
}

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

class Deadlines {
  private readonly ticks = new Map<number, Deadline[]>();
  private timer: NodeJS.Timeout | undefined;
  private lastTick = 0;

  /** Calls `target.onExpired()` once, `delayMs` from now unless cancelled before. */
  schedule(target: Expiring, delayMs: number): Deadline {
    if (!sharesTimers) return scheduleAlone(target, delayMs);
    if (this.ticks.size === 0) this.start();
    // The tick after the limit: never early, and never a tick that has passed already.
    const tick = Math.floor((clockMs() + Math.max(0, delayMs)) / TICK_MS) + 1;
    const deadline = new Deadline(tick, target);
    const present = this.ticks.get(tick);
    if (present === undefined) this.ticks.set(tick, [deadline]);
    else deadline.position = present.push(deadline) - 1;
    return deadline;
  }

  /** Like `schedule`, for a limit that a user has set: under a faked clock it is exact by that clock. */
  scheduleForUser(target: Expiring, delayMs: number): Deadline {
    return isClockFaked() ? scheduleAlone(target, delayMs) : this.schedule(target, delayMs);
  }

  cancel(deadline: Deadline): void {
    const { position, tick } = deadline;
    if (position < 0) return;
    deadline.position = -1;
    deadline.alone?.stop();
    const limits = this.ticks.get(tick);
    if (limits === undefined) return;
    // Keeps the list dense, so that settled commands are not retained until their tick.
    const last = limits.pop() as Deadline;
    if (last !== deadline) {
      limits[position] = last;
      last.position = position;
    }
    if (limits.length === 0) this.remove(tick);
  }

  private start(): void {
    this.lastTick = Math.floor(clockMs() / TICK_MS);
    this.wind();
  }

  /** Starts a timer until the end of the current tick. An unaligned timer would add up to one tick. */
  private wind(): void {
    stopTimer(this.timer);
    const leftMs = TICK_MS - (clockMs() % TICK_MS);
    this.timer = startTimer(() => {
      this.wind();
      this.expire(Math.floor(clockMs() / TICK_MS));
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
    const limits = this.ticks.get(tick);
    if (limits === undefined) return;
    this.remove(tick);
    for (const deadline of limits) {
      if (deadline.position < 0) continue;
      deadline.position = -1;
      deadline.target.onExpired();
    }
  }

  private remove(tick: number): void {
    this.ticks.delete(tick);
    if (this.ticks.size === 0) stopTimer(this.timer);
  }
}

function scheduleAlone(target: Expiring, delayMs: number): Deadline {
  const deadline = new Deadline(NO_TICK, target);
  deadline.alone = new Delay(() => target.onExpired(), delayMs);
  return deadline;
}

export const deadlines = new Deadlines();
