/**
 * Order statistics of small and large samples.
 */

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: quantileOfSorted(sorted, 0.5),
    least: sorted[0] ?? Number.NaN,
    most: sorted[sorted.length - 1] ?? Number.NaN,
  };
}

/** Nearest rank, except that the median of an even count is the mean of the middle two. */
export function quantileOfSorted(sorted: ArrayLike<number>, quantile: number): number {
  const count = sorted.length;
  if (count === 0) return Number.NaN;
  if (quantile === 0.5 && count % 2 === 0) {
    return ((sorted[count / 2 - 1] as number) + (sorted[count / 2] as number)) / 2;
  }
  return sorted[Math.min(count - 1, Math.max(0, Math.ceil(quantile * count) - 1))] as number;
}

/** Keeps the first `capacity` durations; enough for quantiles, and it allocates nothing while measuring. */
export class LatencyRecorder {
  private readonly values: Float64Array;
  private count = 0;

  constructor(capacity = 1_000_000) {
    this.values = new Float64Array(capacity);
  }

  readonly record = (ms: number): void => {
    if (this.count < this.values.length) this.values[this.count++] = ms;
  };

  /** In microseconds. */
  quantiles(): { p50Micros: number; p99Micros: number } | undefined {
    if (this.count === 0) return undefined;
    const sorted = this.values.subarray(0, this.count).slice().sort();
    return {
      p50Micros: quantileOfSorted(sorted, 0.5) * 1000,
      p99Micros: quantileOfSorted(sorted, 0.99) * 1000,
    };
  }
}
