/**
 * Collects the bytes of a flush in pooled blocks; large Buffers of the caller are sent by reference, between
 * two pieces of a block. Knows nothing of RESP.
 *
 *   block:  | earlier piece | this piece | free |
 *                           ^ start      ^ at
 *
 * A flush has blocks of its own, which return to the pool when the flush is released; an idle connection owns
 * no block.
 */

import { blockPool } from "./block-pool";
import { lendCopy, returnCopy } from "./large-copies";
import { LARGE_BYTES } from "./limits";

/** Buffers of at least this size are not copied: the copy would cost more than an additional segment. */
export const REFERENCE_FROM_BYTES = 16 * 1024;

const NOTHING = Buffer.alloc(0);

/** The bytes of one flush. */
export interface FlushBytes {
  /** In order: pieces of the blocks, and Buffers of the caller. */
  readonly segments: readonly Buffer[];
  readonly blocks: readonly Buffer[];
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
  private blocks: Buffer[] = [];

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

  /** Returns the collected bytes. The caller releases them once they are written. */
  take(): FlushBytes {
    this.closePiece();
    const { segments, blocks } = this;
    this.segments = [];
    this.blocks = [];
    this.closedBytes = this.at = this.start = 0;
    this.bytes = NOTHING;
    return { segments, blocks };
  }

  private renew(byteCount: number): void {
    this.closePiece();
    this.bytes = blockPool.acquire(Math.max(byteCount, LARGE_BYTES));
    this.blocks.push(this.bytes);
    this.at = this.start = 0;
  }

  private closePiece(): void {
    if (this.at === this.start) return;
    this.segments.push(this.bytes.subarray(this.start, this.at));
    this.closedBytes += this.at - this.start;
    this.start = this.at;
  }
}

/** The socket has finished with the flush. */
export function releaseFlush({ segments, blocks }: FlushBytes): void {
  for (const block of blocks) blockPool.release(block);
  // A flush that contains a Buffer of the caller has several segments.
  if (segments.length > 1) segments.forEach(returnCopy);
}

/** For a stream that may read the flush at any later time: segments whose memory is not reused. */
export function keptSegments({ segments, blocks }: FlushBytes): readonly Buffer[] {
  const kept = segments.map((segment) => {
    if (blocks.some(({ buffer }) => buffer === segment.buffer)) return Buffer.from(segment);
    lendCopy(segment, Number.POSITIVE_INFINITY);
    return segment;
  });
  for (const block of blocks) blockPool.release(block);
  return kept;
}
