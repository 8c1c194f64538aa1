/**
 * Replies as a cache keeps them: a copy of its own going in, a copy for each caller coming out, so
 * that nobody who changes what he got changes what others get. Strings, numbers and null need no
 * copies. The size of a value is what its memory costs, about.
 */

import { copyReply } from "../protocol/copy-reply";
import type { Reply } from "../protocol/resp-types";

export const ValueKind = {
  /** Cannot be changed by who has it, or is frozen: shared. */
  Shared: 0,
  Bytes: 1,
  /** An array without anything that can be changed in it. */
  List: 2,
  /** A plain object without anything that can be changed in it. */
  Dictionary: 3,
  /** Anything deeper. */
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

/** A value that shares nothing that can be changed with the given one. */
export function copyOf(value: unknown, kind: ValueKind): unknown {
  switch (kind) {
    case ValueKind.Shared:
      return value;
    case ValueKind.Bytes:
      return Buffer.from(value as Buffer);
    case ValueKind.List:
      return (value as unknown[]).slice();
    case ValueKind.Dictionary:
      return { ...(value as object) };
    default:
      return copyReply(value as Reply);
  }
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

/** Freezes a value and all that is in it. The bytes of a Buffer cannot be frozen. */
export function freezeDeep(value: unknown): void {
  if (!isObject(value) || Buffer.isBuffer(value)) return;
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
