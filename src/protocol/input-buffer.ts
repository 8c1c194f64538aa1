/**
 * The bytes that have arrived and are not parsed yet, always in one piece. Knows nothing of RESP.
 *
 *   bytes:  | parsed |   unread   | free |
 *                    ^ start      ^ end  ^ the next read lands here
 *
 * A connection with nothing unread borrows the slab that all connections of the thread share: a
 * read and its parsing are one synchronous step, so nobody else can touch it in between. What
 * remains unread is moved to a block of its own before that step ends. Memory grows with what has
 * arrived, at most doubling; it never follows an announced size.
 */

import { isAscii } from "node:buffer";
import { blockPool, MIN_BLOCK_BYTES } from "./block-pool";
import { LARGE_BYTES } from "./passing-bulk";

/** Bytes asked for by one read; reads of 64 KiB and less cost 5-25 % more CPU on small replies. */
const SLAB_BYTES = 256 * 1024;
/** An unread rest up to this size is looked at again when it is worth knowing that all is ASCII. */
const RECHECKED_BYTES = 1024;

const NOTHING = Buffer.alloc(0);

let sharedSlab = NOTHING;

function borrowSlab(): Buffer {
  if (sharedSlab.length === 0) sharedSlab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  return sharedSlab;
}

export class InputBuffer {
  bytes: Buffer = NOTHING;
  start = 0;
  end = 0;
  /** The bytes before this place have been looked at. */
  private lookedAt = 0;
  private hasOnlyAscii = true;
  /** Position of `bytes[0]` in all that the connection has received. */
  origin = 0;
  private own: Buffer | null = null;

  /**
   * Where the next read shall land; `neededBytes` is the size of the unfinished value if known.
   * Must be asked before every `commit`, because the slab is shared.
   */
  reserve(neededBytes: number): Uint8Array {
    if (this.start === this.end) {
      this.giveBack();
      return (this.bytes = borrowSlab());
    }
    this.makeRoom(neededBytes, 1);
    return this.bytes.subarray(this.end, neededBytes > LARGE_BYTES ? this.end + LARGE_BYTES : undefined);
  }

  /** `byteCount` bytes were read into what `reserve` gave. */
  commit(byteCount: number): void {
    this.end += byteCount;
  }

  /** Every unread byte is below 0x80; false also when that is not known. Looks only when asked: Buffers need not know. */
  get isAscii(): boolean {
    if (this.lookedAt < this.end) this.look();
    return this.hasOnlyAscii;
  }

  /** A chunk that lies elsewhere. It may be used until `keepRest`, and is not altered. */
  append(chunk: Buffer, neededBytes: number): void {
    if (this.start === this.end) {
      this.giveBack();
      this.bytes = chunk;
      this.end = chunk.length;
      return;
    }
    this.makeRoom(neededBytes, chunk.length);
    this.bytes.set(chunk, this.end);
    this.commit(chunk.length);
  }

  /** Ends a step: what is unread moves out of memory that belongs to others. */
  keepRest(): void {
    if (this.start === this.end || this.bytes === this.own) return;
    // A connection with little traffic that waits for the end of a reply shall not hold much.
    const isBusy = this.end > MIN_BLOCK_BYTES;
    const rest = this.end - this.start;
    this.moveTo(blockPool.acquire(isBusy ? Math.max(rest, SLAB_BYTES) : MIN_BLOCK_BYTES));
  }

  /** Forgets everything. The block may still be known to a socket, so it does not go to the pool. */
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
    this.lookedAt = 0;
    this.hasOnlyAscii = true;
    if (this.own === null) return;
    blockPool.release(this.own);
    this.own = null;
  }

  /**
   * At least `arrivingBytes` free bytes behind the unread ones. A block that exists already is
   * taken for a large value at once; new memory only when the present block is full.
   */
  private makeRoom(neededBytes: number, arrivingBytes: number): void {
    const old = this.bytes;
    const filled = this.end - this.start + arrivingBytes;
    // The last read took all there was room for, so more is waiting.
    const isTooSmall = this.end === old.length && old.length < SLAB_BYTES;
    let block: Buffer | null = null;
    if (filled > old.length || isTooSmall) block = this.acquireMore(neededBytes, filled);
    else if (neededBytes > old.length) block = blockPool.acquireRetained(neededBytes);
    if (block !== null) {
      this.moveTo(block);
      blockPool.release(old);
    } else if (this.start > 0) this.moveTo(old);
  }

  private acquireMore(neededBytes: number, filled: number): Buffer {
    const justified = Math.max(filled, this.bytes.length * 2, SLAB_BYTES);
    // The length of a line is not known ahead.
    const wanted = neededBytes > 0 ? Math.max(neededBytes, filled, SLAB_BYTES) : justified;
    return blockPool.acquireRetained(wanted) ?? blockPool.acquire(Math.min(wanted, justified));
  }

  private moveTo(block: Buffer): void {
    this.bytes.copy(block, 0, this.start, this.end);
    this.origin += this.start;
    this.end -= this.start;
    this.lookedAt = Math.max(0, this.lookedAt - this.start);
    this.start = 0;
    this.bytes = block;
    this.own = block;
  }

  private look(): void {
    const isShort = this.lookedAt - this.start <= RECHECKED_BYTES;
    if (isShort) this.hasOnlyAscii = true;
    const from = isShort ? this.start : this.lookedAt;
    if (this.hasOnlyAscii) this.hasOnlyAscii = isAscii(this.bytes.subarray(from, this.end));
    this.lookedAt = this.end;
  }
}
