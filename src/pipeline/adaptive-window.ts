/**
 * Sets how many automatic batches may be unanswered, from the measured round trip. A window of `FEWEST_BATCHES`
 * never makes callers near the server wait: their batches overlap as without the option. Over a long round trip
 * one batch is sent about every `GAP_MS`, so that commands share writes and reads. The shortest recent round
 * trip counts, because a longer one includes queueing in the server, which more batches would only increase.
 *
 *   round trips:  | earlier period | current period |   smallest of both, so that the window
 *                                                        narrows and widens within two periods
 */

/** In ms: a twentieth of a round trip of 10 ms. Measured, see docs/auto-pipelining.md. */
const GAP_MS = 0.5;
/** In batches. With fewer, callers near the server wait for each other. Measured, see docs/auto-pipelining.md. */
const FEWEST_BATCHES = 16;
/**
 * In batches; enough for a round trip of 250 ms. With fewer, batches are sent in a burst and the next
 * commands wait for the first reply.
 */
const MOST_BATCHES = 512;
const PERIOD_MS = 1000;

export class AdaptiveWindow {
  /** The number of batches that may currently be unanswered. No command waits before a round trip is known. */
  size = MOST_BATCHES;
  private earlierMs = Number.POSITIVE_INFINITY;
  private presentMs = Number.POSITIVE_INFINITY;
  private periodEndMs = 0;

  /** A batch was sent `roundTripMs` ago, and the commands that are counted for it have settled. */
  note(roundTripMs: number, nowMs: number): void {
    if (nowMs >= this.periodEndMs) {
      this.earlierMs = this.presentMs;
      this.presentMs = Number.POSITIVE_INFINITY;
      this.periodEndMs = nowMs + PERIOD_MS;
    }
    if (roundTripMs < this.presentMs) this.presentMs = roundTripMs;
    const shortestMs = Math.min(this.earlierMs, this.presentMs);
    this.size = Math.min(MOST_BATCHES, Math.max(FEWEST_BATCHES, Math.ceil(shortestMs / GAP_MS)));
  }
}
