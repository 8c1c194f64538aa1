/**
 * Bits of strings.
 */

import { integerOf, NOT_AN_INTEGER, narrow, parseInteger } from "../protocol/numbers";
import { ErrorReply, type ReplyValue } from "../protocol/reply";
import type { Caller, Handler, Handlers } from "../server/model";
import { at, following, syntaxError, word } from "./arguments";

const BAD_OFFSET = "ERR bit offset is not an integer or out of range";
const MAX_BITS = 2 ** 32;
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

function bitOffset(text: string): number {
  const offset = integerOf(text, BAD_OFFSET);
  if (offset < 0 || offset >= MAX_BITS) throw new ErrorReply(BAD_OFFSET);
  return offset;
}

function bitAt(value: string, offset: number): number {
  const byte = offset >> 3 < value.length && offset < MAX_BITS ? value.charCodeAt(Math.floor(offset / 8)) : 0;
  return (byte >> (7 - (offset % 8))) & 1;
}

function withByte(value: string, index: number, byte: number): string {
  return value.slice(0, index) + String.fromCharCode(byte) + value.slice(index + 1);
}

/** Servers turn the string into bytes that may grow, even where no bit changes. */
function store(caller: Caller, key: string, value: string): void {
  caller.database.set(key, value, { expireAt: "keep", form: "raw" });
}

function setbit(caller: Caller, args: readonly string[]): ReplyValue {
  const offset = bitOffset(at(args, 2));
  const bit = at(args, 3);
  if (bit !== "0" && bit !== "1") throw new ErrorReply("ERR bit is not an integer or out of range");
  const key = at(args, 1);
  const index = Math.floor(offset / 8);
  const value = (caller.database.readString(key) ?? "").padEnd(index + 1, "\0");
  const old = bitAt(value, offset);
  const mask = 1 << (7 - (offset % 8));
  const byte = value.charCodeAt(index);
  const changed = withByte(value, index, bit === "1" ? byte | mask : byte & ~mask & 0xff);
  const isChanged = changed !== caller.database.readString(key);
  store(caller, key, changed);
  if (isChanged) caller.database.modified(key, "$", "setbit");
  return old;
}

interface BitRange {
  readonly start: number;
  readonly end: number;
}

/** Bits from start to end, both included; null if there are none. */
function bitRange(
  start: number,
  end: number,
  { size, isBits }: { size: number; isBits: boolean },
): BitRange | null {
  const total = isBits ? size * 8 : size;
  const from = Math.max(0, start < 0 ? start + total : start);
  const to = Math.min(total - 1, Math.max(0, end < 0 ? end + total : end));
  if (from > to) return null;
  return isBits ? { start: from, end: to } : { start: from * 8, end: to * 8 + 7 };
}

function unitOf(args: readonly string[], index: number): boolean {
  const unit = word(args, index);
  if (unit !== "BIT" && unit !== "BYTE") throw syntaxError();
  return unit === "BIT";
}

function countBits(value: string, { start, end }: BitRange): number {
  let count = 0;
  let at = start;
  while (at <= end) {
    if (at % 8 === 0 && at + 7 <= end) {
      count += ONES[value.charCodeAt(at / 8)] ?? 0;
      at += 8;
    } else count += bitAt(value, at++);
  }
  return count;
}

function bitcount(caller: Caller, args: readonly string[]): ReplyValue {
  const key = at(args, 1);
  if (args.length === 2) {
    const value = caller.database.readString(key) ?? "";
    return value === "" ? 0 : countBits(value, { start: 0, end: value.length * 8 - 1 });
  }
  // Redis 7.0 looks at the key first.
  if (!caller.engine.version.isModern && caller.database.readString(key) === undefined) return 0;
  if (args.length === 3 && !caller.engine.version.name.startsWith("valkey")) throw syntaxError();
  if (args.length > 5) throw syntaxError();
  const start = integerOf(at(args, 2));
  const isValkey = caller.engine.version.product === "valkey";
  if (isValkey && args.length === 5) unitOf(args, 4);
  const end = args.length > 3 ? integerOf(at(args, 3)) : -1;
  // BITPOS does not look at the order of two places that are counted from the end; Redis 7.0 does so before the unit.
  const isReversed = start < 0 && end < 0 && start > end;
  if (isReversed && !caller.engine.version.isModern) return 0;
  const isBits = args.length === 5 && unitOf(args, 4);
  const value = caller.database.readString(key) ?? "";
  if (isReversed) return 0;
  const range = bitRange(start, end, { size: value.length, isBits });
  return range === null ? 0 : countBits(value, range);
}

function bitpos(caller: Caller, args: readonly string[]): ReplyValue {
  const bit = integerOf(at(args, 2));
  if (bit !== 0 && bit !== 1) throw new ErrorReply("ERR The bit argument must be 1 or 0.");
  if (!caller.engine.version.isModern && caller.database.readString(at(args, 1)) === undefined) {
    return bit === 1 ? -1 : 0;
  }
  if (args.length > 6) throw syntaxError();
  const start = args.length > 3 ? integerOf(at(args, 3)) : 0;
  const isBits = args.length === 6 && unitOf(args, 5);
  const hasEnd = args.length > 4;
  const end = hasEnd ? integerOf(at(args, 4)) : -1;
  const value = caller.database.readString(at(args, 1));
  if (value === undefined) return bit === 1 ? -1 : 0;
  const range = bitRange(start, end, { size: value.length, isBits });
  if (range === null) return -1;
  for (let at = range.start; at <= range.end; at++) if (bitAt(value, at) === bit) return at;
  // A string of ones is followed by zeros, if no end was given.
  return bit === 0 && !hasEnd ? value.length * 8 : -1;
}

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  AND: (a, b) => a & b,
  OR: (a, b) => a | b,
  XOR: (a, b) => a ^ b,
};

function bitop(caller: Caller, args: readonly string[]): ReplyValue {
  const name = word(args, 1);
  const target = at(args, 2);
  const operation = OPERATIONS[name];
  if (operation === undefined && name !== "NOT") {
    if (/^(DIFF|DIFF1|ANDOR|ONE)$/.test(name) && caller.engine.version.name === "8.2") {
      throw new ErrorReply(`ERR TestServer does not support BITOP ${name}; test it with RealServer`);
    }
    throw syntaxError();
  }
  if (name === "NOT" && args.length !== 4)
    throw new ErrorReply("ERR BITOP NOT must be called with a single source key.");
  const values = args.slice(3).map((key) => caller.database.readString(key) ?? "");
  const size = Math.max(...values.map(({ length }) => length));
  let result = "";
  for (let index = 0; index < size; index++) {
    const bytes = values.map((value) => (index < value.length ? value.charCodeAt(index) : 0));
    const byte = operation === undefined ? ~(bytes[0] ?? 0) & 0xff : bytes.reduce(operation);
    result += String.fromCharCode(byte);
  }
  const { database } = caller;
  if (size === 0) {
    if (database.delete(target)) database.modified(target, "g", "del");
    return 0;
  }
  database.set(target, result, { form: "raw" });
  database.modified(target, "$", "set");
  return size;
}

interface Field {
  readonly isSigned: boolean;
  readonly bits: number;
}

type Overflow = "WRAP" | "SAT" | "FAIL";

interface FieldOperation {
  readonly name: "GET" | "SET" | "INCRBY";
  readonly field: Field;
  readonly offset: number;
  readonly value: bigint;
  readonly overflow: Overflow;
}

function fieldOf(text: string): Field {
  const match = /^([iu])(\d{1,2})$/.exec(text);
  const bits = Number(match?.[2] ?? 0);
  const isSigned = match?.[1] === "i";
  if (match === null || bits < 1 || bits > (isSigned ? 64 : 63)) {
    throw new ErrorReply(
      "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
    );
  }
  return { isSigned, bits };
}

function fieldOffset(text: string, { bits }: Field): number {
  const isCounted = text.startsWith("#");
  const given = integerOf(isCounted ? text.slice(1) : text, BAD_OFFSET);
  const offset = isCounted ? given * bits : given;
  if (offset < 0 || offset + bits > MAX_BITS) throw new ErrorReply(BAD_OFFSET);
  return offset;
}

function operationsOf(args: readonly string[], isReadonly: boolean): FieldOperation[] {
  const found: FieldOperation[] = [];
  let overflow: Overflow = "WRAP";
  for (let index = 2; index < args.length; ) {
    const name = word(args, index);
    if (name === "OVERFLOW") {
      const kind = following(args, index).toUpperCase();
      if (kind !== "WRAP" && kind !== "SAT" && kind !== "FAIL")
        throw new ErrorReply("ERR Invalid OVERFLOW type specified");
      overflow = kind;
      index += 2;
      continue;
    }
    const isGet = name === "GET";
    if ((!isGet && name !== "SET" && name !== "INCRBY") || index + (isGet ? 2 : 3) >= args.length)
      throw syntaxError();
    const field = fieldOf(at(args, index + 1));
    const offset = fieldOffset(at(args, index + 2), field);
    const value = isGet ? 0 : parseInteger(at(args, index + 3));
    if (value === null) throw new ErrorReply(NOT_AN_INTEGER);
    if (!isGet && isReadonly) throw new ErrorReply("ERR BITFIELD_RO only supports the GET subcommand");
    found.push({ name: name as FieldOperation["name"], field, offset, value: BigInt(value), overflow });
    index += isGet ? 3 : 4;
  }
  return found;
}

function readField(value: string, offset: number, { isSigned, bits }: Field): bigint {
  let raw = 0n;
  for (let bit = 0; bit < bits; bit++) raw = (raw << 1n) | BigInt(bitAt(value, offset + bit));
  return isSigned ? BigInt.asIntN(bits, raw) : raw;
}

function writeField(
  value: string,
  offset: number,
  { field, number }: { field: Field; number: bigint },
): string {
  const end = Math.ceil((offset + field.bits) / 8);
  const bytes = [...value.padEnd(end, "\0")].map((char) => char.charCodeAt(0));
  for (let bit = 0; bit < field.bits; bit++) {
    const place = offset + bit;
    const isSet = (number >> BigInt(field.bits - 1 - bit)) & 1n;
    const mask = 1 << (7 - (place % 8));
    const index = Math.floor(place / 8);
    bytes[index] = isSet === 1n ? (bytes[index] ?? 0) | mask : (bytes[index] ?? 0) & ~mask & 0xff;
  }
  return String.fromCharCode(...bytes);
}

/** The number as the field holds it, or null if it does not fit and must not wrap. */
function fitted(
  number: bigint,
  { name, field: { isSigned, bits }, overflow }: FieldOperation,
): bigint | null {
  const size = BigInt(bits);
  const [low, high] = isSigned ? [-(1n << (size - 1n)), (1n << (size - 1n)) - 1n] : [0n, (1n << size) - 1n];
  if (number >= low && number <= high) return number;
  if (overflow === "FAIL") return null;
  // For SET servers take the distance to the upper end in 64 bits: one that is too far below seems to be above.
  const isTooFar = name === "SET" && bits < 64 && BigInt.asIntN(64, high - number) < 0n;
  if (overflow === "SAT") return number < low && !isTooFar ? low : high;
  return isSigned ? BigInt.asIntN(bits, number) : BigInt.asUintN(bits, number);
}

function bitfield(isReadonly: boolean): Handler {
  return (caller, args) => {
    const operations = operationsOf(args, isReadonly);
    const key = at(args, 1);
    const { database } = caller;
    const present = database.readString(key) ?? "";
    const writes = operations.filter(({ name }) => name !== "GET");
    const bits = Math.max(0, ...writes.map(({ offset, field }) => offset + field.bits));
    // The string grows also where the write then fails.
    let value = present.padEnd(Math.ceil(bits / 8), "\0");
    let isChanged = value.length > present.length;
    const replies = operations.map((operation): ReplyValue => {
      const { name, field, offset, value: given } = operation;
      const old = readField(value, offset, field);
      if (name === "GET") return narrow(old);
      // A value to set is taken as unsigned where the field is.
      const wanted = field.isSigned ? given : BigInt.asUintN(64, given);
      const number = fitted(name === "SET" ? wanted : old + given, operation);
      if (number === null) return null;
      isChanged ||= number !== old;
      value = writeField(value, offset, { field, number });
      return narrow(name === "SET" ? old : number);
    });
    if (writes.length > 0) store(caller, key, value);
    if (isChanged) database.modified(key, "$", "setbit");
    return replies;
  };
}

export const bitmapHandlers: Handlers = {
  setbit,
  getbit: (caller, args) => {
    const offset = bitOffset(at(args, 2));
    return bitAt(caller.database.readString(at(args, 1)) ?? "", offset);
  },
  bitcount,
  bitpos,
  bitop,
  bitfield: bitfield(false),
  bitfield_ro: bitfield(true),
};
