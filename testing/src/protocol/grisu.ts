/**
 * The digits of a double as newer servers print it: by Grisu2, as their library fpconv has it. The
 * digits read back as the same double; now and then they are not the shortest, or not the nearest,
 * so JavaScript's own digits would differ.
 */

const HIDDEN_BIT = 1n << 52n;
const FRACTION_MASK = HIDDEN_BIT - 1n;
const BIAS = 1023 + 52;
const WORD = 64n;
const WORD_MASK = (1n << WORD) - 1n;

/** Powers of ten from 10^-348 on, in steps of eight. */
const FIRST_POWER = -348;
const POWER_STEP = 8;
const POWER_COUNT = 87;
const MIN_EXPONENT = -60;
const MAX_EXPONENT = -32;
const LOG10_OF_2 = 0.30102999566398114;

/** fraction * 2^exponent. */
interface Float {
  readonly fraction: bigint;
  readonly exponent: number;
}

const bits = new DataView(new ArrayBuffer(8));

function floatOf(value: number): Float {
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const exponent = Number((word >> 52n) & 0x7ffn);
  const fraction = word & FRACTION_MASK;
  return exponent === 0
    ? { fraction, exponent: 1 - BIAS }
    : { fraction: fraction + HIDDEN_BIT, exponent: exponent - BIAS };
}

/** The same number with all 64 bits in use. */
function normalized({ fraction, exponent }: Float): Float {
  const shift = 64 - fraction.toString(2).length;
  return { fraction: fraction << BigInt(shift), exponent: exponent - shift };
}

/** The product's upper 64 bits, rounded. */
function multiply(a: Float, b: Float): Float {
  const product = a.fraction * b.fraction + (1n << (WORD - 1n));
  return { fraction: (product >> WORD) & WORD_MASK, exponent: a.exponent + b.exponent + 64 };
}

const powers = new Map<number, Float>();

/** 10^power, to 64 bits. */
function powerOfTen(power: number): Float {
  let found = powers.get(power);
  if (found === undefined) {
    // Enough bits that the truncated ones have no effect.
    const scaled = power >= 0 ? (10n ** BigInt(power)) << 128n : (1n << 1400n) / 10n ** BigInt(-power);
    const size = scaled.toString(2).length;
    const rest = BigInt(size) - WORD;
    const fraction = (scaled + (1n << (rest - 1n))) >> rest;
    found = { fraction, exponent: Number(rest) - (power >= 0 ? 128 : 1400) };
    powers.set(power, found);
  }
  return found;
}

/** A power of ten that brings a number with this exponent to where its digits are plain to read. */
function scaleFor(exponent: number): { readonly power: number; readonly float: Float } {
  const approximate = Math.trunc(-(exponent + POWER_COUNT) * LOG10_OF_2);
  let index = Math.trunc((approximate - FIRST_POWER) / POWER_STEP);
  while (true) {
    const power = FIRST_POWER + index * POWER_STEP;
    const float = powerOfTen(power);
    const sum = exponent + float.exponent + 64;
    if (sum < MIN_EXPONENT) index++;
    else if (sum > MAX_EXPONENT) index--;
    else return { power, float };
  }
}

interface Ending {
  readonly delta: bigint;
  readonly rest: bigint;
  readonly unit: bigint;
  /** Between the upper end and the number itself. */
  readonly distance: bigint;
}

/** Lowers the last digit as long as that comes nearer to the number. */
function roundLast(digits: number[], { delta, rest, unit, distance }: Ending): void {
  for (let left = rest; left < distance && delta - left >= unit; left += unit) {
    if (left + unit >= distance && distance - left <= left + unit - distance) return;
    digits.push((digits.pop() ?? 0) - 1);
  }
}

interface Digits {
  readonly text: string;
  /** Of the first digit. */
  readonly power: number;
}

function digitsBetween(value: Float, upper: Float, lower: Float): { digits: number[]; places: number } {
  const shift = BigInt(-upper.exponent);
  const one = 1n << shift;
  const distance = upper.fraction - value.fraction;
  let delta = upper.fraction - lower.fraction;
  let whole = upper.fraction >> shift;
  let part = upper.fraction & (one - 1n);
  const digits: number[] = [];
  for (let places = 9, unit = 1_000_000_000n; places >= 0; places--, unit /= 10n) {
    const digit = whole / unit;
    if (digit > 0n || digits.length > 0) digits.push(Number(digit));
    whole -= digit * unit;
    const rest = (whole << shift) + part;
    if (rest > delta) continue;
    roundLast(digits, { delta, rest, unit: unit << shift, distance });
    return { digits, places };
  }
  for (let places = -1, scale = 10n; ; places--, scale *= 10n) {
    part *= 10n;
    delta *= 10n;
    const digit = part >> shift;
    if (digit > 0n || digits.length > 0) digits.push(Number(digit));
    part &= one - 1n;
    if (part >= delta) continue;
    roundLast(digits, { delta, rest: part, unit: one, distance: (distance * scale) & WORD_MASK });
    return { digits, places };
  }
}

/** The digits of a finite number above 0. */
export function grisuDigits(value: number): Digits {
  const exact = floatOf(value);
  const upper = normalized({ fraction: (exact.fraction << 1n) + 1n, exponent: exact.exponent - 1 });
  const step = exact.fraction === HIDDEN_BIT ? 2 : 1;
  const below = { fraction: (exact.fraction << BigInt(step)) - 1n, exponent: exact.exponent - step };
  const lower = {
    fraction: below.fraction << BigInt(below.exponent - upper.exponent),
    exponent: upper.exponent,
  };
  const { power, float } = scaleFor(upper.exponent);
  const [scaled, high, low] = [normalized(exact), upper, lower].map((one) => multiply(one, float)) as [
    Float,
    Float,
    Float,
  ];
  const { digits, places } = digitsBetween(
    scaled,
    { fraction: high.fraction - 1n, exponent: high.exponent },
    { fraction: low.fraction + 1n, exponent: low.exponent },
  );
  return { text: digits.join(""), power: places - power + digits.length - 1 };
}
