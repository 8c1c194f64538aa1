/**
 * Looks that many objects take at themselves again and again, by one timer for each period. A
 * thousand idle clients wake the process as often as one, and nothing ticks while nobody looks.
 * The timers keep no process alive.
 */

import { startInterval, stopInterval } from "./scheduling";
import { throwLater } from "./user-code";

/** An object that looks at itself. */
export interface Looker {
  /** False: it leaves the round. */
  look(): boolean;
}

interface Round {
  readonly lookers: Set<Looker>;
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

  /** Lets it look once in each period; the first time may come early. Who has joined already stays. */
  join(looker: Looker, periodMs: number): void {
    const round = this.rounds.get(periodMs) ?? this.begin(periodMs);
    round.lookers.add(looker);
  }

  leave(looker: Looker, periodMs: number): void {
    const round = this.rounds.get(periodMs);
    if (round?.lookers.delete(looker)) this.endIfEmpty(round, periodMs);
  }

  private begin(periodMs: number): Round {
    const lookers = new Set<Looker>();
    const timer = this.time.startInterval(() => {
      for (const looker of lookers) if (!mayStay(looker)) lookers.delete(looker);
      this.endIfEmpty(round, periodMs);
    }, periodMs);
    timer.unref();
    const round = { lookers, timer };
    this.rounds.set(periodMs, round);
    return round;
  }

  private endIfEmpty(round: Round, periodMs: number): void {
    if (round.lookers.size > 0) return;
    this.time.stopInterval(round.timer);
    if (this.rounds.get(periodMs) === round) this.rounds.delete(periodMs);
  }
}

/** One that throws ends no round, and looks again in the next. */
function mayStay(looker: Looker): boolean {
  try {
    return looker.look();
  } catch (error) {
    throwLater(error);
    return true;
  }
}

/** Those of the process. */
export const sharedIntervals = new SharedIntervals({ startInterval, stopInterval });
