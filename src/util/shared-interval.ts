/**
 * Looks that many objects take at themselves again and again, by one timer for each period. A
 * thousand idle clients wake the process as often as one, and nothing ticks while nobody looks.
 * The timers keep no process alive.
 */

import { startInterval, stopInterval } from "./scheduling";
import { callUser } from "./user-code";

interface Round {
  readonly looks: Set<() => void>;
  readonly timer: NodeJS.Timeout;
}

/** The clock of `SharedIntervals`. */
export interface IntervalSource {
  startInterval(work: () => void, periodMs: number): NodeJS.Timeout;
  stopInterval(timer: NodeJS.Timeout | undefined): void;
}

export class SharedIntervals {
  private readonly rounds = new Map<number, Round>();

  constructor(private readonly time: IntervalSource) {}

  /** Calls `look` once in each period; the first time may come early. Returns what ends it. */
  join(look: () => void, periodMs: number): () => void {
    const round = this.rounds.get(periodMs) ?? this.begin(periodMs);
    round.looks.add(look);
    return () => {
      if (!round.looks.delete(look) || round.looks.size > 0) return;
      this.time.stopInterval(round.timer);
      if (this.rounds.get(periodMs) === round) this.rounds.delete(periodMs);
    };
  }

  private begin(periodMs: number): Round {
    const looks = new Set<() => void>();
    const timer = this.time.startInterval(() => {
      // One that throws ends no round.
      for (const look of looks) callUser(look);
    }, periodMs);
    timer.unref();
    const round = { looks, timer };
    this.rounds.set(periodMs, round);
    return round;
  }
}

/** Those of the process. */
export const sharedIntervals = new SharedIntervals({ startInterval, stopInterval });
