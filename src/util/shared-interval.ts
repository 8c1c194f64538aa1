/**
 * Periodic checks of many objects with one timer for each period, which does not keep the process alive. A thousand
 * idle clients wake the process as often as one. A runtime that shares no timers has one for each object.
 */

import { sharesTimers } from "./runtime";
import { startInterval, stopInterval } from "./scheduling";
import { callUser } from "./user-code";

export interface Looker {
  /** Returns false to end its checks. */
  look(): boolean;
}

interface Round {
  readonly lookers: Set<Looker>;
  readonly timer: NodeJS.Timeout;
}

function keyOf(looker: Looker, periodMs: number): number | Looker {
  return sharesTimers ? periodMs : looker;
}

class SharedIntervals {
  private readonly rounds = new Map<number | Looker, Round>();

  /** Adds a check in each period; the first one may be early. An object that has joined already stays. */
  join(looker: Looker, periodMs: number): void {
    const key = keyOf(looker, periodMs);
    const round = this.rounds.get(key) ?? this.begin(key, periodMs);
    round.lookers.add(looker);
  }

  leave(looker: Looker, periodMs: number): void {
    const key = keyOf(looker, periodMs);
    const round = this.rounds.get(key);
    if (!round?.lookers.delete(looker) || round.lookers.size > 0) return;
    stopInterval(round.timer);
    this.rounds.delete(key);
  }

  private begin(key: number | Looker, periodMs: number): Round {
    const lookers = new Set<Looker>();
    const timer = startInterval(() => {
      // An object that throws does not end the round, and is checked again in the next.
      for (const looker of lookers) if (callUser(() => looker.look()) === false) this.leave(looker, periodMs);
    }, periodMs);
    timer.unref();
    const round = { lookers, timer };
    this.rounds.set(key, round);
    return round;
  }
}

export const sharedIntervals = new SharedIntervals();
