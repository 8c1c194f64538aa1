/**
 * One timer for everything that is due on the server's clock: keys that expire, callers whose time
 * to wait is over, the end of a pause. It never keeps the process alive.
 */

import type { ServerEngine } from "./model";

const MAX_DELAY_MS = 2 ** 31 - 1;

export class EngineAlarm {
  private timer: NodeJS.Timeout | null = null;
  private dueAt = Number.POSITIVE_INFINITY;

  constructor(private readonly engine: ServerEngine) {}

  /** Finds the next due time; called after commands have run, or the clock was moved. */
  set(): void {
    const dueAt = this.next();
    if (dueAt === this.dueAt && this.timer !== null) return;
    this.stop();
    if (dueAt === Number.POSITIVE_INFINITY) return;
    this.dueAt = dueAt;
    const delay = Math.min(Math.max(0, dueAt - this.engine.clock.now), MAX_DELAY_MS);
    this.timer = setTimeout(() => this.ring(), delay);
    // Fake timers may give a number.
    if (typeof this.timer === "object") this.timer.unref?.();
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.dueAt = Number.POSITIVE_INFINITY;
  }

  /** Runs the work that is due. */
  ring(): void {
    this.stop();
    const { engine } = this;
    engine.tick();
    engine.blocking.endOverdue();
    engine.blocking.serve();
    if (engine.pause === null) for (const session of [...engine.sessions.values()]) session.goOn();
    this.set();
  }

  private next(): number {
    const { engine } = this;
    let next = engine.blocking.nextDeadline;
    for (const database of engine.allDatabases) next = Math.min(next, database.nextExpiry);
    return engine.pause === null ? next : Math.min(next, engine.pause.until);
  }
}
