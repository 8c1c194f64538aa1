/**
 * Turns bytes of the slab into strings. No value that leaves this folder changes with the next read.
 */

import { isAscii } from "node:buffer";

/** The longest strings that `shortText` creates. */
const MAX_SHORT_TEXT = 16;
/** From this size on, checking for ASCII pays off, because latin1 is faster than UTF-8 (benchmarks/micro/parser.ts). */
const CHECKED_FROM_BYTES = 4096;

/** Its arguments are never undefined, but the types of array elements say so. */
const char = String.fromCharCode as (...units: (number | undefined)[]) => string;

/** The text of UTF-8 bytes. */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const size = end - start;
  if (size <= MAX_SHORT_TEXT) {
    let bits = 0;
    for (let i = start; i < end; i++) bits |= bytes[i] as number;
    if (bits < 0x80) return shortText(bytes, start, size);
  }
  const isLatin1 = size >= CHECKED_FROM_BYTES && isAscii(bytes.subarray(start, end));
  return bytes.toString(isLatin1 ? "latin1" : "utf8", start, end);
}

/**
 * Creates strings of up to 16 ASCII characters without a native call: 6 to 34 ns instead of 50 to 60 ns
 * (benchmarks/micro/parser.ts). The engine inlines `fromCharCode` only with a fixed number of arguments.
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
