/**
 * Decimal numbers in bytes: writes them without creating a string, and validates them when reading. Only
 * `integerOf` allocates, beyond 15 digits.
 */

import { ASCII } from "./ascii";
import { Decode } from "./resp-types";

const { LOWER_E, MINUS, PLUS, POINT, ZERO } = ASCII;

/** Up to this many digits a number is exact in any order of summation. */
export const EXACT_DIGITS = 15;

/** The number of decimal digits of a whole number from 0 to 2^53 - 1. */
export function countDigits(value: number): number {
  if (value < 10) return 1;
  if (value < 100) return 2;
  if (value < 1000) return 3;
  let digits = 4;
  for (let bound = 10_000; value >= bound; bound *= 10) digits++;
  return digits;
}

/** Writes a whole number of `digits` digits at `at`; returns the position after it. */
export function writeDigits(
  bytes: Uint8Array,
  at: number,
  value: number,
  digits = countDigits(value),
): number {
  const end = at + digits;
  for (let i = end - 1; i > at; i--) {
    const rest = Math.floor(value / 10);
    bytes[i] = ZERO + (value - rest * 10);
    value = rest;
  }
  bytes[at] = ZERO + value;
  return end;
}

/** True for one or more digits, with or without a sign. */
export function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const first = skipSign(bytes, start, end);
  return first < end && skipDigits(bytes, first, end) === end;
}

/** The value of an integer for which `isInteger` holds; exact up to 2^53 - 1. */
export function integerOf(bytes: Uint8Array, start: number, end: number): number {
  const first = skipSign(bytes, start, end);
  if (end - first > EXACT_DIGITS) return Number(asciiText(bytes, start, end));
  let value = 0;
  for (let i = first; i < end; i++) value = value * 10 + (bytes[i] as number) - ZERO;
  return bytes[start] === MINUS ? 0 - value : value;
}

/** An integer in the form that the `Decode` bits demand. */
export function integerIn(decoding: number, value: number): number | string | bigint {
  if ((decoding & Decode.BigInts) !== 0) return BigInt(value);
  return (decoding & Decode.StringNumbers) === 0 ? value : String(value);
}

/** True for a RESP double: decimal with optional fraction and exponent, inf, nan. */
export function isDouble(bytes: Uint8Array, start: number, end: number): boolean {
  const first = skipSign(bytes, start, end);
  let i = skipDigits(bytes, first, end);
  if (i === first) return isWord(bytes, first, end);
  if (i < end && bytes[i] === POINT) i = skipDigits(bytes, i + 1, end);
  if (i < end && ((bytes[i] as number) | 0x20) === LOWER_E) {
    const exponent = skipSign(bytes, i + 1, end);
    i = skipDigits(bytes, exponent, end);
    if (i === exponent) return false;
  }
  return i === end;
}

/** The value of a double's text, as `Number` reads it; `inf` and `nan` in any letter case. */
export function doubleOf(text: string): number {
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  if (/nan$/i.test(text)) return Number.NaN;
  return text.charCodeAt(0) === MINUS ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

function isWord(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== 3) return false;
  const word = asciiText(bytes, start, end).toLowerCase();
  return word === "inf" || word === "nan";
}

function skipSign(bytes: Uint8Array, start: number, end: number): number {
  return start < end && (bytes[start] === MINUS || bytes[start] === PLUS) ? start + 1 : start;
}

function skipDigits(bytes: Uint8Array, start: number, end: number): number {
  let i = start;
  while (i < end && ((bytes[i] as number) - ZERO) >>> 0 < 10) i++;
  return i;
}

function asciiText(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}
