/**
 * Strings of up to 16 ASCII characters, made without leaving JavaScript: 6 to 34 ns against 50 to
 * 60 for any native slice (benchmarks/micro/parser.ts). The steps are written out because the
 * engine compiles `fromCharCode` with a fixed number of arguments inline, and only that.
 */

export const MAX_SHORT_TEXT = 16;

/** No byte that it is given is missing. */
const char = String.fromCharCode as (...units: (number | undefined)[]) => string;

/** The `n` bytes from `s` on, each below 0x80; `n` from 0 to `MAX_SHORT_TEXT`. */
export function shortText(b: Uint8Array, s: number, n: number): string {
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
