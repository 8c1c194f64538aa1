/**
 * Determines when a measurement is over, without reading the system clock for every command.
 *
 * It expires after at least `leastTurns` calls, so that slow batches are measured more than once.
 */

const CLOCK_EVERY = 32;

export class Clock {
  private readonly startMs = performance.now();
  private asked = 0;
  private isOver = false;

  constructor(
    private readonly durationMs: number,
    private readonly leastTurns: number,
    /** How many questions share one look at the system clock: 1 for batches, more for single commands. */
    private readonly lookEvery: number = CLOCK_EVERY,
  ) {}

  expired(): boolean {
    if (this.isOver) return true;
    this.asked++;
    if (this.asked % this.lookEvery === 0 && this.asked >= this.leastTurns) {
      this.isOver = performance.now() - this.startMs >= this.durationMs;
    }
    return this.isOver;
  }
}
