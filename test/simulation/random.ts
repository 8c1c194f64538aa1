/** Chance that a seed brings back. */

import { randomSource } from "../support/random";

export class Random {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = randomSource(seed);
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}
