/**
 * Converts the arguments of a call into the form that is sent: strings and Buffers. Arrays are flattened one
 * level; deeper ones are joined with commas. The given array must belong to the callee (a rest array), because
 * it is changed in place. The content of strings is never inspected. An argument without a text form fails its
 * own command with an ArgumentError, which contains the position and never the value.
 *
 * Bytes are copied here, because a command is written later than it is issued and the caller may reuse its
 * memory after the call. A pipeline passes `copies = false` and copies with `captureArguments` at `exec()`;
 * until then its caller may still change queued arguments.
 */

import { isAnyArrayBuffer } from "node:util/types";
import { ArgumentError } from "../errors";
import { copyBytes } from "../protocol/copy-bytes";
import { copyLarge } from "../protocol/large-copies";
import { LARGE_BYTES } from "../protocol/limits";
import type { Argument } from "../protocol/resp-types";
import type { ArgumentMapper, CommandSpec } from "./command-spec";

/** From this value on `String(number)` uses an exponent, which servers do not read as an integer. */
const EXPONENT_FROM = 1e21;

type PreparedSpec = Pick<CommandSpec, "name" | "argumentMapper">;

/** Set when bytes became an argument without being copied; the caller resets it. */
export const keptBytes = { wereKept: false };

/** The arguments of one call, ready to be encoded: in the given array, or in a new one. */
export function prepareArguments(spec: PreparedSpec, args: unknown[], copies = true): Argument[] {
  const { argumentMapper, name } = spec;
  const flat = argumentMapper === null ? flattenOnce(args, name) : transformed(argumentMapper, name, args);
  for (let index = 0; index < flat.length; index++) {
    const value = flat[index];
    if (typeof value !== "string") flat[index] = toArgument(value, index, name, copies);
  }
  return flat as Argument[];
}

/** The result of a transformer is not flattened again: { c: [1, 2] } is the one value "1,2". */
function transformed(mapper: ArgumentMapper, commandName: string, args: unknown[]): unknown[] {
  const flat = flattenOnce(args, commandName);
  const mapped = mapper(flat);
  if (!Array.isArray(mapped))
    throw new TypeError(`The argument transformer of "${commandName}" did not return an array`);
  // The transformer may have kept this array, so it must not be changed.
  return mapped === flat ? flat : [...mapped];
}

/** Flattens one level. Returns the array itself when it is flat. */
export function flattenOnce(args: unknown[], commandName: string): unknown[] {
  for (let index = 0; index < args.length; index++) {
    const value = args[index];
    if (typeof value === "object" && isList(value)) return flattenFrom(args, index, commandName);
  }
  return args;
}

// Loops instead of spreading, because spreading a long array overflows the stack.
function flattenFrom(args: unknown[], from: number, commandName: string): unknown[] {
  const flat: unknown[] = args.slice(0, from);
  for (let index = from; index < args.length; index++) {
    const value = args[index];
    if (!isList(value)) {
      flat.push(value);
      continue;
    }
    try {
      for (let inner = 0; inner < value.length; inner++) {
        const item = value[inner];
        // Holes are skipped, as by Array.prototype.flat.
        if (item !== undefined || inner in value) flat.push(item);
      }
    } catch (cause) {
      throw new ArgumentError(commandName, index + 1, "its elements cannot be read", { cause });
    }
  }
  return flat;
}

/** The string or bytes of one value; `index` counts from 0 and is used only for the error. */
export function toArgument(value: unknown, index: number, commandName: string, copies = true): Argument {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
      return numberText(value);
    case "undefined":
      return "";
    case "object":
      return value === null ? "" : fromObject(value, index, commandName, copies);
    case "function":
      return fromObject(value, index, commandName, copies);
    default:
      return String(value);
  }
}

/** Copies the bytes among arguments that were prepared without copying. */
export function captureArguments(args: Argument[]): void {
  for (let index = 0; index < args.length; index++) {
    const value = args[index] as Argument;
    if (typeof value !== "string") args[index] = copyOf(value);
  }
}

function copyOf(bytes: Buffer): Buffer {
  const size = bytes.length;
  return size >= LARGE_BYTES ? copyLarge(bytes) : copyBytes(bytes, 0, size);
}

function numberText(value: number): string {
  if (value < EXPONENT_FROM && value > -EXPONENT_FROM) return `${value}`;
  return Number.isInteger(value) ? BigInt(value).toString() : `${value}`;
}

function fromObject(value: object, index: number, commandName: string, copies: boolean): Argument {
  try {
    const bytes = bytesOf(value);
    if (bytes === null) return String(value);
    if (copies) return copyOf(bytes);
    keptBytes.wereKept = true;
    return bytes;
  } catch (cause) {
    if (cause instanceof ArgumentError) throw cause;
    throw new ArgumentError(commandName, index + 1, "it cannot become a string (give it a toString method)", {
      cause,
    });
  }
}

/** The bytes of a Buffer, view or ArrayBuffer; null for another value. */
function bytesOf(value: object): Buffer | null {
  if (Buffer.isBuffer(value)) return value;
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return isAnyArrayBuffer(value) ? Buffer.from(value) : null;
}

/** `Array.isArray` throws for a revoked proxy. */
function isList(value: unknown): value is unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** Maps `mset({ a: 1 })`, and with a key in front `hset("key", { a: 1 })`; the last argument may be a `Map`. */
function pairsAt(position: number): ArgumentMapper {
  return (args) => {
    const value = args[position];
    if (args.length !== position + 1 || !isDictionary(value)) return args;
    const mapped = args.slice(0, position);
    for (const [key, item] of value instanceof Map ? value : Object.entries(value)) mapped.push(key, item);
    return mapped;
  };
}

function isDictionary(value: unknown): value is object {
  return (
    typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !isAnyArrayBuffer(value)
  );
}

/** The built-in transformers, by the exact command name. */
export const BUILTIN_ARGUMENT_MAPPERS: Readonly<Record<string, ArgumentMapper>> = {
  mset: pairsAt(0),
  msetnx: pairsAt(0),
  hset: pairsAt(1),
  hmset: pairsAt(1),
};
