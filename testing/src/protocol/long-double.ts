/**
 * Sums of 80-bit floating-point numbers, exactly as INCRBYFLOAT and HINCRBYFLOAT make them:
 * decimal text in, 64 bits of mantissa, 17 decimals out. A double would print 0.1 + 0.2 as
 * 0.30000000000000004, servers print 0.3.
 */

const MANTISSA_BITS = 64;
const DECIMALS = 17;
const TEN = 10n;
const MAX_POWER = 4_932;
const MAX_BINARY_POWER = 16_383;

/** `mantissa` × 2^`exponent`. */
interface LongDouble {
  readonly mantissa: bigint;
  readonly exponent: number;
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

/** numerator / denominator × 2^exponent, rounded to even at 64 bits. */
function round(numerator: bigint, denominator: bigint, exponent: number): LongDouble {
  if (numerator === 0n) return { mantissa: 0n, exponent: 0 };
  const sign = numerator < 0n ? -1n : 1n;
  let top = numerator * sign;
  const shift = MANTISSA_BITS + 2 - (bitLength(top) - bitLength(denominator));
  let bottom = denominator;
  if (shift > 0) top <<= BigInt(shift);
  else bottom <<= BigInt(-shift);
  let quotient = top / bottom;
  const isInexact = top % bottom !== 0n;
  const extra = bitLength(quotient) - MANTISSA_BITS;
  const mask = (1n << BigInt(extra)) - 1n;
  const tail = quotient & mask;
  const half = 1n << BigInt(extra - 1);
  quotient >>= BigInt(extra);
  if (tail > half || (tail === half && (isInexact || (quotient & 1n) === 1n))) quotient++;
  return { mantissa: quotient * sign, exponent: exponent - shift + extra };
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

const HEXADECIMAL = /^([+-]?)0x([\da-f]*)(?:\.([\da-f]*))?(?:p([+-]?\d+))?$/i;

function parseHexadecimal(text: string): LongDouble | null {
  const match = HEXADECIMAL.exec(text);
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = "", power = "0"] = match;
  const exponent = Number(power) - 4 * fraction.length;
  if (whole + fraction === "" || Math.abs(exponent) > MAX_BINARY_POWER) return null;
  return round(BigInt(`0x${whole}${fraction}`) * (sign === "-" ? -1n : 1n), 1n, exponent);
}

/** A decimal or hexadecimal number; null if it is none, is empty or lies out of range. */
export function parseLongDouble(text: string): LongDouble | null {
  const match = DECIMAL.exec(text);
  if (match === null) return parseHexadecimal(text);
  const [, sign = "", whole = "", fraction = "", power = "0"] = match;
  if (whole + fraction === "") return null;
  const digits = BigInt(`${whole}${fraction}`) * (sign === "-" ? -1n : 1n);
  const scale = Number(power) - fraction.length;
  if (Math.abs(scale) > MAX_POWER) return digits === 0n ? { mantissa: 0n, exponent: 0 } : null;
  return scale >= 0 ? round(digits * TEN ** BigInt(scale), 1n, 0) : round(digits, TEN ** BigInt(-scale), 0);
}

export function addLongDoubles(a: LongDouble, b: LongDouble): LongDouble {
  const exponent = Math.min(a.exponent, b.exponent);
  const sum = (a.mantissa << BigInt(a.exponent - exponent)) + (b.mantissa << BigInt(b.exponent - exponent));
  return round(sum, 1n, exponent);
}

/** `%.17Lf` without the zeros at its end. */
export function formatLongDouble({ mantissa, exponent }: LongDouble): string {
  const sign = mantissa < 0n ? "-" : "";
  let scaled = (mantissa < 0n ? -mantissa : mantissa) * TEN ** BigInt(DECIMALS);
  if (exponent >= 0) scaled <<= BigInt(exponent);
  else {
    const divisor = 1n << BigInt(-exponent);
    const rest = scaled % divisor;
    scaled /= divisor;
    if (rest * 2n > divisor || (rest * 2n === divisor && (scaled & 1n) === 1n)) scaled++;
  }
  const digits = scaled.toString().padStart(DECIMALS + 1, "0");
  const whole = digits.slice(0, -DECIMALS);
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "");
  const text = fraction === "" ? whole : `${whole}.${fraction}`;
  return text === "0" ? "0" : sign + text;
}
