/**
 * The round trips to a server, from a flush to its first reply: a moving mean, and the 99th percentile of the
 * last minute from a histogram with four steps for each power of two.
 */

const PERIODS = 6;
const PERIOD_MS = 10_000;
/** Four steps for each power of two, from one microsecond to half an hour. */
const STEPS_PER_DOUBLING = 4;
const STEPS = STEPS_PER_DOUBLING * 31;
const WEIGHT_OF_ONE = 1 / 8;
const SHARE = 0.99;

export class RoundTrips {
  /** The moving mean in milliseconds, with a weight of one eighth for the last one; null before the first. */
  meanMs: number | null = null;
  count = 0;
  private leastMs = Number.POSITIVE_INFINITY;
  /** The number of round trips by period and step. Steps without round trips have no entry, so idle connections use no memory. */
  private readonly counts = new Map<number, number>();
  private period = 0;

  note(roundTripMs: number, nowMs: number): void {
    this.meanMs =
      this.meanMs === null ? roundTripMs : this.meanMs + (roundTripMs - this.meanMs) * WEIGHT_OF_ONE;
    this.count++;
    if (roundTripMs < this.leastMs) this.leastMs = roundTripMs;
    this.turnTo(nowMs);
    const key = this.period * STEPS + stepOf(roundTripMs);
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** The shortest round trip since the last call; null without one. */
  takeLeastMs(): number | null {
    const { leastMs } = this;
    this.leastMs = Number.POSITIVE_INFINITY;
    return leastMs === Number.POSITIVE_INFINITY ? null : leastMs;
  }

  /** The upper end of the step with the 99th percentile of the last minute; null without measurements. */
  p99Ms(nowMs: number): number | null {
    this.turnTo(nowMs);
    let total = 0;
    const bySteps = new Uint32Array(STEPS);
    for (const [key, count] of this.counts) {
      total += count;
      (bySteps[key % STEPS] as number) += count;
    }
    if (total === 0) return null;
    let above = total - Math.ceil(total * SHARE);
    let step = STEPS;
    while (above >= 0) above -= bySteps[--step] as number;
    return upperEndMs(step);
  }

  /** Removes the periods that are older than the last minute. */
  private turnTo(nowMs: number): void {
    const period = Math.floor(nowMs / PERIOD_MS);
    if (period === this.period) return;
    this.period = period;
    for (const key of this.counts.keys()) if (key < (period - PERIODS + 1) * STEPS) this.counts.delete(key);
  }
}

function stepOf(roundTripMs: number): number {
  const step = Math.ceil(Math.log2(Math.max(roundTripMs * 1000, 1)) * STEPS_PER_DOUBLING);
  return Math.min(step, STEPS - 1);
}

function upperEndMs(step: number): number {
  return 2 ** (step / STEPS_PER_DOUBLING) / 1000;
}
