/** The server's randomness: a small generator with a seed (mulberry32), which makes tests repeatable. */

const STEP = 0x6d2b79f5;
const DEFAULT_SEED = 20_260_601;

export class Randomness {
  private state: number;

  constructor(seed: number = DEFAULT_SEED) {
    this.state = seed >>> 0;
  }

  seed(value: number): void {
    this.state = value >>> 0;
  }

  /** A number from 0 to below 1. */
  next(): number {
    this.state = (this.state + STEP) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Hexadecimal digits. */
  hex(length: number): string {
    let text = "";
    while (text.length < length) text += this.below(16).toString(16);
    return text;
  }
}
