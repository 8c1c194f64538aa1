/**
 * Replies as a cache keeps them. The cache keeps a copy of its own, and each caller gets another one, so
 * a caller that changes its reply changes no other caller's. Strings, numbers and null need no copies.
 * The size of a value is about what its memory costs.
 */

import { setOwn } from "../util/own-property";

export const ValueKind = {
  /** Cannot be changed by who has it, or is frozen: shared. */
  Shared: 0,
  Bytes: 1,
  /** An array without anything that can be changed in it. */
  List: 2,
  /** A plain object without anything that can be changed in it. */
  Dictionary: 3,
  /** Anything deeper, and anything with Buffers in it. */
  Nested: 4,
} as const;
export type ValueKind = (typeof ValueKind)[keyof typeof ValueKind];

const STRING_BYTES = 24;
const LIST_BYTES = 32;
const ELEMENT_BYTES = 8;
const DICTIONARY_BYTES = 56;
const FIELD_BYTES = 32;
const BUFFER_BYTES = 96;

export function kindOf(value: unknown): ValueKind {
  if (typeof value !== "object" || value === null) return ValueKind.Shared;
  if (Buffer.isBuffer(value)) return ValueKind.Bytes;
  if (Array.isArray(value)) return value.some(isObject) ? ValueKind.Nested : ValueKind.List;
  return Object.values(value).some(isObject) ? ValueKind.Nested : ValueKind.Dictionary;
}

/**
 * A Buffer as it is kept. A small Buffer is part of a block of 8 KiB that all small Buffers of the process
 * share, and each one that is kept would keep its whole block in memory. So its bytes are kept as a text.
 */
class KeptBytes {
  private readonly bytes: Buffer | string;

  constructor(bytes: Buffer) {
    this.bytes = bytes.length < Buffer.poolSize ? bytes.toString("latin1") : Buffer.from(bytes);
  }

  copy(): Buffer {
    const { bytes } = this;
    return typeof bytes === "string" ? Buffer.from(bytes, "latin1") : Buffer.from(bytes);
  }
}

/** The value as it is kept: it shares nothing that a caller could change with the given one. */
export function keptFrom(value: unknown, kind: ValueKind): unknown {
  return kind === ValueKind.Bytes || kind === ValueKind.Nested ? packed(value) : copyOf(value, kind);
}

/** A copy for one caller of a value that is kept. */
export function copyOf(kept: unknown, kind: ValueKind): unknown {
  switch (kind) {
    case ValueKind.Shared:
      return kept;
    case ValueKind.Bytes:
      return (kept as KeptBytes).copy();
    case ValueKind.List:
      return (kept as unknown[]).slice();
    case ValueKind.Dictionary:
      return { ...(kept as object) };
    default:
      return unpacked(kept);
  }
}

function packed(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Buffer.isBuffer(value) ? new KeptBytes(value) : mapped(value, packed);
}

function unpacked(kept: unknown): unknown {
  if (!isObject(kept)) return kept;
  return kept instanceof KeptBytes ? kept.copy() : mapped(kept, unpacked);
}

/** A list or object with each of its elements replaced. */
function mapped(value: object, replace: (element: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(replace);
  const copy: Record<string, unknown> = {};
  for (const [field, element] of Object.entries(value)) setOwn(copy, field, replace(element));
  return copy;
}

/** Whether there are Buffers in it: their bytes can be changed whatever is frozen. */
export function hasBytes(value: unknown): boolean {
  return isObject(value) && (Buffer.isBuffer(value) || Object.values(value).some(hasBytes));
}

/** Deeper values are not copied: they may contain themselves. */
const MOST_LEVELS = 64;

/** Whether `copyOf` gives the same again, whatever a transformer of the user has made. */
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

/** Whether a read could have given this of a key that does not exist. In doubt: yes. */
export function mayBeAbsence(value: unknown): boolean {
  if (!isObject(value)) return !value || value === NO_TYPE || (typeof value === "number" && value < 0);
  if (Buffer.isBuffer(value)) return value.length === 0 || value.toString() === NO_TYPE;
  return Object.values(value).every(mayBeAbsence);
}

/** Freezes a value without Buffers, and all that is in it. */
export function freezeDeep(value: unknown): void {
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

/** The engine keeps two bytes for each character as soon as one of them needs it. */
export function sizeOfText(text: string): number {
  const { length } = text;
  return STRING_BYTES + (Buffer.byteLength(text) === length ? length : length * 2);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
