/**
 * The received bytes that are not parsed yet, always contiguous. Knows nothing of RESP.
 *
 *   bytes:  | parsed |   unread   | free |
 *                    ^ start      ^ end  ^ the next read goes here
 *
 * A connection without unread bytes borrows the slab that all connections of the thread share: reading and
 * parsing are one synchronous step, so no other connection can use it in between. Remaining unread bytes move
 * to the connection's own block before that step ends. Memory grows with the received bytes, at most doubling;
 * it never follows an announced size.
 */

import { blockPool, MIN_BLOCK_BYTES } from "./block-pool";
import { LARGE_BYTES } from "./limits";

/** The size of one read; reads of 64 KiB and less cost 5 to 25 % more CPU with small replies. */
const SLAB_BYTES = 256 * 1024;

const NOTHING = Buffer.alloc(0);

/** The system provides its pages at the first read. */
const sharedSlab = Buffer.allocUnsafeSlow(SLAB_BYTES);

export class InputBuffer {
  bytes: Buffer = NOTHING;
  start = 0;
  end = 0;
  /** The position of `bytes[0]` in the byte stream of the connection. */
  origin = 0;
  private own: Buffer | null = null;

  /**
   * The memory for the next read, valid until another connection reads. The reader adds the number of bytes to `end`.
   * @param neededBytes The size of the unfinished value, if known.
   */
  reserve(neededBytes: number): Uint8Array {
    if (this.start === this.end) {
      this.giveBack();
      return (this.bytes = sharedSlab);
    }
    this.makeRoom(neededBytes, 1);
    return this.bytes.subarray(this.end, neededBytes > LARGE_BYTES ? this.end + LARGE_BYTES : undefined);
  }

  /** A chunk in other memory. It is used until `keepRest`, and not modified. */
  append(chunk: Buffer, neededBytes: number): void {
    if (this.start === this.end) {
      this.giveBack();
      this.bytes = chunk;
      this.end = chunk.length;
      return;
    }
    this.makeRoom(neededBytes, chunk.length);
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
  }

  /** Ends a step: unread bytes move out of borrowed memory. */
  keepRest(): void {
    if (this.start === this.end || this.bytes === this.own) return;
    // A connection with little traffic that waits for the rest of a reply must not hold much memory.
    const isBusy = this.end > MIN_BLOCK_BYTES;
    const rest = this.end - this.start;
    this.moveTo(blockPool.acquire(isBusy ? Math.max(rest, SLAB_BYTES) : MIN_BLOCK_BYTES));
  }

  /** Drops all bytes. A socket may still refer to the block, so it does not return to the pool. */
  drop(): void {
    this.own = null;
    this.bytes = NOTHING;
    this.start = 0;
    this.end = 0;
  }

  private giveBack(): void {
    this.origin += this.end;
    this.start = 0;
    this.end = 0;
    if (this.own === null) return;
    blockPool.release(this.own);
    this.own = null;
  }

  /**
   * Ensures at least `arrivingBytes` free bytes after the unread ones. A retained block is used immediately for
   * a large value; new memory is allocated only when the current block is full.
   */
  private makeRoom(neededBytes: number, arrivingBytes: number): void {
    const old = this.bytes;
    const filled = this.end - this.start + arrivingBytes;
    // The last read filled the block, so more bytes are waiting.
    const isTooSmall = this.end === old.length && old.length < SLAB_BYTES;
    let block = neededBytes > old.length ? blockPool.acquireRetained(Math.max(neededBytes, filled)) : null;
    if (block === null && (filled > old.length || isTooSmall)) {
      // The length of a line is not known in advance.
      const wanted = Math.min(neededBytes || Number.POSITIVE_INFINITY, old.length * 2);
      block = blockPool.acquire(Math.max(filled, wanted, SLAB_BYTES));
    }
    if (block !== null) {
      this.moveTo(block);
      blockPool.release(old);
    } else if (this.start > 0) this.moveTo(old);
  }

  private moveTo(block: Buffer): void {
    this.bytes.copy(block, 0, this.start, this.end);
    this.origin += this.start;
    this.end -= this.start;
    this.start = 0;
    this.bytes = block;
    this.own = block;
  }
}
