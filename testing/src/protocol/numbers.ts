/**
 * Numbers as servers read and print them: 64-bit integers, doubles with 17 digits (before Redis
 * 7.2) or the shortest form, byte strings to and from JavaScript texts.
 */

import { grisuDigits } from "./grisu";
import { ErrorReply } from "./reply";

export const NOT_AN_INTEGER = "ERR value is not an integer or out of range";
export const NOT_A_FLOAT = "ERR value is not a valid float";

const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;
const MAX_INT64 = 9223372036854775807n;
const MIN_INT64 = -9223372036854775808n;
/** So many characters are always a safe integer. */
const SAFE_LENGTH = 15;
const FLOAT = /^[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf(?:inity)?)$/i;
const HEX_FLOAT = /^[+-]?0x/i;

export type Integer = number | bigint;

/** A 64-bit integer in its only spelling, or null. Numbers where they are exact, else bigint. */
export function parseInteger(text: string): Integer | null {
  if (!INTEGER.test(text)) return null;
  if (text.length <= SAFE_LENGTH) return Number(text);
  const value = BigInt(text);
  if (value > MAX_INT64 || value < MIN_INT64) return null;
  return narrow(value);
}

/** The number of a bigint that is exact as one. */
export function narrow(value: bigint): Integer {
  const asNumber = Number(value);
  return Number.isSafeInteger(asNumber) ? asNumber : value;
}

export function isInt64(value: bigint): boolean {
  return value <= MAX_INT64 && value >= MIN_INT64;
}

/** An integer argument; beyond 2^53 it is rounded, which no caller of this can tell. */
export function integerOf(text: string, message: string = NOT_AN_INTEGER): number {
  const value = parseInteger(text);
  if (value === null) throw new ErrorReply(message);
  return Number(value);
}

/** A double, `inf` included, or null. Newer servers read no hexadecimal numbers. */
export function parseFloatText(text: string, mayBeHex = false): number | null {
  if (FLOAT.test(text)) {
    const lower = text.toLowerCase();
    if (lower.includes("inf"))
      return lower.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    const value = Number(text);
    // strtod reports a range error for these.
    return Number.isFinite(value) ? value : null;
  }
  return mayBeHex && HEX_FLOAT.test(text) ? hexFloat(text) : null;
}

function hexFloat(text: string): number | null {
  const match = /^([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?$/i.exec(text);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  if (whole + fraction === "") return null;
  const digits = Number.parseInt(`${whole}${fraction}`, 16);
  const value = digits * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === "-" ? -value : value;
}

export function floatOf(text: string, message: string = NOT_A_FLOAT): number {
  const value = parseFloatText(text);
  if (value === null) throw new ErrorReply(message);
  return value;
}

function infinityText(value: number): string {
  return value > 0 ? "inf" : "-inf";
}

/** `%.17g`, which Redis before 7.2 prints doubles with. */
export function formatSeventeen(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : infinityText(value);
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? "-0" : String(value);
  return general(value, 17);
}

/** `%.<digits>g`. */
export function general(value: number, digits: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", power = "0"] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) {
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    const size = Math.abs(exponent);
    return `${short}e${exponent < 0 ? "-" : "+"}${size < 10 ? `0${size}` : size}`;
  }
  const fixed = value.toFixed(Math.min(100, Math.max(0, digits - 1 - exponent)));
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

/** Whole doubles up to here are printed as integers: half of the largest of 64 bits. */
const MAX_AS_INTEGER = 2 ** 62;

/** Digits that read back as the same double, as newer servers print them. */
export function formatShortest(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : infinityText(value);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  if (Number.isInteger(value) && Math.abs(value) <= MAX_AS_INTEGER) return BigInt(value).toString();
  const { text, power } = grisuDigits(Math.abs(value));
  return (value < 0 ? "-" : "") + layOut(text, power);
}

/** Plain where it is not longer than about 17 characters, else with an exponent (fpconv's rule). */
function layOut(digits: string, power: number): string {
  const places = power - digits.length + 1;
  const size = Math.abs(power);
  if (places >= 0 && size < digits.length + 7) return digits + "0".repeat(places);
  if (places < 0 && (places > -7 || size < 4)) {
    const point = digits.length + places;
    if (point <= 0) return `0.${"0".repeat(-point)}${digits}`;
    return `${digits.slice(0, point)}.${digits.slice(point)}`;
  }
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
  return `${digits[0]}${fraction}e${power < 0 ? "-" : "+"}${size}`;
}

/** A double as a server of this age prints it. */
export function scoreTextOf(value: number, isModern: boolean): string {
  return isModern ? formatShortest(value) : formatSeventeen(value);
}

/** A JavaScript text as the bytes of its UTF-8 form. */
export function toBytes(text: string | Buffer): string {
  if (typeof text !== "string") return text.toString("latin1");
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 0x7f) return toBytes(Buffer.from(text, "utf8"));
  }
  return text;
}

/** The JavaScript text of bytes in UTF-8. */
export function toText(bytes: string): string {
  for (let at = 0; at < bytes.length; at++) {
    if (bytes.charCodeAt(at) > 0x7f) return Buffer.from(bytes, "latin1").toString("utf8");
  }
  return bytes;
}
