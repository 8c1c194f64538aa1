/**
 * From bytes of the slab to values of their own: strings are decoded, Buffers copied, and so
 * nothing that leaves this folder changes with the next read.
 */

import { isAscii } from "node:buffer";
import { ReplyError } from "../errors";
import { sliceLatin1, sliceUtf8 } from "./native-slices";
import { MAX_SHORT_TEXT, shortText } from "./short-text";

/** From here on latin1 is faster than UTF-8 for bytes known to be ASCII (benchmarks/micro/parser.ts). */
const LATIN1_FROM_BYTES = 128;
/** From here on it pays to look whether the bytes are ASCII. */
const CHECKED_FROM_BYTES = 8192;
/** Up to here a loop copies faster than the runtime is called. */
const LOOP_COPY_BYTES = 24;

/** By their size. */
const USUAL_STATUSES = ["", "", "OK", "", "PONG", "", "QUEUED"];

/** UTF-8 text; `isKnownAscii` says that all bytes are below 0x80, false says nothing. */
export function decodeText(bytes: Buffer, start: number, end: number, isKnownAscii: boolean): string {
  const size = end - start;
  if (size <= MAX_SHORT_TEXT) {
    if (isKnownAscii || areAscii(bytes, start, end)) return shortText(bytes, start, size);
    return sliceUtf8(bytes, start, end);
  }
  if (size < LATIN1_FROM_BYTES) return sliceUtf8(bytes, start, end);
  if (isKnownAscii) return sliceLatin1(bytes, start, end);
  if (size < CHECKED_FROM_BYTES || !isAscii(bytes.subarray(start, end))) return sliceUtf8(bytes, start, end);
  return sliceLatin1(bytes, start, end);
}

/** As `decodeText`, for simple strings, of which nearly all are one of three. */
export function decodeStatus(bytes: Buffer, start: number, end: number, isKnownAscii: boolean): string {
  const size = end - start;
  const usual = size < USUAL_STATUSES.length ? (USUAL_STATUSES[size] as string) : "";
  return usual !== "" && hasAscii(bytes, start, usual) ? usual : decodeText(bytes, start, end, isKnownAscii);
}

/** A Buffer of its own. */
export function copyBytes(bytes: Buffer, start: number, end: number): Buffer {
  const size = end - start;
  const copy = Buffer.allocUnsafe(size);
  if (size > LOOP_COPY_BYTES) bytes.copy(copy, 0, start, end);
  else for (let i = 0; i < size; i++) copy[i] = bytes[start + i] as number;
  return copy;
}

/**
 * An error reply. Its stack is the message line alone: the frames would be those of the parser,
 * and capturing them costs more than all the rest.
 */
export function createReplyError(message: string): ReplyError {
  const limit = Error.stackTraceLimit;
  limitStacks(0);
  const error = new ReplyError(message);
  limitStacks(limit);
  return error;
}

/** The property may be frozen; then the frames are captured after all. */
function limitStacks(limit: number): void {
  try {
    Error.stackTraceLimit = limit;
  } catch {}
}

function hasAscii(bytes: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}

function areAscii(bytes: Buffer, start: number, end: number): boolean {
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i] as number;
  return bits < 0x80;
}
