/**
 * Copies of large byte arguments, in memory that carried others before: to touch fresh memory
 * costs several times the copying. A copy is used again once its command is answered and no
 * socket has it any more. Whatever else may look at it (a failed command, a stream that is no
 * socket, a replaced `sendCommand`) keeps it, and it is left to the garbage collector.
 */

/** Smaller copies cost less than what is done here. */
export const LARGE_COPY_BYTES = 64 * 1024;
/** Larger ones are not kept. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Kept altogether. */
const RETAINED_BYTES = 8 * 1024 * 1024;
/** Memory so many times larger than the copy is left for larger ones. */
const MOST_WASTE = 4;

class LargeCopy {
  /** Times a socket has it. */
  readers = 0;
  isAnswered = false;
  isHeld = false;

  constructor(readonly memory: Buffer) {}
}

const copies = new WeakMap<object, LargeCopy>();
const retained: Buffer[] = [];
let retainedBytes = 0;

/** Since when a caller has last looked: a large copy was made. */
export const largeCopies = { wereMade: false };

/** Copies `LARGE_COPY_BYTES` or more. */
export function copyLarge(bytes: Buffer): Buffer {
  const size = bytes.length;
  const memory = acquire(size);
  copies.set(memory.buffer, new LargeCopy(memory));
  largeCopies.wereMade = true;
  const copy = memory.length === size ? memory : memory.subarray(0, size);
  copy.set(bytes);
  return copy;
}

/** The command is answered: nobody sends this again. */
export function answeredCopy(bytes: Buffer): void {
  const copy = copies.get(bytes.buffer);
  if (copy === undefined) return;
  copy.isAnswered = true;
  recycle(copy);
}

/** A socket is about to get it. */
export function lendCopy(bytes: Buffer): void {
  const copy = copies.get(bytes.buffer);
  if (copy !== undefined) copy.readers++;
}

/** A socket is done with it. */
export function returnCopy(bytes: Buffer): void {
  const copy = copies.get(bytes.buffer);
  if (copy === undefined) return;
  copy.readers--;
  recycle(copy);
}

/** Something may look at it for any length of time. */
export function holdCopy(bytes: Buffer): void {
  const copy = copies.get(bytes.buffer);
  if (copy !== undefined) copy.isHeld = true;
}

function recycle({ isAnswered, isHeld, readers, memory }: LargeCopy): void {
  if (!isAnswered || isHeld || readers > 0) return;
  copies.delete(memory.buffer);
  if (memory.length > MOST_BYTES) return;
  while (retainedBytes + memory.length > RETAINED_BYTES) retainedBytes -= (retained.shift() as Buffer).length;
  retained.push(memory);
  retainedBytes += memory.length;
}

/** The Buffer that was used last is most likely still in the caches of the processor. */
function acquire(size: number): Buffer {
  for (let i = retained.length - 1; i >= 0; i--) {
    const memory = retained[i] as Buffer;
    if (memory.length < size || memory.length > size * MOST_WASTE) continue;
    retained.splice(i, 1);
    retainedBytes -= memory.length;
    return memory;
  }
  return Buffer.allocUnsafeSlow(size);
}
