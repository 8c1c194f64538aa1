/**
 * The values that a cache stores. The cache keeps its own copy, and each caller gets another one, so a caller
 * that modifies its reply affects no other caller. Strings, numbers, null and frozen values need no copies. The
 * size of a value approximates its memory.
 */

const STRING_BYTES = 24;
const LIST_BYTES = 32;
/** A reference to a value. */
export const ELEMENT_BYTES = 8;
const DICTIONARY_BYTES = 56;
const FIELD_BYTES = 32;
const BUFFER_BYTES = 96;

/** The bytes to store for a Buffer: a small one would keep its pool block of 8 KiB in memory, so it becomes a string. */
export function ownBytes(bytes: Buffer): Buffer | string {
  return bytes.length < Buffer.poolSize ? bytes.toString("latin1") : Buffer.from(bytes);
}

/** Freezes a value without Buffers, recursively, and returns its stored form, which all callers share. */
export function keptFrozen(value: unknown): unknown {
  freezeDeep(value);
  return isObject(value) ? () => value : value;
}

/** The stored form of a value: a function that makes a copy, or a value that needs none. */
export function keptFrom(value: unknown): unknown {
  if (typeof value === "function") return () => value;
  if (!isObject(value)) return value;
  if (Buffer.isBuffer(value)) {
    const bytes = ownBytes(value);
    return () => Buffer.from(bytes as string, "latin1");
  }
  const own = shallowCopy(value);
  // Checking each element for each copy would double the time.
  if (!Object.values(own).some(isObject)) return () => shallowCopy(own);
  const copyEach = (copy: Record<string, unknown>, copied: (element: unknown) => unknown): object => {
    for (const field of Object.keys(copy)) copy[field] = copied(copy[field]);
    return copy;
  };
  copyEach(own, keptFrom);
  return () => copyEach(shallowCopy(own), copyOf);
}

/** A copy of a stored value for one caller. */
export function copyOf(kept: unknown): unknown {
  return typeof kept === "function" ? kept() : kept;
}

function shallowCopy(value: object): Record<string, unknown> {
  return (Array.isArray(value) ? value.slice() : { ...value }) as Record<string, unknown>;
}

/** Whether the value contains Buffers: freezing an object does not protect their bytes. */
export function hasBytes(value: unknown): boolean {
  return isObject(value) && (Buffer.isBuffer(value) || Object.values(value).some(hasBytes));
}

/** Deeper values are not copied: they may contain themselves. */
const MOST_LEVELS = 64;

/** Whether `copyOf` reproduces the value, including values from transformers of the user. */
export function isCopyable(value: unknown, levels = MOST_LEVELS): boolean {
  if (!isObject(value) || Buffer.isBuffer(value)) return typeof value !== "function";
  if (levels === 0) return false;
  const { prototype } = Object;
  const own = Object.getPrototypeOf(value) as unknown;
  if (!Array.isArray(value) && own !== prototype && own !== null) return false;
  return Object.values(value).every((element) => isCopyable(element, levels - 1));
}

/** TYPE of a key that does not exist. */
const NO_TYPE = "none";

/** Whether a read can return this value for a missing key. In doubt: true. */
export function mayBeAbsence(value: unknown): boolean {
  if (!isObject(value)) return !value || value === NO_TYPE || (typeof value === "number" && value < 0);
  if (Buffer.isBuffer(value)) return value.length === 0 || value.toString() === NO_TYPE;
  return Object.values(value).every(mayBeAbsence);
}

function freezeDeep(value: unknown): void {
  if (!isObject(value)) return;
  for (const element of Object.values(value)) freezeDeep(element);
  Object.freeze(value);
}

/** Bytes of memory that a value costs. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return sizeOfText(value);
  if (!isObject(value)) return ELEMENT_BYTES;
  if (Buffer.isBuffer(value)) return BUFFER_BYTES + value.length;
  if (Array.isArray(value)) {
    let bytes = LIST_BYTES;
    for (const element of value) bytes += ELEMENT_BYTES + sizeOf(element);
    return bytes;
  }
  let bytes = DICTIONARY_BYTES;
  for (const [field, element] of Object.entries(value)) {
    bytes += FIELD_BYTES + sizeOfText(field) + sizeOf(element);
  }
  return bytes;
}

/** The engine stores two bytes for each character as soon as one of them needs two. */
export function sizeOfText(text: string): number {
  const { length } = text;
  return STRING_BYTES + (Buffer.byteLength(text) === length ? length : length * 2);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
