/**
 * The only code that decides when bytes leave, one for all connections of the process. What the
 * pacer lets out leaves before the run goes on. For the rest, a connection that had nothing in
 * flight is flushed at the end of the current run (`nextTick`), so a lone caller waits for nobody.
 * With replies outstanding it is flushed at the end of the event-loop turn (`setImmediate`), so that
 * commands issued from separate callbacks, as request handlers do, still share one write. A batch that
 * is larger than one flush goes on in the next turn, so that replies are read in between. What a
 * connection holds for a moment (`FlushHold`) stays for some turns, if nothing else is booked.
 *
 * Connections are flushed in the order in which they were first written to: what is due at the end
 * of the run takes along what was booked before it. A write on one client of the process thus
 * leaves before what another client is told afterwards.
 *
 *   booked:  | busy | busy | idle | busy |
 *            `------- due -------' the rest leaves at the end of the turn
 */

import { atExit, type ExitWork } from "../util/at-exit";
import { sharesTimers } from "../util/runtime";
import { atTurnEnd, clockMs, idleMs, nextTick } from "../util/scheduling";
import { FlushPacer } from "./flush-pacer";

export interface Flushable {
  /** Set while it is booked; belongs to the scheduler. */
  isBooked: boolean;
  /** Writes what has gathered, up to the size of one flush. */
  flush(): void;
  /** Writes all that the kernel takes at once. */
  flushWhole(): void;
}

export class FlushScheduler implements ExitWork {
  /** Says what may leave before the end of the run. */
  readonly pacer = new FlushPacer(clockMs, idleMs);
  private booked: Flushable[] = [];
  /** So many of them leave at the end of the run. */
  private dueCount = 0;
  private isRunBooked = false;
  private isTurnBooked = false;
  /** Stays until then if nothing else is booked. */
  private held: Flushable | null = null;
  private heldUntilMs = 0;
  private readonly onRunEnd = (): void => {
    this.isRunBooked = false;
    this.flushFirst(this.dueCount);
  };
  private readonly onTurnEnd = (): void => {
    this.isTurnBooked = false;
    if (this.held !== null && this.staysHeld()) this.bookTurn();
    else this.flushFirst(this.booked.length);
  };

  /** @param watchesExit At the exit of the process it writes what was issued before. */
  constructor(private watchesExit = false) {}

  /**
   * Whether a connection that is not booked may write what it has before the run goes on.
   *
   * @param answered Its commands that the last read has answered.
   */
  mayLeaveNow(inFlight: number, answered: number): boolean {
    if (inFlight === 0 && this.booked.length === 0) return true;
    return this.pacer.isOpen(inFlight, answered);
  }

  /** To be called when `one` has something to write and is not booked. */
  request(one: Flushable, inFlight: number): void {
    if (this.watchesExit) {
      this.watchesExit = false;
      atExit(this);
    }
    one.isBooked = true;
    this.booked.push(one);
    if (inFlight > 0) {
      this.bookTurn();
      return;
    }
    this.dueCount = this.booked.length;
    if (this.isRunBooked) return;
    this.isRunBooked = true;
    nextTick(this.onRunEnd);
  }

  /** Books another flush in the next turn, for the rest of what did not fit into this one. */
  requestNextTurn(one: Flushable): void {
    if (one.isBooked) return;
    one.isBooked = true;
    this.booked.push(one);
    this.bookTurn();
  }

  /** Flushes everything that was booked before `one`, which is about to write. */
  flushBefore(one: Flushable): void {
    if (this.booked.length === 0 || this.booked[0] === one) return;
    const place = this.booked.indexOf(one);
    this.flushFirst(place < 0 ? this.booked.length : place);
  }

  /** Flushes what was booked up to `one`. What it is told next is behind what others were told. */
  flushThrough(one: Flushable): void {
    this.flushFirst(this.booked.indexOf(one) + 1);
  }

  /** What `one` is told next waits until then, on the clock of `clockMs`, or until it is released. */
  hold(one: Flushable, untilMs: number): void {
    this.held = one;
    this.heldUntilMs = untilMs;
  }

  /** Flushes `one` if it is held. */
  release(one: Flushable): void {
    if (this.held !== one) return;
    this.held = null;
    if (one.isBooked) this.flushThrough(one);
  }

  private staysHeld(): boolean {
    const { held, booked } = this;
    if (booked.length === 1 && booked[0] === held && clockMs() < this.heldUntilMs) return true;
    this.held = null;
    return false;
  }

  private bookTurn(): void {
    if (this.isTurnBooked) return;
    this.isTurnBooked = true;
    atTurnEnd(this.onTurnEnd);
  }

  private flushFirst(count: number): void {
    const due = this.booked;
    this.booked = count === due.length ? [] : due.slice(count);
    this.dueCount = Math.max(0, this.dueCount - count);
    let next = 0;
    try {
      while (next < count) {
        const one = due[next++] as Flushable;
        one.isBooked = false;
        one.flush();
      }
    } finally {
      // A flush that has thrown holds up nobody.
      if (next < count) this.putBack(due.slice(next, count));
    }
  }

  private putBack(rest: Flushable[]): void {
    this.booked = [...rest, ...this.booked];
    this.dueCount = 0;
    this.bookTurn();
  }

  /** `process.exit()` runs neither ticks nor turns: what was issued before it is written here. */
  onExit(): void {
    for (const one of this.booked.splice(0)) {
      one.isBooked = false;
      one.flushWhole();
    }
  }
}

/** The scheduler of this thread. */
export const flushScheduler = new FlushScheduler(true);

/** The scheduler of a connection: that of the thread, or one of its own where timers are not shared. */
export function schedulerOfConnection(): FlushScheduler {
  return sharesTimers ? flushScheduler : new FlushScheduler();
}
