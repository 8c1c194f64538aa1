/**
 * The encoding-specific readers and writers that `Buffer` inherits from the runtime. They skip the argument
 * checks of `toString` and `write` (10 ns a call, benchmarks/micro/parser.ts), but are not documented: if one
 * is missing, the documented method is used.
 */

/** Characters `start` to `end` of the buffer. */
export type SliceText = (bytes: Buffer, start: number, end: number) => string;
/** Writes the text at `at`, as many whole characters as fit; returns the number of bytes. */
export type WriteText = (bytes: Buffer, text: string, at: number) => number;

interface NativeMethods {
  latin1Slice?(start: number, end: number): string;
  utf8Slice?(start: number, end: number): string;
  utf8Write?(text: string, offset: number, length: number): number;
}

type Native = Buffer & Required<NativeMethods>;

const prototype = Buffer.prototype as NativeMethods;

export const sliceLatin1: SliceText =
  typeof prototype.latin1Slice === "function"
    ? (bytes, start, end) => (bytes as Native).latin1Slice(start, end)
    : (bytes, start, end) => bytes.toString("latin1", start, end);

export const sliceUtf8: SliceText =
  typeof prototype.utf8Slice === "function"
    ? (bytes, start, end) => (bytes as Native).utf8Slice(start, end)
    : (bytes, start, end) => bytes.toString("utf8", start, end);

export const writeUtf8: WriteText =
  typeof prototype.utf8Write === "function"
    ? (bytes, text, at) => (bytes as Native).utf8Write(text, at, bytes.length - at)
    : (bytes, text, at) => bytes.write(text, at, "utf8");
