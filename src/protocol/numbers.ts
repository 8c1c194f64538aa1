/** Decimal numbers: writes them without creating a string, and validates those that were read. */

import { ASCII } from "./ascii";
import { Decode } from "./resp-types";

const { MINUS, ZERO } = ASCII;

/** Up to this many digits a number is exact in any order of summation. */
export const EXACT_DIGITS = 15;

/** The number of decimal digits of a whole number from 0 to 2^53 - 1. */
export function countDigits(value: number): number {
  let digits = 1;
  for (let bound = 10; value >= bound; bound *= 10) digits++;
  return digits;
}

/** Writes a whole number at `at`; returns the position after it. */
export function writeDigits(bytes: Uint8Array, at: number, value: number): number {
  const end = at + countDigits(value);
  for (let i = end - 1; i > at; i--) {
    const rest = Math.floor(value / 10);
    bytes[i] = ZERO + (value - rest * 10);
    value = rest;
  }
  bytes[at] = ZERO + value;
  return end;
}

/** One or more digits, with or without a sign. */
export function isInteger(text: string): boolean {
  return /^[+-]?\d+$/.test(text);
}

/** An integer in the form that the `Decode` bits demand; as a number it is exact up to 2^53 - 1. */
export function integerOf(text: string, decoding: number): number | string | bigint {
  if ((decoding & Decode.BigInts) !== 0) return BigInt(text);
  // The sum turns -0 into 0.
  return (decoding & Decode.StringNumbers) === 0 ? Number(text) + 0 : text;
}

/** A RESP double: decimal with optional fraction and exponent, inf, nan. */
export function isDouble(text: string): boolean {
  return /^[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf|nan)$/i.test(text);
}

/** The value of a double's text, as `Number` reads it; `inf` and `nan` in any letter case. */
export function doubleOf(text: string): number {
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  if (/nan$/i.test(text)) return Number.NaN;
  return text.charCodeAt(0) === MINUS ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
