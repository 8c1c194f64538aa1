/**
 * A bulk string that passes through as it arrives: to nobody, or into a Buffer of its own, so that
 * the socket reads into what the caller gets and nothing is copied. That Buffer has the exact
 * size; the line end is read elsewhere. Memory is never given for a size that was only announced.
 */

import { MAX_POOLED_BYTES } from "./block-pool";

/** Values from here on are read into their own Buffer, and not looked at when they are text. */
export const LARGE_BYTES = 64 * 1024;
/** In the middle of a large value longer reads cost more CPU and hold up the sender. */
export const READ_BYTES = 64 * 1024;
/** What has arrived of a value earns it so many times as much memory, */
const EARNED_FACTOR = 32;
/** or, if no block of the pool could hold it, so many times. */
const EARNED_FACTOR_OF_HUGE = 2;
const KEEPER_BYTES = 16 * 1024;

/** Whether a value that is wanted as a Buffer may have its memory now. */
export function isEarned(size: number, arrived: number): boolean {
  const factor = size <= MAX_POOLED_BYTES ? EARNED_FACTOR : EARNED_FACTOR_OF_HUGE;
  return size > LARGE_BYTES && size <= arrived * factor;
}

export class PassingBulk {
  /**
   * After a collection the C library gives the memory above its last live block back to the
   * system, and every 4 KiB of the next values cost a page fault: more than reading them. A small
   * block allocated behind the newest value is mostly the last one, and so keeps that memory.
   */
  static keeper: Buffer | null = null;
  /** Bytes to come, the line end included. */
  left = 0;
  private value: Buffer | null = null;

  begin(length: number, isDropped: boolean): void {
    this.left = length + 2;
    if (isDropped) return;
    this.value = Buffer.allocUnsafeSlow(length);
    PassingBulk.keeper = Buffer.allocUnsafeSlow(KEEPER_BYTES);
  }

  /** The next bytes belong into `room` and nowhere else. */
  get isFilling(): boolean {
    return this.value !== null && this.left > 2;
  }

  get room(): Buffer {
    const value = this.value as Buffer;
    const at = value.length + 2 - this.left;
    return value.subarray(at, at + READ_BYTES);
  }

  /** Takes from `bytes[at, end)` what stands in front of the line end; returns how much that was. */
  take(bytes: Buffer, at: number, end: number): number {
    const count = Math.min(this.left - 2, end - at);
    const { value } = this;
    if (value !== null) bytes.copy(value, value.length + 2 - this.left, at, at + count);
    this.left -= count;
    return count;
  }

  finish(): Buffer | null {
    const { value } = this;
    this.left = 0;
    this.value = null;
    return value;
  }
}
