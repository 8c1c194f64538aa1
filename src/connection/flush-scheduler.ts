/**
 * Decides when bytes are written, for all connections of the thread. `writer.ts` asks it and writes. Rules:
 *
 * 1. Commands are written immediately once they are at least as many as those in flight on their connection.
 *    An idle connection therefore writes its first command immediately. The time since the last write of the
 *    thread must be at least four write costs for each connection with commands to write. Otherwise commands
 *    are collected.
 * 2. Collected commands are written at the end of the task if nothing was in flight before it, and at the end of
 *    the event-loop turn in any case.
 * 3. Only rule 2 applies with `flushPolicy: "turn"`, to custom streams (which may answer within `write`), and
 *    while other programs or the server compete for the thread's processor.
 *
 * `writer.ts` bounds the memory in addition: 8,192 unsent commands are written early in any case, and a flush ends
 * at `highWaterBytes`; the rest follows in the next turn.
 *
 * A task is one callback of the event loop with its microtasks. Rule 1 lets client and server work at the
 * same time. On a shared processor they cannot, and an early write only makes the kernel switch between them.
 *
 * Connections are flushed in the order in which they were first scheduled. A flush at the end of the task
 * includes the connections that were scheduled before, so commands of one client are written before later
 * commands of another.
 */

import { atExit, type ExitWork } from "../util/at-exit";
import { type ProcessorTimes, processorTimes } from "../util/processor-times";
import { sharesTimers } from "../util/runtime";
import { atTurnEnd, clockMs, nextTick } from "../util/scheduling";
import { throwLater } from "../util/user-code";

export interface Flushable {
  /** Set while a flush is scheduled; owned by the scheduler. */
  isScheduled: boolean;
  /** Writes the collected commands, up to the size of one flush. */
  flush(): void;
  /** Writes as much as the kernel accepts immediately. */
  flushWhole(): void;
}

/** The gap between early writes, in costs of a write: writes then take at most a fifth of the thread's time. */
const COSTS_APART = 4;
/**
 * In ms: the upper limit of the cost of a write, and its value before the first measurement. On a loaded
 * machine, a write took 5 to 25 µs.
 */
const MOST_COST_MS = 0.025;
/** The factor by which the least measured cost rises with each write, so that an old one is forgotten. */
const FORGETTING = 1.01;
/** In ms: the interval between checks whether the processor is shared. A check takes about 2 µs. */
const LOOK_MS = 20;
/** The processor is shared if the thread runs in less than this share of the time in which it is ready to run. */
const LEAST_SHARE = 0.85;

export class FlushScheduler implements ExitWork {
  private scheduled: Flushable[] = [];
  /** The number of them that are flushed at the end of the task. */
  private dueCount = 0;
  private isTaskEndScheduled = false;
  private isTurnEndScheduled = false;
  /** When the last write ended. */
  private writtenMs = 0;
  /** The smallest of the recent costs of a write. */
  private costMs = MOST_COST_MS;
  /** The processor was shared at the last check. */
  private isShared = false;
  private lookedMs = 0;
  private ranMs = 0;
  private waitedMs = 0;
  private readonly onTaskEnd = (): void => {
    this.isTaskEndScheduled = false;
    this.flushFirst(this.dueCount);
  };
  private readonly onTurnEnd = (): void => {
    this.isTurnEndScheduled = false;
    this.flushFirst(this.scheduled.length);
  };

  /** @param watchesExit Whether it writes the issued commands when the process exits. */
  constructor(
    private watchesExit = false,
    private readonly clock: () => number = clockMs,
    private readonly times: () => ProcessorTimes | null = processorTimes,
  ) {}

  /** Whether this many commands of a connection may be written before the task continues. */
  mayWriteEarly(gathered: number, inFlight: number): boolean {
    if (gathered < inFlight || this.isShared) return false;
    const connections = Math.max(1, this.scheduled.length);
    return this.clock() - this.writtenMs >= this.costMs * COSTS_APART * connections;
  }

  /** A socket has accepted a write that began at `startMs`. */
  noteWrite(startMs: number): void {
    const nowMs = this.clock();
    this.writtenMs = nowMs;
    this.costMs = Math.min(MOST_COST_MS, nowMs - startMs, this.costMs * FORGETTING);
    if (nowMs - this.lookedMs >= LOOK_MS) this.look(nowMs);
  }

  /** Called when `one` has commands to write and is not scheduled. */
  request(one: Flushable, inFlight: number): void {
    if (this.watchesExit) {
      this.watchesExit = false;
      atExit(this);
    }
    one.isScheduled = true;
    this.scheduled.push(one);
    if (inFlight > 0) {
      this.scheduleTurnEnd();
      return;
    }
    this.dueCount = this.scheduled.length;
    if (this.isTaskEndScheduled) return;
    this.isTaskEndScheduled = true;
    nextTick(this.onTaskEnd);
  }

  /** Schedules another flush in the next turn, for the commands that exceeded this one. */
  requestNextTurn(one: Flushable): void {
    if (!one.isScheduled) this.request(one, 1);
  }

  /** Flushes all connections that were scheduled before `one`, which is about to write. */
  flushBefore(one: Flushable): void {
    if (this.scheduled.length === 0 || this.scheduled[0] === one) return;
    const place = this.scheduled.indexOf(one);
    this.flushFirst(place < 0 ? this.scheduled.length : place);
  }

  /** Flushes `one` and the connections that were scheduled before it. */
  flushThrough(one: Flushable): void {
    this.flushFirst(this.scheduled.indexOf(one) + 1);
  }

  private look(nowMs: number): void {
    this.lookedMs = nowMs;
    this.isShared = false;
    const times = this.times();
    if (times === null) return;
    const ranMs = times.ranMs - this.ranMs;
    const waitedMs = times.waitedMs - this.waitedMs;
    this.isShared = ranMs < (ranMs + waitedMs) * LEAST_SHARE;
    this.ranMs = times.ranMs;
    this.waitedMs = times.waitedMs;
  }

  private scheduleTurnEnd(): void {
    if (this.isTurnEndScheduled) return;
    this.isTurnEndScheduled = true;
    atTurnEnd(this.onTurnEnd);
  }

  private flushFirst(count: number): void {
    const due = this.scheduled;
    this.scheduled = count === due.length ? [] : due.slice(count);
    this.dueCount = Math.max(0, this.dueCount - count);
    for (let i = 0; i < count; i++) {
      const one = due[i] as Flushable;
      one.isScheduled = false;
      try {
        one.flush();
      } catch (error) {
        // An error of one connection must not stop the others.
        throwLater(error);
      }
    }
  }

  /** `process.exit()` runs neither ticks nor turns: earlier commands are written here. */
  onExit(): void {
    for (const one of this.scheduled.splice(0)) {
      one.isScheduled = false;
      one.flushWhole();
    }
  }
}

export const flushScheduler = new FlushScheduler(true);

/** The scheduler of a connection: the thread's, or a separate one if the runtime does not share timers. */
export function schedulerOfConnection(): FlushScheduler {
  return sharesTimers ? flushScheduler : new FlushScheduler();
}
