/**
 * A bulk string that is processed as it arrives: discarded, or read by the socket directly into the Buffer for
 * the caller, without a copy. That Buffer has the exact size; the line end is read elsewhere. Memory is never
 * allocated for an announced size alone.
 */

import { MIN_BLOCK_BYTES } from "./block-pool";
import { LARGE_BYTES } from "./limits";

/** The memory for a value may be at most this many times its received bytes. */
const EARNED_FACTOR = 32;

/** Whether the memory of a value that is wanted as a Buffer may be allocated now. */
export function isEarned(size: number, arrived: number): boolean {
  return size > LARGE_BYTES && size <= arrived * EARNED_FACTOR;
}

export class PassingBulk {
  /**
   * After a garbage collection the C library returns the memory above its last live block to the system. Every
   * 4 KiB of the next values then cost a page fault, which is more than reading them. A small block allocated
   * after the newest value is usually the last one, and keeps that memory.
   */
  static keeper: Buffer | null = null;
  /** The remaining bytes, including the line end. */
  left = 0;
  private value: Buffer | null = null;

  begin(length: number, isDropped: boolean): void {
    this.left = length + 2;
    if (isDropped) return;
    this.value = Buffer.allocUnsafeSlow(length);
    PassingBulk.keeper = Buffer.allocUnsafeSlow(MIN_BLOCK_BYTES);
  }

  /** The memory for the next bytes, if the value has its own Buffer. */
  get room(): Buffer | null {
    const { value, left } = this;
    if (value === null || left <= 2) return null;
    const at = value.length + 2 - left;
    return value.subarray(at, at + LARGE_BYTES);
  }

  /** Takes the bytes before the line end from `bytes[at, end)`; returns their number. */
  take(bytes: Buffer, at: number, end: number): number {
    const { value, left } = this;
    const count = Math.min(left - 2, end - at);
    value?.set(bytes.subarray(at, at + count), value.length + 2 - left);
    this.left -= count;
    return count;
  }

  /** The value, or null if it was discarded. */
  finish(): Buffer | null {
    const { value } = this;
    this.value = null;
    this.left = 0;
    return value;
  }
}
