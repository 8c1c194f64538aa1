/**
 * A bulk string that passes through as it arrives: to nobody, or into a Buffer of its own, so that
 * the socket reads into what the caller gets and nothing is copied. That Buffer has the exact
 * size; the line end is read elsewhere. Memory is never given for a size that was only announced.
 */

/**
 * Values from here on are read into their own Buffer, and not looked at when they are text. In the
 * middle of one no more than this is read at a time: it costs more CPU and holds up the sender.
 */
export const LARGE_BYTES = 64 * 1024;
/** The bytes of a value that have arrived earn it so many times as much memory. */
const EARNED_FACTOR = 32;
const KEEPER_BYTES = 16 * 1024;

/** Whether a value that is wanted as a Buffer may have its memory now. */
export function isEarned(size: number, arrived: number): boolean {
  return size > LARGE_BYTES && size <= arrived * EARNED_FACTOR;
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

  /** Where the next bytes belong and nothing else, if they have a place of their own. */
  get room(): Buffer | null {
    const { value, left } = this;
    if (value === null || left <= 2) return null;
    const at = value.length + 2 - left;
    return value.subarray(at, at + LARGE_BYTES);
  }

  /** Takes from `bytes[at, end)` what stands in front of the line end; returns how much that was. */
  take(bytes: Buffer, at: number, end: number): number {
    const { value, left } = this;
    const count = Math.min(left - 2, end - at);
    value?.set(bytes.subarray(at, at + count), value.length + 2 - left);
    this.left -= count;
    return count;
  }

  /** The value, or null if nobody wanted it. */
  finish(): Buffer | null {
    const { value } = this;
    this.value = null;
    this.left = 0;
    return value;
  }
}
