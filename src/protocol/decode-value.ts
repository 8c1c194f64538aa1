/**
 * From bytes of the slab to values of their own: strings are decoded, Buffers copied, and so
 * nothing that leaves this folder changes with the next read.
 */

import { isAscii } from "node:buffer";
import { ReplyError } from "../errors";
import { sliceLatin1, sliceUtf8 } from "./native-slices";

/** Strings up to here are made by `shortText`. */
const MAX_SHORT_TEXT = 16;
/** From here on latin1 is faster than UTF-8 for bytes known to be ASCII (benchmarks/micro/parser.ts). */
const LATIN1_FROM_BYTES = 128;
/** From here on it pays to look whether the bytes are ASCII. */
const CHECKED_FROM_BYTES = 8192;
/** Up to here a loop copies faster than the runtime is called. */
const LOOP_COPY_BYTES = 24;

/** No byte that it is given is missing. */
const char = String.fromCharCode as (...units: (number | undefined)[]) => string;

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

/**
 * Strings of up to 16 ASCII characters, made without leaving JavaScript: 6 to 34 ns against 50 to
 * 60 for any native slice (benchmarks/micro/parser.ts). The steps are written out because the
 * engine compiles `fromCharCode` with a fixed number of arguments inline, and only that. The bytes
 * are the `n` from `s` on, each below 0x80; `n` is from 0 to `MAX_SHORT_TEXT`.
 */
function shortText(b: Uint8Array, s: number, n: number): string {
  if (n === 0) return "";
  const c = b[s];
  if (n === 1) return char(c);
  const d = b[s + 1];
  if (n === 2) return char(c, d);
  const e = b[s + 2];
  if (n === 3) return char(c, d, e);
  const f = b[s + 3];
  if (n === 4) return char(c, d, e, f);
  const g = b[s + 4];
  if (n === 5) return char(c, d, e, f, g);
  const h = b[s + 5];
  if (n === 6) return char(c, d, e, f, g, h);
  const i = b[s + 6];
  if (n === 7) return char(c, d, e, f, g, h, i);
  const j = b[s + 7];
  if (n === 8) return char(c, d, e, f, g, h, i, j);
  const k = b[s + 8];
  if (n === 9) return char(c, d, e, f, g, h, i, j, k);
  const l = b[s + 9];
  if (n === 10) return char(c, d, e, f, g, h, i, j, k, l);
  const m = b[s + 10];
  if (n === 11) return char(c, d, e, f, g, h, i, j, k, l, m);
  const o = b[s + 11];
  if (n === 12) return char(c, d, e, f, g, h, i, j, k, l, m, o);
  const p = b[s + 12];
  if (n === 13) return char(c, d, e, f, g, h, i, j, k, l, m, o, p);
  const q = b[s + 13];
  if (n === 14) return char(c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  const r = b[s + 14];
  if (n === 15) return char(c, d, e, f, g, h, i, j, k, l, m, o, p, q, r);
  return char(c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, b[s + 15]);
}
