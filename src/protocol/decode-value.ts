/** Decodes bytes of the slab to strings. The next read overwrites the slab, so no string may depend on it. */

import { isAscii } from "node:buffer";
import { ASCII } from "./ascii";

/** The longest strings that `shortText` creates, in bytes. */
const MAX_SHORT_TEXT = 16;
/** From this size on, checking for ASCII pays off, because latin1 is faster than UTF-8 (benchmarks/micro/parser.ts). */
const CHECKED_FROM_BYTES = 4096;

const { LAST } = ASCII;
const char = String.fromCharCode;

/** The text of UTF-8 bytes. */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const size = end - start;
  if (size <= MAX_SHORT_TEXT) {
    const text = shortText(bytes, start, size);
    if (text !== null) return text;
  }
  const isLatin1 = size >= CHECKED_FROM_BYTES && isAscii(bytes.subarray(start, end));
  return bytes.toString(isLatin1 ? "latin1" : "utf8", start, end);
}

/**
 * Creates strings of up to 16 ASCII characters without a native call: 6 to 34 ns instead of 50 to 60 ns
 * (benchmarks/micro/parser.ts). Returns null for other characters. The engine inlines `fromCharCode` only with a
 * fixed number of arguments. A separate loop over the bytes would cost an eighth of the time of a long list.
 */
function shortText(b: Uint8Array, s: number, n: number): string | null {
  if (n === 0) return "";
  const c = b[s] as number;
  let bits = c;
  if (n === 1) return bits <= LAST ? char(c) : null;
  const d = b[s + 1] as number;
  bits |= d;
  if (n === 2) return bits <= LAST ? char(c, d) : null;
  const e = b[s + 2] as number;
  bits |= e;
  if (n === 3) return bits <= LAST ? char(c, d, e) : null;
  const f = b[s + 3] as number;
  bits |= f;
  if (n === 4) return bits <= LAST ? char(c, d, e, f) : null;
  const g = b[s + 4] as number;
  bits |= g;
  if (n === 5) return bits <= LAST ? char(c, d, e, f, g) : null;
  const h = b[s + 5] as number;
  bits |= h;
  if (n === 6) return bits <= LAST ? char(c, d, e, f, g, h) : null;
  const i = b[s + 6] as number;
  bits |= i;
  if (n === 7) return bits <= LAST ? char(c, d, e, f, g, h, i) : null;
  const j = b[s + 7] as number;
  bits |= j;
  if (n === 8) return bits <= LAST ? char(c, d, e, f, g, h, i, j) : null;
  const k = b[s + 8] as number;
  bits |= k;
  if (n === 9) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k) : null;
  const l = b[s + 9] as number;
  bits |= l;
  if (n === 10) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l) : null;
  const m = b[s + 10] as number;
  bits |= m;
  if (n === 11) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l, m) : null;
  const o = b[s + 11] as number;
  bits |= o;
  if (n === 12) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l, m, o) : null;
  const p = b[s + 12] as number;
  bits |= p;
  if (n === 13) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l, m, o, p) : null;
  const q = b[s + 13] as number;
  bits |= q;
  if (n === 14) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l, m, o, p, q) : null;
  const r = b[s + 14] as number;
  bits |= r;
  if (n === 15) return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l, m, o, p, q, r) : null;
  const t = b[s + 15] as number;
  bits |= t;
  return bits <= LAST ? char(c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, t) : null;
}
