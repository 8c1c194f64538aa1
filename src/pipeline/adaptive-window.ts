/**
 * How many automatic batches may be unanswered, by the round trip that is measured. One batch
 * in flight is best when a reply comes within a turn or two of the event loop; when the network
 * takes longer, commands would wait for replies that tell them nothing. So a batch may leave
 * about every `GAP_MS` of the shortest recent round trip. The shortest counts, because a longer
 * one is the server's own queue, which more batches would only lengthen.
 *
 *   round trips:  | earlier period | present period |   smallest of both, so that the window
 *                                                        narrows and widens within two periods
 */

/** Measured with benchmarks/scenario/round-trips: below it batches get small and dear. */
const GAP_MS = 0.5;
/** Enough for 250 ms: with fewer, batches leave in a burst and the next commands wait for the first reply. */
const MOST_BATCHES = 512;
const PERIOD_MS = 1000;

export class AdaptiveWindow {
  /** Batches that may be unanswered at present. Nobody waits for a round trip that is not known yet. */
  size = MOST_BATCHES;
  private earlierMs = Number.POSITIVE_INFINITY;
  private presentMs = Number.POSITIVE_INFINITY;
  private periodEndMs = 0;

  /** A batch that was sent `roundTripMs` ago has been answered in full. */
  note(roundTripMs: number, nowMs: number): void {
    if (nowMs >= this.periodEndMs) {
      this.earlierMs = this.presentMs;
      this.presentMs = Number.POSITIVE_INFINITY;
      this.periodEndMs = nowMs + PERIOD_MS;
    }
    if (roundTripMs < this.presentMs) this.presentMs = roundTripMs;
    const shortestMs = Math.min(this.earlierMs, this.presentMs);
    this.size = Math.min(MOST_BATCHES, Math.max(1, Math.ceil(shortestMs / GAP_MS)));
  }
}
