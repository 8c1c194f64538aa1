/**
 * Copies large byte arguments into reused memory, because touching fresh memory costs several times the
 * copying. A copy is reused once its command is answered and no socket holds it. Any other possible reader (a
 * failed command, a stream that is not a socket, a replaced `sendCommand`) keeps the copy, which is then
 * garbage-collected.
 */

import { MAX_POOLED_BYTES } from "./block-pool";

/** The total size of retained copies. */
const RETAINED_BYTES = 8 * 1024 * 1024;
/** A block of more than this many times the size of a copy is reserved for larger copies. */
const MOST_WASTE = 4;

interface LargeCopy {
  readonly memory: Buffer;
  /** Its command, and the sockets that hold it. */
  users: number;
}

const copies = new WeakMap<object, LargeCopy>();
const retained: Buffer[] = [];
let retainedBytes = 0;

/** Set when a large copy was made; the caller resets it. */
export const largeCopies = { wereMade: false };

/** Copies `LARGE_BYTES` or more: copying fewer costs less than this bookkeeping. */
export function copyLarge(bytes: Buffer): Buffer {
  const size = bytes.length;
  const memory = acquire(size);
  copies.set(memory.buffer, { memory, users: 1 });
  largeCopies.wereMade = true;
  const copy = memory.length === size ? memory : memory.subarray(0, size);
  copy.set(bytes);
  return copy;
}

/**
 * Another user receives it, such as a socket.
 * @param users Infinite for a user that may never return it.
 */
export function lendCopy(bytes: Buffer, users = 1): void {
  const copy = copies.get(bytes.buffer);
  if (copy !== undefined) copy.users += users;
}

/** A socket has finished with it, or its command is answered and will not be sent again. */
export function returnCopy(bytes: Buffer): void {
  const copy = copies.get(bytes.buffer);
  if (copy === undefined || --copy.users > 0) return;
  const { memory } = copy;
  copies.delete(memory.buffer);
  if (memory.length > MAX_POOLED_BYTES) return;
  while (retainedBytes + memory.length > RETAINED_BYTES) retainedBytes -= (retained.shift() as Buffer).length;
  retained.push(memory);
  retainedBytes += memory.length;
}

/** The Buffer that was used last is most likely still in the processor's cache. */
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
