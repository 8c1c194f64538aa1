/** Copies bytes: a few of them in a loop, which is faster than a call into the runtime. */

/** The most bytes that a loop copies (benchmarks/micro/encoder.ts). */
const LOOP_COPY_BYTES = 32;

/** A new Buffer with these bytes. */
export function copyBytes(bytes: Buffer, start: number, end: number): Buffer {
  const size = end - start;
  const copy = Buffer.allocUnsafe(size);
  if (size > LOOP_COPY_BYTES) bytes.copy(copy, 0, start, end);
  else for (let i = 0; i < size; i++) copy[i] = bytes[start + i] as number;
  return copy;
}

/** Copies all bytes of the source; returns the position after them. */
export function copyInto(bytes: Buffer, at: number, source: Buffer): number {
  const size = source.length;
  if (size <= LOOP_COPY_BYTES) for (let i = 0; i < size; i++) bytes[at + i] = source[i] as number;
  else bytes.set(source, at);
  return at + size;
}
