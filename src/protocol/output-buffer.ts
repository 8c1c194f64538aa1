/**
 * Collects the bytes of a flush in pooled blocks; large Buffers of the caller go out by
 * reference, between two pieces of a block. Knows nothing of RESP.
 *
 *   block:  | written earlier | this flush | free |
 *                             ^ start      ^ at
 *
 * Pieces handed out never overlap, so a later flush may go on in the free rest at once. A block
 * returns to the pool when all its pieces were released; an idle connection owns no block.
 */

import { blockPool } from "./block-pool";
import { holdCopy, lendCopy, returnCopy } from "./large-copies";

/** Buffers from here on are not copied: copying costs more than one more piece in the write. */
export const REFERENCE_FROM_BYTES = 16 * 1024;
/** A flush up to this size is one segment; larger blocks only for strings that need them. */
const BLOCK_BYTES = 64 * 1024;
/** A flush does not begin in a rest smaller than this, lest it be written in two pieces. */
const MIN_REST_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/** A block of which pieces are with the socket. */
interface Lease {
  readonly block: Buffer;
  pieces: number;
  /** Some stream may hold a piece for ever: the block does not return to the pool. */
  isLost: boolean;
}

export class OutputBuffer {
  /** The block that is being filled. `bytes` and `at` are for the encoder, after `ensure`. */
  bytes: Buffer = NOTHING;
  /** Where the next byte goes. */
  at = 0;
  private start = 0;
  /** Bytes in `segments`. */
  private closedBytes = 0;
  private segments: Buffer[] = [];
  private leases: Lease[] = [];
  /** The present block does not return to the pool. */
  private isLost = false;

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.closedBytes + this.at - this.start;
  }

  /** Makes room for `byteCount` bytes in one piece at `at`. */
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

  /** The bytes that have gathered, in order. `release` them once it is written. */
  take(): Buffer[] {
    this.closePiece();
    const segments = this.segments;
    this.segments = [];
    this.closedBytes = 0;
    if (this.bytes.length - this.at < MIN_REST_BYTES) this.leaveBlock();
    return segments;
  }

  /** The socket is done with what `take` gave. */
  release(segments: readonly Buffer[]): void {
    for (const segment of segments) this.releasePiece(segment);
    if (this.leases.length === 0 && this.at === this.start) this.leaveBlock();
  }

  /** As `release`, for a stream that may look at the pieces later: their blocks are not used again. */
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
    this.bytes = blockPool.acquire(Math.max(byteCount, BLOCK_BYTES));
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

  /** No more is written to the present block. */
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

  /** Place of the lease that the piece belongs to; -1 for a Buffer of the caller. */
  private leaseOf(segment: Buffer): number {
    const memory = segment.buffer;
    for (let i = 0; i < this.leases.length; i++)
      if ((this.leases[i] as Lease).block.buffer === memory) return i;
    return -1;
  }
}
