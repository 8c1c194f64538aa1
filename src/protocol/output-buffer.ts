/**
 * Collects the bytes of a flush in pooled blocks; large Buffers of the caller are sent by reference, between
 * two pieces of a block. Knows nothing of RESP.
 *
 *   block:  | written earlier | this flush | free |
 *                             ^ start      ^ at
 *
 * Pieces never overlap, so a later flush may use the rest of the block immediately. A block returns to the pool
 * when all its pieces have been released; an idle connection owns no block.
 */

import { blockPool } from "./block-pool";
import { holdCopy, lendCopy, returnCopy } from "./large-copies";
import { LARGE_BYTES } from "./limits";

/**
 * The bytes that are worth an additional piece in the write: Buffers of at least this size are not copied, and a
 * flush does not start in a smaller rest of a block.
 */
export const REFERENCE_FROM_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/** A block with pieces that a socket still holds. */
interface Lease {
  readonly block: Buffer;
  pieces: number;
  /** A stream may hold a piece forever: the block does not return to the pool. */
  isLost: boolean;
}

export class OutputBuffer {
  /** The block that is being filled. The encoder uses `bytes` and `at` after `ensure`. */
  bytes: Buffer = NOTHING;
  /** The position of the next byte. */
  at = 0;
  private start = 0;
  /** The bytes in `segments`. */
  private closedBytes = 0;
  private segments: Buffer[] = [];
  private leases: Lease[] = [];
  /** The current block does not return to the pool. */
  private isLost = false;

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.closedBytes + this.at - this.start;
  }

  /** Makes contiguous room for `byteCount` bytes at `at`. */
  ensure(byteCount: number): void {
    if (this.bytes.length - this.at < byteCount) this.renew(byteCount);
  }

  /** Adds a Buffer without copying it. It must not change until it is written. */
  appendReference(buffer: Buffer): void {
    this.closePiece();
    lendCopy(buffer);
    this.segments.push(buffer);
    this.closedBytes += buffer.length;
  }

  /** The collected bytes, in order. `release` them once they are written. */
  take(): Buffer[] {
    this.closePiece();
    const segments = this.segments;
    this.segments = [];
    this.closedBytes = 0;
    if (this.bytes.length - this.at < REFERENCE_FROM_BYTES) this.leaveBlock();
    return segments;
  }

  /** The socket has finished with the segments from `take`. */
  release(segments: readonly Buffer[]): void {
    for (const segment of segments) this.releasePiece(segment);
    if (this.leases.length === 0 && this.at === this.start) this.leaveBlock();
  }

  /** Like `release`, for a stream that may read the pieces later: their blocks are not reused. */
  forget(segments: readonly Buffer[]): void {
    for (const segment of segments) {
      const place = this.leaseOf(segment);
      const lease = this.leases[place];
      if (lease === undefined) {
        holdCopy(segment);
        continue;
      }
      lease.isLost = true;
      if (lease.block === this.bytes) this.isLost = true;
      if (--lease.pieces === 0) this.leases.splice(place, 1);
    }
  }

  private renew(byteCount: number): void {
    this.closePiece();
    this.leaveBlock();
    this.bytes = blockPool.acquire(Math.max(byteCount, LARGE_BYTES));
  }

  private closePiece(): void {
    if (this.at === this.start) return;
    const piece = this.bytes.subarray(this.start, this.at);
    this.segments.push(piece);
    this.closedBytes += piece.length;
    this.start = this.at;
    const last = this.leases.length > 0 ? this.leases[this.leases.length - 1] : undefined;
    if (last?.block === this.bytes) last.pieces++;
    else this.leases.push({ block: this.bytes, pieces: 1, isLost: this.isLost });
  }

  /** Stops writing to the current block. */
  private leaveBlock(): void {
    const block = this.bytes;
    this.bytes = NOTHING;
    this.at = 0;
    this.start = 0;
    const isHeld = this.isLost || this.leases.some((lease) => lease.block === block);
    this.isLost = false;
    if (!isHeld && block.length > 0) blockPool.release(block);
  }

  private releasePiece(segment: Buffer): void {
    const place = this.leaseOf(segment);
    const lease = this.leases[place];
    if (lease === undefined) returnCopy(segment);
    if (lease === undefined || --lease.pieces > 0) return;
    this.leases.splice(place, 1);
    if (lease.block !== this.bytes && !lease.isLost) blockPool.release(lease.block);
  }

  /** The index of the piece's lease; -1 for a Buffer of the caller. */
  private leaseOf(segment: Buffer): number {
    const memory = segment.buffer;
    for (let i = 0; i < this.leases.length; i++)
      if ((this.leases[i] as Lease).block.buffer === memory) return i;
    return -1;
  }
}
