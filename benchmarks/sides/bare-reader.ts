/**
 * Reads RESP2 replies for the bare sides: just enough to pass one decoded value per command to its waiter.
 *
 * It is a reference and not a client: it reads arrays only one level deep, an error ends the run, and it
 * checks nothing. Chunks are valid only while `push` runs, so it copies incomplete replies.
 */

const CARRIAGE_RETURN = 13;
const PLUS = 43;
const MINUS = 45;
const COLON = 58;
const DOLLAR = 36;
const STAR = 42;
const ZERO = 48;
/** Longer values are collected in a block of their own instead of being joined with the next chunk. */
const LARGE_VALUE_BYTES = 16_384;

/** Methods that every Buffer has and its published types leave out; they skip the checks of `toString`. */
interface SliceableBuffer extends Buffer {
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
}

export type ReplyTaker = (value: unknown) => void;

export class BareReader {
  /** Whether the next value is wanted as Buffer. */
  wantsBuffers = false;
  private rest: Buffer | undefined;
  private large: Buffer | undefined;
  private largeFilled = 0;
  private largeNeeded = 0;
  private elements: unknown[] | undefined;
  private elementsLeft = 0;
  /** Where parsing stands, and where the line read last ended. */
  private at = 0;

  constructor(private readonly take: ReplyTaker) {}

  push(chunk: Buffer): void {
    let data = chunk;
    if (this.largeNeeded > 0) {
      const used = this.fillLarge(chunk, 0);
      if (this.largeFilled < this.largeNeeded) return;
      this.finishLarge();
      data = chunk.subarray(used);
    } else if (this.rest !== undefined) {
      data = Buffer.concat([this.rest, chunk]);
      this.rest = undefined;
    }
    this.at = 0;
    while (this.at < data.length) {
      const from = this.at;
      if (!this.readValue(data)) {
        if (this.largeNeeded === 0) this.rest = Buffer.from(data.subarray(from));
        return;
      }
    }
  }

  /** False: the value is not complete yet. */
  private readValue(data: Buffer): boolean {
    const type = data[this.at] as number;
    const lineStart = this.at + 1;
    let lineEnd = lineStart;
    while (lineEnd < data.length && data[lineEnd] !== CARRIAGE_RETURN) lineEnd++;
    if (lineEnd + 1 >= data.length) return false;
    switch (type) {
      case PLUS:
        this.at = lineEnd + 2;
        this.settle((data as SliceableBuffer).latin1Slice(lineStart, lineEnd));
        return true;
      case COLON:
        this.at = lineEnd + 2;
        this.settle(integerOf(data, lineStart, lineEnd));
        return true;
      case DOLLAR:
        return this.readBulk(data, lineEnd + 2, integerOf(data, lineStart, lineEnd));
      case STAR:
        this.at = lineEnd + 2;
        this.openArray(integerOf(data, lineStart, lineEnd));
        return true;
      default:
        throw new Error(`unexpected reply: ${data.toString("latin1", this.at, lineEnd)}`);
    }
  }

  private readBulk(data: Buffer, bodyStart: number, length: number): boolean {
    if (length < 0) {
      this.at = bodyStart;
      this.settle(null);
      return true;
    }
    const bodyEnd = bodyStart + length;
    if (bodyEnd + 2 > data.length) {
      if (length >= LARGE_VALUE_BYTES) {
        if (this.large === undefined || this.large.length < length + 2)
          this.large = Buffer.allocUnsafe(length + 2);
        this.largeNeeded = length + 2;
        this.largeFilled = 0;
        this.fillLarge(data, bodyStart);
      }
      return false;
    }
    this.at = bodyEnd + 2;
    this.settle(this.decode(data, bodyStart, bodyEnd));
    return true;
  }

  private fillLarge(chunk: Buffer, from: number): number {
    const count = Math.min(chunk.length - from, this.largeNeeded - this.largeFilled);
    chunk.copy(this.large as Buffer, this.largeFilled, from, from + count);
    this.largeFilled += count;
    return from + count;
  }

  private finishLarge(): void {
    const value = this.decode(this.large as Buffer, 0, this.largeNeeded - 2);
    this.largeNeeded = 0;
    this.settle(value);
  }

  private decode(data: Buffer, start: number, end: number): unknown {
    return this.wantsBuffers
      ? Buffer.from(data.subarray(start, end))
      : (data as SliceableBuffer).utf8Slice(start, end);
  }

  private openArray(length: number): void {
    if (length <= 0) {
      this.take(length < 0 ? null : []);
      return;
    }
    this.elements = [];
    this.elementsLeft = length;
  }

  private settle(value: unknown): void {
    if (this.elements === undefined) {
      this.take(value);
      return;
    }
    this.elements.push(value);
    if (--this.elementsLeft > 0) return;
    const whole = this.elements;
    this.elements = undefined;
    this.take(whole);
  }
}

function integerOf(data: Buffer, start: number, end: number): number {
  const isNegative = data[start] === MINUS;
  let value = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at++)
    value = value * 10 + (data[at] as number) - ZERO;
  return isNegative ? -value : value;
}
