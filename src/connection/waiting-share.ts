/** How much of its time a thread waits for events. It is looked at once in a while, since the runtime has to be asked. */

/** The share is that of the last span of so many ms, or of a longer one where nobody asked. */
const SPAN_MS = 20;

export class WaitingShare {
  private share = 0;
  private startMs: number;
  private startIdleMs: number;
  private leftOutMs = 0;

  /** @param idleMs For how long the thread has waited for events since it began. */
  constructor(
    clockMs: () => number,
    private readonly idleMs: () => number,
  ) {
    this.startMs = clockMs();
    this.startIdleMs = idleMs();
  }

  /** So many ms of this span's waiting do not count. */
  leaveOut(durationMs: number): void {
    this.leftOutMs += durationMs;
  }

  /** Between 0 and 1. */
  at(nowMs: number): number {
    const spanMs = nowMs - this.startMs;
    if (spanMs < SPAN_MS) return this.share;
    const idleMs = this.idleMs();
    this.share = (idleMs - this.startIdleMs - this.leftOutMs) / spanMs;
    this.startMs = nowMs;
    this.startIdleMs = idleMs;
    this.leftOutMs = 0;
    return this.share;
  }
}
