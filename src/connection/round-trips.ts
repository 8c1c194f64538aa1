/**
 * The round trips to a server, from a flush to its first reply: a moving mean, and the 99th percentile of the
 * last minute from a histogram with four steps for each power of two.
 *
 *   periods of ten seconds:  | 0 | 1 | 2 | 3 | 4 | 5 |   the oldest is cleared and reused
 */

const PERIODS = 6;
const PERIOD_MS = 10_000;
/** Four steps for each power of two, from one microsecond to half an hour. */
const STEPS_PER_DOUBLING = 4;
const STEPS = STEPS_PER_DOUBLING * 31;
const WEIGHT_OF_ONE = 1 / 8;
const SHARE = 0.99;
/** The number of round trips that are stored individually. */
const FEW = 16;

export class RoundTrips {
  /** The moving mean in milliseconds, with a weight of one eighth for the last one; null before the first. */
  meanMs: number | null = null;
  count = 0;
  private leastMs = Number.POSITIVE_INFINITY;
  /** The step and period of each of the first few: an idle connection needs no table. */
  private first: readonly number[] = [];
  private counts: Uint32Array | null = null;
  private period = 0;

  note(roundTripMs: number, nowMs: number): void {
    this.meanMs =
      this.meanMs === null ? roundTripMs : this.meanMs + (roundTripMs - this.meanMs) * WEIGHT_OF_ONE;
    this.count++;
    if (roundTripMs < this.leastMs) this.leastMs = roundTripMs;
    if (this.counts === null && this.first.length < FEW * 2) {
      // A list that grows in place reserves room for 16 more.
      this.first = this.first.concat(stepOf(roundTripMs), Math.floor(nowMs / PERIOD_MS));
    } else this.add(this.counts ?? this.makeTable(), stepOf(roundTripMs), nowMs);
  }

  /** The shortest round trip since the last call; null without one. */
  takeLeastMs(): number | null {
    const { leastMs } = this;
    this.leastMs = Number.POSITIVE_INFINITY;
    return leastMs === Number.POSITIVE_INFINITY ? null : leastMs;
  }

  /**
   * The upper end of the step that contains the 99th percentile of the last minute; null without measurements.
   */
  p99Ms(nowMs: number): number | null {
    if (this.counts === null) return this.greatestMs(nowMs);
    const counts = this.turnTo(this.counts, nowMs);
    let total = 0;
    for (const count of counts) total += count;
    if (total === 0) return null;
    let above = total - Math.ceil(total * SHARE);
    for (let step = STEPS - 1; step > 0; step--) {
      for (let period = 0; period < PERIODS; period++) above -= counts[period * STEPS + step] as number;
      if (above < 0) return upperEndMs(step);
    }
    return upperEndMs(0);
  }

  private add(table: Uint32Array, step: number, nowMs: number): void {
    const counts = this.turnTo(table, nowMs);
    const at = (this.period % PERIODS) * STEPS + step;
    counts[at] = (counts[at] as number) + 1;
  }

  private makeTable(): Uint32Array {
    const table = new Uint32Array(PERIODS * STEPS);
    this.counts = table;
    const { first } = this;
    for (let i = 0; i < first.length; i += 2) {
      this.add(table, first[i] as number, (first[i + 1] as number) * PERIOD_MS);
    }
    this.first = [];
    return table;
  }

  /** With so few values, the percentile is the largest one. */
  private greatestMs(nowMs: number): number | null {
    const { first } = this;
    const oldest = Math.floor(nowMs / PERIOD_MS) - PERIODS + 1;
    let greatest = -1;
    for (let i = 0; i < first.length; i += 2) {
      if ((first[i + 1] as number) >= oldest) greatest = Math.max(greatest, first[i] as number);
    }
    return greatest < 0 ? null : upperEndMs(greatest);
  }

  /** Clears the periods that have begun since the last call. */
  private turnTo(counts: Uint32Array, nowMs: number): Uint32Array {
    const period = Math.floor(nowMs / PERIOD_MS);
    const passed = Math.min(period - this.period, PERIODS);
    for (let back = 0; back < passed; back++) {
      const start = ((period - back) % PERIODS) * STEPS;
      counts.fill(0, start, start + STEPS);
    }
    this.period = period;
    return counts;
  }
}

function stepOf(roundTripMs: number): number {
  const step = Math.ceil(Math.log2(Math.max(roundTripMs * 1000, 1)) * STEPS_PER_DOUBLING);
  return Math.min(step, STEPS - 1);
}

function upperEndMs(step: number): number {
  return 2 ** (step / STEPS_PER_DOUBLING) / 1000;
}
