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

/** The stored form of a value that one step copies. */
abstract class Kept {
  abstract copy(): unknown;
}

/**
 * The stored form of a Buffer. Small Buffers of the process share pool blocks of 8 KiB, and a stored one would
 * keep its whole block in memory. Its bytes are therefore stored as a string.
 */
class KeptBytes extends Kept {
  private readonly bytes: Buffer | string;

  constructor(bytes: Buffer) {
    super();
    this.bytes = bytes.length < Buffer.poolSize ? bytes.toString("latin1") : Buffer.from(bytes);
  }

  override copy(): Buffer {
    const { bytes } = this;
    return typeof bytes === "string" ? Buffer.from(bytes, "latin1") : Buffer.from(bytes);
  }
}

/** The stored form of a frozen value, which all callers share. */
class KeptFrozen extends Kept {
  constructor(private readonly value: unknown) {
    super();
  }

  override copy(): unknown {
    return this.value;
  }
}

/** The stored form of a list or object whose elements need no copies: a look at each of them would double the time. */
class KeptFlat extends Kept {
  constructor(private readonly value: object) {
    super();
  }

  override copy(): object {
    return shallowCopy(this.value);
  }
}

/** Freezes a value without Buffers, recursively, and returns its stored form. */
export function keptFrozen(value: unknown): unknown {
  freezeDeep(value);
  return isObject(value) ? new KeptFrozen(value) : value;
}

/** The stored form of a value: it shares no mutable part with the given one. */
export function keptFrom(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Buffer.isBuffer(value)) return new KeptBytes(value);
  const isFlat = !Object.values(value).some(isObject);
  return isFlat ? new KeptFlat(shallowCopy(value)) : mapped(value, keptFrom);
}

/** A copy of a stored value for one caller. */
export function copyOf(kept: unknown): unknown {
  if (!isObject(kept)) return kept;
  return kept instanceof Kept ? kept.copy() : mapped(kept, copyOf);
}

function shallowCopy(value: object): object {
  return Array.isArray(value) ? value.slice() : { ...value };
}

/** A copy of a list or object in which `replace` copies the elements that can change. */
function mapped(value: object, replace: (element: unknown) => unknown): unknown {
  const copy = shallowCopy(value) as Record<string, unknown>;
  for (const field of Object.keys(copy)) if (isObject(copy[field])) copy[field] = replace(copy[field]);
  return copy;
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
