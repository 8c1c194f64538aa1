/**
 * Memory blocks shared by all connections of the thread, so that an idle connection owns no block. Sizes are
 * powers of two between `MIN_BLOCK_BYTES` and `MAX_POOLED_BYTES`; larger blocks are allocated in the exact size
 * and garbage-collected. A released block may be reused immediately, so its former owner must not read it any
 * more.
 */

export const MIN_BLOCK_BYTES = 16 * 1024;
/** Holds any string of 1 MiB with three bytes per character (fresh memory costs more than copying). */
export const MAX_POOLED_BYTES = 4 * 1024 * 1024;
/** The memory retained for each block size, or `RETAINED_BLOCKS` blocks if these are larger. */
const RETAINED_BYTES_PER_SIZE = 2 * 1024 * 1024;
const RETAINED_BLOCKS = 4;

const SIZE_COUNT = 1 + Math.log2(MAX_POOLED_BYTES / MIN_BLOCK_BYTES);

/** The index of the smallest size that holds `byteCount`. */
function sizeIndex(byteCount: number): number {
  if (byteCount <= MIN_BLOCK_BYTES) return 0;
  return 32 - Math.clz32((byteCount - 1) / MIN_BLOCK_BYTES);
}

export class BlockPool {
  private readonly retained: Buffer[][] = Array.from({ length: SIZE_COUNT }, () => []);

  /** A block of at least `byteCount` bytes with arbitrary contents. */
  acquire(byteCount: number): Buffer {
    if (byteCount > MAX_POOLED_BYTES) return Buffer.allocUnsafeSlow(byteCount);
    const index = sizeIndex(byteCount);
    return (this.retained[index] as Buffer[]).pop() ?? Buffer.allocUnsafeSlow(MIN_BLOCK_BYTES << index);
  }

  /** Like `acquire`, but returns null if new memory would be needed. */
  acquireRetained(byteCount: number): Buffer | null {
    if (byteCount > MAX_POOLED_BYTES) return null;
    for (let index = sizeIndex(byteCount); index < SIZE_COUNT; index++) {
      const block = (this.retained[index] as Buffer[]).pop();
      if (block !== undefined) return block;
    }
    return null;
  }

  release(block: Buffer): void {
    const size = block.length;
    if (size > MAX_POOLED_BYTES) return;
    const blocks = this.retained[sizeIndex(size)] as Buffer[];
    const isRoom = blocks.length < RETAINED_BLOCKS || (blocks.length + 1) * size <= RETAINED_BYTES_PER_SIZE;
    if (isRoom) blocks.push(block);
  }
}

/** The pool of this thread. */
export const blockPool = new BlockPool();
